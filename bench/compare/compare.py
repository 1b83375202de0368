#!/usr/bin/env python3
"""Times dlc, also with --math=strict, beside PyTorch eager and torch.compile on the CPU, and inference also beside ONNX Runtime and OpenVINO.

usage: compare.py [--tools build/release/bin] [--cases lenet/64,resnet50/1/infer] [--threads 2] [--rounds 7] [--settings plain,jemalloc]
                  [--precision bf16] [--dlc-flags="--layout=nchw16c"] [--json]
Needs torch, numpy, safetensors, onnxscript, onnxruntime and openvino (from PyPI), and for all settings the libraries that variants.py names;
nothing else in the project does. Python finds them in its own lib folder or the system's.

A case is a network, its batch, and `infer` for inference. With --precision bf16 all of them multiply bf16, PyTorch by autocast; ONNX Runtime,
which does not on a CPU, is left out, and so is --math=strict. First variants of PyTorch are tried, alone: both layouts of images, then other
settings of allocator and OpenMP (variants.py). By the shortest of their steps each mode gets its layout, and all the best settings; all trials
are in the result. Then
all programs get the same parameters and the same batch, and what they make of it is compared with PyTorch's in float64: the output, or the loss
and every gradient of one step, which dlc's module gives back only where it is compiled with --weight-gradients, for this alone. Who errs much
more than PyTorch eager ends the case untimed. Then they take turns, another begins each round; in
it each warms up, with as many steps as are timed, three at most, and yields a median, and the speed-up of dlc over it. Beside the times stand
compile time (dlc from nothing, and with what its cache then has; a rival's first step, its own compilation included), the time from opening a
module to the end of its first step, and the most memory that the process had (VmHWM).
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

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import variants
from turns import turns

MODELS = {"lenet": "examples/lenet/lenet.dl", "mlp": "examples/mlp/mlp.dl", "alexnet": "bench/gpu/alexnet.dl", "vgg16": "bench/gpu/vgg16.dl",
          "resnet50": "examples/resnet50/resnet50.dl", "lstm_ptb": "examples/lstm_ptb/lstm_ptb.dl", "char-rnn": "examples/char-rnn/char-rnn.dl",
          "unet": "examples/unet/unet.dl", **{net: f"bench/compare/{net}.dl" for net in ("densenet121", "mobilenet_v2", "gpt")}}
# What a model calls its inputs, if it is not image and label.
INPUTS = {"lstm_ptb": ("word", "next"), "char-rnn": ("letter", "next"), "gpt": ("token", "next")}
# Steps of a round, by case: about a second, one step at least.
CASES = {"lenet/64": 100, "mlp/1024": 3, "alexnet/64": 1, "vgg16/16": 1, "resnet50/16": 1, "resnet50/1": 3, "lstm_ptb/128": 1, "char-rnn/32": 5,
         "densenet121/16": 1, "mobilenet_v2/16": 2, "unet/1": 1, "gpt/4": 1,
         "resnet50/1/infer": 20, "vgg16/1/infer": 6, "alexnet/1/infer": 50}
TRAIN = ["eager", "compile"]
RIVALS = [*TRAIN, "onnxruntime", "openvino"]
NO_IMAGES = ("mlp", *INPUTS)
WARM_UP = 3  # steps of a round before those that are timed, at most
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

    def __init__(self, case, arguments, folder, mode, layout="contiguous", settings="plain"):
        self.name, self.layout, self.settings = mode, layout, settings
        net, batch, *infer = case.split("/")
        command = [sys.executable, os.path.join(HERE, "rivals.py"), "--serve", "--device", "cpu", "--net", net, "--batch", batch, "--mode", mode,
                   "--layout", layout, "--threads", str(arguments.threads), "--precision", arguments.precision, *(["--infer"] if infer else [])]
        # What is compiled is kept for the case alone.
        self.errors = open(os.path.join(folder, "rival.err"), "w+")
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True, env={
            **os.environ, **variants.environment(settings, arguments.threads), "TORCHINDUCTOR_CACHE_DIR": os.path.join(folder, "inductor")})
        self.medians = []
        self.made = self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            status, said = self.process.wait(), open(self.errors.name).read().strip().splitlines()
            sys.exit(f"compare: {self.name}, {self.layout}, {self.settings} ended with status {status}: {said[-1] if said else 'no word'}")
        return json.loads(line)

    def ask(self, request):
        print(request, file=self.process.stdin, flush=True)
        return self.answer()

    def times(self, warm_up, steps):
        return self.ask(f"time {warm_up} {steps}")["ms"]

    def time(self, warm_up, steps):
        self.medians.append(statistics.median(self.times(warm_up, steps)))

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.errors.close()


class Ours:
    """The module of a case, compiled from nothing, and once more with what the cache then has."""

    def __init__(self, case, arguments, folder, name, flags=()):
        net, batch, *infer = case.split("/")
        self.name, folder = name, os.path.join(folder, name)
        os.mkdir(folder)
        self.run, self.module, self.entry = os.path.join(arguments.tools, "dlc-run"), os.path.join(folder, "model.so"), "train_step"
        self.inputs = dict(zip(("image", "label"), INPUTS.get(net, ("image", "label"))))
        self.threads, self.folder, self.medians, self.loads, self.peaks = arguments.threads, folder, [], [], []
        size = ["-D", f"N={batch}"]
        if infer:
            size, self.entry = ["--infer-batch", batch], f"infer_n{batch}"
        command = [os.path.join(arguments.tools, "dlc"), os.path.join(ROOT, MODELS[net]), f"--precision={arguments.precision}",
                   *size, *shlex.split(arguments.dlc_flags), *flags, "-o"]
        self.compile_s, self.cached_compile_s = (self.compile([*command, self.module]) for _ in range(2))
        self.checked = [self.module]
        if not infer:  # the same, that gives its gradients back
            self.checked.append(os.path.join(folder, "gradients.so"))
            self.compile([*command, self.checked[1], "--weight-gradients"])

    def compile(self, command):
        start = time.perf_counter()
        subprocess.run(command, check=True, env={**os.environ, "XDG_CACHE_HOME": os.path.join(self.folder, "cache")})
        return time.perf_counter() - start

    def variables(self):
        """Parameters with their shapes, in the order of the model, which is PyTorch's."""
        text = subprocess.run([self.run, "inspect", self.module, "--json"], check=True, capture_output=True, text=True).stdout
        return [(v["name"], v["shape"]) for v in json.loads(text)["variables"] if v["role"] == "parameter"]

    def step(self, start):
        """What the entry makes of a rival's parameters and batch, of what is timed and with its gradients; names as the rival's."""
        names = [name for name, _ in self.variables()]
        if any(list(start[f"parameter.{i}"].shape) != shape for i, (_, shape) in enumerate(self.variables())):
            raise Different("the parameters have other shapes")
        from safetensors.numpy import load_file, save_file
        files = [os.path.join(self.folder, part + ".safetensors") for part in ("parameters", "inputs", "results")]
        save_file({name: start[f"parameter.{i}"] for i, name in enumerate(names)}, files[0])
        wanted = ("image",) if self.entry != "train_step" else ("image", "label")
        save_file({self.inputs[name]: start[name] for name in wanted}, files[1])
        found = {}
        for module in self.checked:
            subprocess.run([self.run, "step", module, "--entry", self.entry, "--parameters", files[0], "--inputs", files[1], "--save", files[2],
                            "--threads", str(self.threads)], check=True, stdout=subprocess.DEVNULL)
            found = load_file(files[2]) | found
        return {f"gradient.{i}": found.get(f"gradient.{name}") for i, name in enumerate(names)} | found

    def time(self, warm_up, steps):
        process = subprocess.Popen([self.run, "bench", self.module, "--entry", self.entry, "--warm-up", str(warm_up), "--steps", str(steps),
                                    "--threads", str(self.threads), "--json"], stdout=subprocess.PIPE, text=True)
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
    import numpy as np
    norms = {name: float(np.linalg.norm(expected)) for name, expected in exact.items()}
    return {name: float(np.linalg.norm(found[name].astype(np.float64) - exact[name])) / norm
            for name, norm in norms.items() if norm > VANISHING * max(norms.values())}


