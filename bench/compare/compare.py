#!/usr/bin/env python3
"""Times dlc beside PyTorch eager and torch.compile on the CPU, and inference also beside ONNX Runtime and OpenVINO: interleaved, in one run.

usage: compare.py [--tools build/release/bin] [--cases lenet/64,resnet50/1/infer] [--threads 2] [--rounds 7] [--dlc-flags="--math=strict"] [--json]
Needs torch, numpy, safetensors, onnxscript, onnxruntime and openvino (from PyPI); nothing else in the project does.

A case is a network, its batch, and `infer` for inference. First all get the same parameters and the same batch, and what they make of it is
compared with PyTorch's in float64: the output, or the loss and every gradient of one step. Who errs much more than PyTorch eager ends the case
untimed. Then
rounds of steps alternate; a round yields a median for each program, and the speed-up of dlc over it. Beside the times stand compile time
(dlc from nothing, and with what its cache then has; a rival's first step, its own compilation included), the time from opening a module to the end of its first step, and
the most memory that the process had (VmHWM).
"""
import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
from safetensors.numpy import load_file, save_file

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
MODELS = {"lenet": "examples/lenet/lenet.dl", "mlp": "examples/mlp/mlp.dl", "alexnet": "bench/gpu/alexnet.dl", "vgg16": "bench/gpu/vgg16.dl",
          "resnet50": "examples/resnet50/resnet50.dl", "lstm_ptb": "examples/lstm_ptb/lstm_ptb.dl", "char-rnn": "examples/char-rnn/char-rnn.dl",
          "unet": "examples/unet/unet.dl", **{net: f"bench/compare/{net}.dl" for net in ("densenet121", "mobilenet_v2", "gpt")}}
# What a model calls its inputs, if it is not image and label.
INPUTS = {"lstm_ptb": ("word", "next"), "char-rnn": ("letter", "next"), "gpt": ("token", "next")}
# Steps of a round, by case: about a second, one step at least.
CASES = {"lenet/64": 100, "mlp/1024": 3, "alexnet/64": 1, "vgg16/16": 1, "resnet50/16": 1, "resnet50/1": 3, "lstm_ptb/128": 1, "char-rnn/32": 5,
         "densenet121/16": 1, "mobilenet_v2/16": 2, "unet/1": 1, "gpt/4": 1,
         "resnet50/1/infer": 20, "vgg16/1/infer": 6, "alexnet/1/infer": 50}
# How much more than PyTorch eager another program may err against float64: direct convolutions and products stay under 4, Winograd's F(4x4,3x3)
# errs 4 to 5 times as much as direct. What eager errs is taken over all gradients: in deep networks a few choices of ReLU and pooling fall
# otherwise, and which gradients feel them is chance.
FACTOR, ROUNDING = 10, 1e-6
VANISHING = 1e-9  # of the largest gradient


class Different(Exception):
    pass


def say(text):
    print(f"compare: {text}", file=sys.stderr, flush=True)


