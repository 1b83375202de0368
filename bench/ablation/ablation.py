#!/usr/bin/env python3
"""Times training steps on the CPU with one decision of the compiler taken back at a time: each pass that only improves left out (dlc says which
there are), the gradient of the input computed, each algorithm and each layout of convolutions forced. What Kim et al. (2017) claim for GPUs, as
measured here. `tuned`, if asked for, is the default beside what `dlc tune` chooses on this machine, and `within BYTES` (4GiB) a step with a memory
budget.

usage: ablation.py [--tools build/release/bin] [--cases alexnet/64,resnet50/16] [--variants default,no dl-fuse] [--threads 2] [--rounds 7] [--json]

A variant's losses, gradients and variables of one step are compared with the default's first (dlc-run check); one that differs is a line that says
so, and is not timed; nor is one whose module is the default's to the byte. Then rounds alternate over the variants, of which another begins each
time; each gives a time a variant, and its ratio to the default's of the same round.
"""
import argparse
import filecmp
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "bench"))
from turns import turns

MODELS = {"lenet": "examples/lenet/lenet.dl", "alexnet": "bench/gpu/alexnet.dl", "vgg16": "bench/gpu/vgg16.dl", "resnet50": "examples/resnet50/resnet50.dl"}

TUNED, BUDGET = "tuned", "within "


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def list_variants(tools):
    """Flags of dlc by the variant's name. Fails where dlc does not run."""
    refused = run(os.path.join(tools, "dlc"), "none.dl", "--disable-pass=none").stdout
    passes = re.search(r"expected one of (.*)", refused)
    if not passes:
        sys.exit(f"ablation: expected dlc to list its passes, found: {refused.strip()}")
    names = re.findall(r"[a-z]+(?:-[a-z]+)*", passes[1].split(";")[0])
    return {"default": []} | {f"no {name}": [f"--disable-pass={name}"] for name in names if name != "or"} | {
        "input gradient": ["--input-gradients"]} | {f"all {name}": [f"--conv-algorithm={name}"] for name in ("direct", "gemm", "winograd", "fft")} | {
        f"all {name}": [f"--layout={name}"] for name in ("row-major", "nchw16c", "channels-last")} | {TUNED: []}


def say(text):
    print(f"ablation: {text}", file=sys.stderr, flush=True)


class Variant:
    def __init__(self, name, flags, case, arguments, folder):
        net, batch = case.split("/")
        self.name, self.flags, self.times, self.reason = name, flags, [], None
        self.module = os.path.join(folder, name.replace(" ", "-") + ".so")
        self.dlc_run, self.threads = os.path.join(arguments.tools, "dlc-run"), ["--threads", str(arguments.threads)]
        dlc, model = os.path.join(arguments.tools, "dlc"), [os.path.join(ROOT, MODELS[net]), "-D", f"N={batch}"]
        if name == TUNED:
            self.flags = ["--plan", "plan.json"]
            flags = ["--plan", os.path.join(folder, "plan.json")]
            if (tuned := run(dlc, "tune", *model, *flags)).returncode != 0:
                sys.exit(f"ablation: {tuned.stdout.strip()}")
        made = run(dlc, *model, "-o", self.module, *flags)
        if made.returncode != 0:
            self.reason = made.stdout.strip().splitlines()[-1]

    def check(self, default):
        if self.reason or self is default:
            return
        if filecmp.cmp(default.module, self.module, shallow=False):
            self.reason = "the module is the default's"
            return
        checked = run(self.dlc_run, "check", default.module, self.module, "--steps", "1", *self.threads)
        if checked.returncode != 0:
            self.reason = checked.stdout.strip().splitlines()[-1]

    def time(self, steps):
        timed = run(self.dlc_run, "bench", self.module, "--steps", str(steps), "--json", *self.threads)
        if timed.returncode != 0:
            sys.exit(f"ablation: {timed.stdout.strip()}")
        self.times.append(json.loads(timed.stdout.strip().splitlines()[-1])["median_ms"])

    def memory(self):
        described = json.loads(run(self.dlc_run, "inspect", self.module, "--json").stdout)
        return max(entry["arena_bytes"] for entry in described["entries"] if entry["kind"] == "train")


def ablate(case, wanted, arguments, folder):
    variants = []
    for name, flags in wanted.items():
        say(f"{case}: {name}: compiling and comparing")
        variants.append(Variant(name, flags, case, arguments, folder))
        variants[-1].check(variants[0])
    sound = [variant for variant in variants if not variant.reason]
    for round in range(arguments.rounds):
        for variant in turns(sound, round):
            variant.time(arguments.steps)
        say(f"{case}: round {round + 1} of {arguments.rounds}")
    for variant in variants:
        result = {"case": case, "variant": variant.name, "flags": variant.flags, "threads": arguments.threads, "rounds": arguments.rounds,
                  "steps": arguments.steps}
        if variant.reason:
            result["not_timed"] = variant.reason
        else:
            ratios = [mine / base for mine, base in zip(variant.times, variants[0].times)]
            result |= {"ms": statistics.median(variant.times), "rounds_ms": variant.times, "ratio": statistics.median(ratios), "ratio_min": min(ratios),
                       "ratio_max": max(ratios), "arena_mib": variant.memory() / 2**20}
        yield result


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tools", default=os.path.join(ROOT, "build/release/bin"))
    parser.add_argument("--cases", default="alexnet/64,resnet50/16", help="NET/BATCH")
    parser.add_argument("--variants", help=f"default: all but {TUNED} and budgets")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=1, help="of a round")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    for case in arguments.cases.split(","):
        net, _, batch = case.partition("/")
        if net not in MODELS or not batch.isdigit():
            parser.error(f"no case {case}: expected NET/BATCH, NET one of {', '.join(MODELS)}")
    known = list_variants(arguments.tools)
    names = arguments.variants.split(",") if arguments.variants else [name for name in known if name != TUNED]
    known |= {name: [f"--memory-budget={name.removeprefix(BUDGET)}"] for name in names if name.startswith(BUDGET)}
    for name in names:
        if name not in known:
            parser.error(f"no variant '{name}': expected one of {', '.join(known)}, {BUDGET}BYTES")
    wanted = {name: known[name] for name in dict.fromkeys(["default", *names])}
    if not arguments.json:
        print(f"{'case':12} {'variant':20} {'ms':>9} {'of default':>10} {'range':>13} {'arena MiB':>9}")
    for case in arguments.cases.split(","):
        with tempfile.TemporaryDirectory() as folder:
            for r in ablate(case, wanted, arguments, folder):
                if arguments.json:
                    print(json.dumps(r), flush=True)
                elif "not_timed" in r:
                    print(f"{case:12} {r['variant']:20} not timed: {r['not_timed']}", flush=True)
                else:
                    print(f"{case:12} {r['variant']:20} {r['ms']:9.2f} {r['ratio']:10.2f} {r['ratio_min']:5.2f} - {r['ratio_max']:5.2f} {r['arena_mib']:9.1f}",
                          flush=True)


if __name__ == "__main__":
    main()