def check(ours, rivals, folder):
    """The largest error against float64, of a gradient or the output, by program."""
    from safetensors.numpy import load_file
    start, file = os.path.join(folder, "start.safetensors"), os.path.join(folder, "rival.safetensors")
    rivals[0].ask(f"start {start}")
    rivals[0].ask(f"exact {file}")
    exact = load_file(file)
    found = {program.name: errors(program.step(load_file(start)), exact) for program in ours}
    for rival in rivals:
        if "infer" not in ours[0].entry:  # else they have the same weights; what is compiled or converted for inference keeps copies
            rival.ask(f"load {start}")
        rival.ask(f"results {file}")
        found[rival.name] = errors(load_file(file), exact)
    limit = FACTOR * max(found[rivals[0].name].values()) + ROUNDING
    for program, differences in found.items():
        name = max(differences, key=differences.get)
        if not differences[name] <= limit:
            raise Different(f"{program}'s {name} errs by {differences[name]:.1e} of its norm, more than {limit:.1e}")
    return {program: max(differences.values()) for program, differences in found.items()}


def try_variants(case, modes, arguments, folder):
    """The layout and the settings of each mode of PyTorch, and all trials."""
    steps, trials = CASES.get(case, 5), []

    def trial(mode, layout, settings):
        rival = Rival(case, arguments, folder, mode, layout, settings)
        try:
            trials.append({"mode": mode, "layout": layout, "settings": settings, "ms": min(rival.times(min(WARM_UP, steps), max(2, steps))),
                           "first_step_s": rival.made["first_step_s"]})
        finally:
            rival.close()
        say(f"{case}: tried {mode}, {layout}, {settings}: {trials[-1]['ms']:.1f} ms")
        return trials[-1]["ms"]

    layouts = variants.LAYOUTS[:1] if case.split("/")[0] in NO_IMAGES else variants.LAYOUTS
    return variants.choose(modes, layouts, arguments.settings, trial), trials