def peak_mib(pid):
    """The most memory that a process has had so far; 0 for one that has ended."""
    try:
        with open(f"/proc/{pid}/status") as status:
            return next((int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM:")), 0)
    except OSError:
        return 0


class Rival:
    """A program of rivals.py that waits for requests."""

    def __init__(self, mode, net, batch, infer, threads):
        self.mode = mode
        command = [sys.executable, os.path.join(HERE, "rivals.py"), "--serve", "--device", "cpu", "--net", net, "--batch", str(batch), "--mode", mode,
                   "--threads", str(threads), *(["--infer"] if infer else [])]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.medians = []
        self.made = self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.mode} ended with status {self.process.wait()}")
        return json.loads(line)

    def ask(self, request):
        print(request, file=self.process.stdin, flush=True)
        return self.answer()

    def time(self, steps):
        self.medians.append(statistics.median(self.ask(f"time {steps}")["ms"]))

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Ours:
    """The module of a case, compiled from nothing, and once more with what the cache then has."""

    def __init__(self, arguments, net, batch, infer, folder):
        self.run, self.module, self.entry = os.path.join(arguments.tools, "dlc-run"), os.path.join(folder, "model.so"), "train_step"
        self.inputs = dict(zip(("image", "label"), INPUTS.get(net, ("image", "label"))))
        self.threads, self.folder, self.medians, self.loads, self.peaks = arguments.threads, folder, [], [], []
        size = ["-D", f"N={batch}", "--weight-gradients"]
        if infer:
            size, self.entry = ["--infer-batch", str(batch)], f"infer_n{batch}"
        command = [os.path.join(arguments.tools, "dlc"), os.path.join(ROOT, MODELS[net]), "-o", self.module, *size, *shlex.split(arguments.dlc_flags)]
        self.compile_s, self.cached_compile_s = (self.compile(command) for _ in range(2))

    def compile(self, command):
        start = time.perf_counter()
        subprocess.run(command, check=True, env={**os.environ, "XDG_CACHE_HOME": os.path.join(self.folder, "cache")})
        return time.perf_counter() - start

    def variables(self):
        """Parameters with their shapes, in the order of the model, which is PyTorch's."""
        text = subprocess.run([self.run, "inspect", self.module, "--json"], check=True, capture_output=True, text=True).stdout
        return [(v["name"], v["shape"]) for v in json.loads(text)["variables"] if v["role"] == "parameter"]

    def step(self, start):
        """What the entry makes of a rival's parameters and batch; names as the rival's."""
        names = [name for name, _ in self.variables()]
        if any(list(start[f"parameter.{i}"].shape) != shape for i, (_, shape) in enumerate(self.variables())):
            raise Different("the parameters have other shapes")
        files = [os.path.join(self.folder, part + ".safetensors") for part in ("parameters", "inputs", "results")]
        save_file({name: start[f"parameter.{i}"] for i, name in enumerate(names)}, files[0])
        wanted = ("image",) if self.entry != "train_step" else ("image", "label")
        save_file({self.inputs[name]: start[name] for name in wanted}, files[1])
        subprocess.run([self.run, "step", self.module, "--entry", self.entry, "--parameters", files[0], "--inputs", files[1], "--save", files[2],
                        "--threads", str(self.threads)], check=True, stdout=subprocess.DEVNULL)
        found = load_file(files[2])
        return {f"gradient.{i}": found.get(f"gradient.{name}") for i, name in enumerate(names)} | found

    def time(self, steps):
        process = subprocess.Popen([self.run, "bench", self.module, "--entry", self.entry, "--steps", str(steps), "--threads", str(self.threads), "--json"],
                                   stdout=subprocess.PIPE, text=True)
        peak = 0  # what a process inherits in ru_maxrss is its parent's
        while process.poll() is None:
            peak = max(peak, peak_mib(process.pid))
            time.sleep(0.02)
        if process.returncode != 0:
            raise RuntimeError(f"dlc-run bench ended with status {process.returncode}")
        line = json.loads(process.stdout.read().strip().splitlines()[-1])
        self.medians.append(line["median_ms"])
        self.loads.append(line["load_to_first_run_ms"])
        self.peaks.append(peak)


def errors(found, exact):
    """The error of each tensor, relative to its norm; not of those that are 0 but for float64's own rounding, as the gradient of a bias that
    the next norm takes away."""
    norms = {name: float(np.linalg.norm(expected)) for name, expected in exact.items()}
    return {name: float(np.linalg.norm(found[name].astype(np.float64) - exact[name])) / norm
            for name, norm in norms.items() if norm > VANISHING * max(norms.values())}


def check(ours, rivals, folder):
    """The largest error against float64, of a gradient or the output: ours and eager's."""
    start, file = os.path.join(folder, "start.safetensors"), os.path.join(folder, "rival.safetensors")
    rivals[0].ask(f"start {start}")
    rivals[0].ask(f"exact {file}")
    exact, found = load_file(file), {"dlc": errors(ours.step(load_file(start)), load_file(file))}
    for rival in rivals:
        if "infer" not in ours.entry:  # else they have the same weights; ONNX Runtime and OpenVINO keep copies
            rival.ask(f"load {start}")
        rival.ask(f"results {file}")
        found[rival.mode] = errors(load_file(file), exact)
    limit = FACTOR * max(found[rivals[0].mode].values()) + ROUNDING
    for program, differences in found.items():
        name = max(differences, key=differences.get)
        if not differences[name] <= limit:
            raise Different(f"{program}'s {name} errs by {differences[name]:.1e} of its norm, more than {limit:.1e}")
    return max(found["dlc"].values()), max(found[rivals[0].mode].values())


def compare(case, arguments, folder):
    net, batch, *infer = case.split("/")
    say(f"{case}: compiling")
    ours = Ours(arguments, net, int(batch), bool(infer), folder)
    rivals = []
    try:
        for mode in ["eager", "compile", *(["onnxruntime", "openvino"] if infer else [])]:
            if arguments.rivals and mode not in arguments.rivals.split(","):
                continue
            say(f"{case}: starting {mode}")
            rivals.append(Rival(mode, net, int(batch), bool(infer), arguments.threads))
        error, rival_error = check(ours, rivals, folder)
        say(f"{case}: errors against float64: dlc {error:.1e}, {rivals[0].mode} {rival_error:.1e}")
        for round in range(arguments.rounds):
            for program in (ours, *rivals):
                program.time(CASES.get(case, 5))
            say(f"{case}: round {round + 1} of {arguments.rounds}: " + ", ".join(
                f"{getattr(program, 'mode', 'dlc')} {program.medians[-1]:.1f} ms" for program in (ours, *rivals)))
        result = {"case": case, "net": net, "batch": int(batch), "entry": ours.entry, "threads": arguments.threads, "rounds": arguments.rounds,
                  "steps": CASES.get(case, 5), "flags": arguments.dlc_flags, "error": error, "rival_error": rival_error, "dlc_ms": statistics.median(ours.medians),
                  "dlc_rounds_ms": ours.medians, "compile_s": ours.compile_s, "cached_compile_s": ours.cached_compile_s, "load_to_first_step_ms": statistics.median(ours.loads),
                  "peak_mib": statistics.median(ours.peaks), "rivals": {}}
        for rival in rivals:
            ratios = [theirs / mine for mine, theirs in zip(ours.medians, rival.medians)]
            result["rivals"][rival.mode] = {"version": rival.made["version"], "ms": statistics.median(rival.medians), "rounds_ms": rival.medians,
                                            "speedup": statistics.median(ratios), "speedup_min": min(ratios), "speedup_max": max(ratios),
                                            "first_step_s": rival.made["first_step_s"], "peak_mib": peak_mib(rival.process.pid)}
        result["best_rival"] = min(result["rivals"], key=lambda mode: result["rivals"][mode]["ms"])
        return result
    finally:
        for rival in rivals:
            rival.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tools", default=os.path.join(ROOT, "build/release/bin"))
    parser.add_argument("--cases", default=",".join(CASES), help="NET/BATCH or NET/BATCH/infer; default: all of the record")
    parser.add_argument("--rivals", help="of eager, compile, onnxruntime, openvino; default: all that can")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--dlc-flags", default="", help="more flags for dlc")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    for case in arguments.cases.split(","):
        net, batch, *infer = case.split("/")
        if net not in MODELS or not batch.isdigit() or infer not in ([], ["infer"]):
            parser.error(f"no case {case}: expected NET/BATCH or NET/BATCH/infer, NET one of {', '.join(MODELS)}")
    failed = False
    if not arguments.json:
        print(f"{'case':18} {'dlc ms':>9} {'best rival':>12} {'ms':>9} {'speed-up':>8} {'range':>13} {'error':>8} {'eager':>8}")
    for case in arguments.cases.split(","):
        with tempfile.TemporaryDirectory() as folder:
            try:
                r = compare(case, arguments, folder)
            except Different as reason:
                say(f"{case}: not timed: {reason}")
                failed = True
                continue
        best = r["rivals"][r["best_rival"]]
        print(json.dumps(r) if arguments.json else
              f"{case:18} {r['dlc_ms']:9.2f} {r['best_rival']:>12} {best['ms']:9.2f} {best['speedup']:8.2f} "
              f"{best['speedup_min']:5.2f} - {best['speedup_max']:5.2f} {r['error']:8.1e} {r['rival_error']:8.1e}", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