def speedups(ours, rival):
    """Of one of ours over a rival, by rounds."""
    ratios = [theirs / mine for mine, theirs in zip(ours.medians, rival.medians)]
    return {"speedup": statistics.median(ratios), "speedup_min": min(ratios), "speedup_max": max(ratios)}


def describe(case, arguments, ours, rivals, error, trials):
    """The result of a case: of dlc, of each rival with the speed-up over it, and of dlc's strict build beside the best rival."""
    net, batch, *_ = case.split("/")
    first, steps = ours[0], CASES.get(case, 5)
    result = {"case": case, "net": net, "batch": int(batch), "entry": first.entry, "threads": arguments.threads, "rounds": arguments.rounds,
              "steps": steps, "warm_up": min(WARM_UP, steps), "precision": arguments.precision, "flags": arguments.dlc_flags, "error": error[first.name],
              "rival_error": error[rivals[0].name], "dlc_ms": statistics.median(first.medians), "dlc_rounds_ms": first.medians,
              "compile_s": first.compile_s, "cached_compile_s": first.cached_compile_s, "load_to_first_step_ms": statistics.median(first.loads),
              "peak_mib": statistics.median(first.peaks), "variants": trials, "left_out": arguments.left_out, "rivals": {}}
    for rival in rivals:
        # That of the trial that compiled from nothing.
        made = next((each for each in trials if (each["mode"], each["layout"]) == (rival.name, rival.layout)), rival.made)
        result["rivals"][rival.name] = {"version": rival.made["version"], "layout": rival.layout, "settings": rival.settings,
                                        "ms": statistics.median(rival.medians), "rounds_ms": rival.medians, **speedups(first, rival),
                                        "first_step_s": made["first_step_s"], "peak_mib": peak_mib(rival.process.pid)}
    result["best_rival"] = min(result["rivals"], key=lambda name: result["rivals"][name]["ms"])
    best = next(rival for rival in rivals if rival.name == result["best_rival"])
    for strict in ours[1:]:
        result["strict"] = {"ms": statistics.median(strict.medians), "rounds_ms": strict.medians, "error": error[strict.name], **speedups(strict, best)}
    return result


def compare(case, arguments, folder):
    infer = case.endswith("/infer")
    say(f"{case}: compiling")
    ours = [Ours(case, arguments, folder, "dlc")]
    if "--math" not in arguments.dlc_flags and arguments.precision == "f32":
        ours.append(Ours(case, arguments, folder, "strict", ["--math=strict"]))
    modes = [mode for mode in TRAIN if mode in arguments.rivals]
    chosen, trials = try_variants(case, modes, arguments, folder) if modes else ({}, [])
    chosen |= {mode: ("contiguous", "plain") for mode in RIVALS if infer and mode in arguments.rivals and mode not in TRAIN}
    rivals = []
    try:
        for mode, variant in chosen.items():
            say(f"{case}: starting {', '.join((mode, *variant))}")
            rivals.append(Rival(case, arguments, folder, mode, *variant))
        error = check(ours, rivals, folder)
        say(f"{case}: errors against float64: " + ", ".join(f"{name} {most:.1e}" for name, most in error.items()))
        programs, steps = [*ours, *rivals], CASES.get(case, 5)
        for round in range(arguments.rounds):
            for program in turns(programs, round):
                program.time(min(WARM_UP, steps), steps)
            say(f"{case}: round {round + 1} of {arguments.rounds}: " + ", ".join(f"{program.name} {program.medians[-1]:.1f} ms" for program in programs))
        return describe(case, arguments, ours, rivals, error, trials)
    finally:
        for rival in rivals:
            rival.close()


def line(it):
    best, strict = it["rivals"][it["best_rival"]], it.get("strict")
    return (f"{it['case']:18} {it['dlc_ms']:9.2f} {strict['ms'] if strict else it['dlc_ms']:9.2f} "
            f"{', '.join((it['best_rival'], best['layout'], best['settings'])):>34} {best['ms']:9.2f} {best['speedup']:8.2f} "
            f"{best['speedup_min']:5.2f} - {best['speedup_max']:5.2f} {strict['speedup'] if strict else best['speedup']:6.2f} {it['error']:8.1e} "
            f"{it['rival_error']:8.1e}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tools", default=os.path.join(ROOT, "build/release/bin"))
    parser.add_argument("--cases", default=",".join(CASES), help="NET/BATCH or NET/BATCH/infer; default: all of the record")
    words = lambda text: text.split(",")
    parser.add_argument("--rivals", type=words, default=RIVALS, help=f"of {', '.join(RIVALS)}; default: all that can")
    parser.add_argument("--settings", type=words, default=list(variants.SETTINGS), help=f"of {', '.join(variants.SETTINGS)} that are tried; default: all")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--precision", choices=("f32", "bf16"), default="f32", help="of products, dlc's and its rivals'")
    parser.add_argument("--dlc-flags", default="", help="more flags for dlc")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if arguments.precision != "f32":
        arguments.rivals = [rival for rival in arguments.rivals if rival != "onnxruntime"]
    for case in arguments.cases.split(","):
        net, batch, *infer = case.split("/")
        if net not in MODELS or not batch.isdigit() or infer not in ([], ["infer"]):
            parser.error(f"no case {case}: expected NET/BATCH or NET/BATCH/infer, NET one of {', '.join(MODELS)}")
    for known, given, what in ((RIVALS, arguments.rivals, "rival"), (variants.SETTINGS, arguments.settings, "settings")):
        for each in given:
            if each not in known:
                parser.error(f"no {what} '{each}': expected one of {', '.join(known)}")
    for case in arguments.cases.split(","):
        if not case.endswith("/infer") and not set(arguments.rivals) & set(TRAIN):
            parser.error(f"no rival of {case}: {', '.join(arguments.rivals)} only infers")
    arguments.left_out = {each: missing for each in arguments.settings if (missing := variants.lacking(each))}
    arguments.settings = [each for each in arguments.settings if each not in arguments.left_out]
    for settings, missing in arguments.left_out.items():
        say(f"PyTorch is not tried with {settings}: this machine lacks {missing}")
    failed = False
    if not arguments.json:
        print(f"{'case':18} {'dlc ms':>9} {'strict ms':>9} {'best rival':>34} {'ms':>9} {'speed-up':>8} {'range':>13} {'strict':>6} {'error':>8} {'eager':>8}")
    for case in arguments.cases.split(","):
        with tempfile.TemporaryDirectory() as folder:
            try:
                r = compare(case, arguments, folder)
            except Different as reason:
                say(f"{case}: not timed: {reason}")
                failed = True
                continue
        print(json.dumps(r) if arguments.json else line(r), flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
