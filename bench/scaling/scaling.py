#!/usr/bin/env python3
"""Times data-parallel training over links that tc limits, one core a rank: without overlap, with it, with gradients in bf16, and PyTorch DDP.

usage: scaling.py [--tools build/release/bin] [--cases lenet/256] [--rates 100mbit,1gbit,10gbit] [--ranks 2] [--steps 20] [--rounds 3]
                  [--delay US] [--variants whole,buckets,bf16,1bit,top-k,ddp] [--modes weak,strong] [--python PYTHON] [--settings plain,jemalloc]
                  [--json]
       scaling.py --start-up [--ranks 4] --data idx:DIR     what `dlc-run launch` takes beyond mpirun, to the end of the first step
       scaling.py --alone [--rounds 9]                      a data-parallel build on one rank beside one without, in pairs
       scaling.py --sums [--rates 100mbit] [--within 400mbit]    four ranks' sums beside those that `dlc-run simulate` makes of the same network

A case is a network and the batch of one rank; strong scaling divides it among the ranks. Each variant of dlc is compiled for what
`dlc-run link` measures on the link. `whole` reduces all gradients behind the backward pass. All variants take turns, another begins each
round, each beside one rank of its own kind, dlc's or PyTorch's, of the whole batch: by that its speed-up and its efficiency are counted. A
round's time is the median of steps as the slowest rank took, behind three that warm up; communication and what of it is exposed come from the
time stamps of a trace, of rank 0; `predicted_ms` is what `dlc-run simulate` says, run on all nodes at once.
`ddp` needs --python with torch. It gets the layout of images and the settings (bench/compare/variants.py) with which one rank is fastest.
Needs root, see cluster.py.
"""
import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.dirname(HERE), os.path.join(os.path.dirname(HERE), "compare")]
import cluster
import variants
from turns import turns

MODELS = {"lenet": "examples/lenet/lenet.dl", "mlp": "examples/mlp/mlp.dl", "alexnet": "bench/gpu/alexnet.dl",
          "residual": "bench/training/residual.dl", "resnet50": "examples/resnet50/resnet50.dl"}
VARIANTS = {"whole": ["--disable-pass=dl-bucket-gradients"], "buckets": [], "bf16": ["--compress=bf16"], "1bit": ["--compress=1bit"],
            "top-k": ["--compress=top-k"], "ddp": None}
# What is simulated, and what sums meanwhile: what dlc-run takes by itself, or one of Open MPI's, by their numbers.
SUMS = (("ring", "scatter and gather"), ("ring", "ring"), ("tree", "binomial"), ("two-level", "scatter and gather"))
ALGORITHMS = {"ring": "1", "binomial": "2"}
DDP = ("lenet", "mlp", "alexnet", "resnet50")
NO_IMAGES = ("mlp",)


def say(text):
    print(f"scaling: {text}", file=sys.stderr, flush=True)


def output(*command, **more):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **more).stdout


def last_object(text):
    return json.loads([line for line in text.splitlines() if line.startswith("{")][-1])


def take_turns(one, many, rounds):
    """The times of what runs on one rank and on many, by name: in each round all once, another first."""
    programs = [(name, group, run) for group, those in enumerate((one, many)) for name, run in those.items()]
    times = [{name: [] for name in those} for those in (one, many)]
    for round in range(rounds):
        for name, group, run in turns(programs, round):
            times[group][name].append(run())
    return times


def scaled(alone, times, mode, ranks):
    """How a variant scales from one rank of its own kind: both in milliseconds, by rounds. Weak: each rank has the batch of the one."""
    gains = [one / many * (ranks if mode == "weak" else 1) for one, many in zip(alone, times)]
    return {"one_rank_ms": statistics.median(alone), "one_rank_rounds_ms": alone, "median_ms": statistics.median(times), "rounds_ms": times,
            "speedup": statistics.median(gains), "efficiency": statistics.median(gains) / ranks, "efficiency_min": min(gains) / ranks,
            "efficiency_max": max(gains) / ranks}


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.dlc, self.run = (os.path.join(options.tools, name) for name in ("dlc", "dlc-run"))

    def compile(self, net, batch, *flags):
        module = os.path.join(self.folder, f"{net}-{batch}-{abs(hash(flags)):x}.so")
        if not os.path.exists(module):
            output(self.dlc, os.path.join(ROOT, MODELS[net]), "-D", f"N={batch}", *flags, "-o", module)
        return module

    def link(self, nodes, module=None):
        """Alpha and beta; with a module also those beside its kernels, and what these lose."""
        measured = last_object(nodes.mpirun(self.run, "link", *([module] if module else []), "--json"))
        alone = measured["alpha"], measured["beta"]
        return (alone, (measured["beside"]["alpha"], measured["beside"]["beta"], measured["beside"]["lost"])) if module else alone

    def single(self, net, batch):
        """A step of one rank of one core, without anything for ranks."""
        return last_object(output("taskset", "-c", "0", self.run, "bench", self.compile(net, batch), "--steps", str(self.options.steps),
                                  "--json"))["median_ms"]

    def module(self, net, batch, variant, link):
        return self.compile(net, batch, "--data-parallel", f"--link={link[0]:.3g},{link[1]:.3g}", *VARIANTS[variant])

    def ranks(self, nodes, module, *more):
        return last_object(nodes.mpirun(self.run, "bench", module, "--steps", str(self.options.steps), "--json", *more))

    def traced(self, nodes, module, link, beside):
        """What a trace says of a step, and the simulation."""
        trace = os.path.join(self.folder, "trace.json")
        traced = self.ranks(nodes, module, "--trace", trace)["trace"]["ranks"][0]
        row = {key: traced[key] for key in ("backward_ms", "communication_ms", "exposed_ms", "waiting_ms", "overlap")}
        row["predicted_ms"] = self.predicted(nodes, module, link, beside)
        row["transport_cpu_share"] = traced["transport_cpu_s"] / (traced["step_ms"] * 1e-3 * (traced["steps"] + 1))
        row["sums"] = sum(event["cat"] == "collective" and event["pid"] == 0 and event["args"]["step"] == 1
                          for event in json.load(open(trace))["traceEvents"] if event["ph"] == "X")
        return row

    def predicted(self, nodes, module, link, beside):
        """Kernels are timed on all nodes at once, since these share one machine's memory; the slowest counts."""
        lines = nodes.each(lambda node: [self.run, "simulate", module, "--ranks", str(nodes.nodes), "--link", ",".join(map(str, link)),
                                        "--beside", ",".join(map(str, beside)), "--json"])
        return max(last_object(each)["step_ms"] for each in lines)

    def ddp(self, net, batch, layout, settings, *more):
        """A command of one rank of DDP."""
        given = variants.environment(settings, 1, self.prefix())
        return ["env", *(f"{name}={value}" for name, value in given.items()), self.options.python, os.path.join(HERE, "ddp.py"), "--net", net,
                "--batch", str(batch), "--layout", layout, "--steps", str(self.options.steps), *more]

    def prefix(self):
        return os.path.dirname(os.path.dirname(os.path.abspath(self.options.python)))

    def ddp_single(self, net, batch, layout, settings):
        return last_object(output("taskset", "-c", "0", *self.ddp(net, batch, layout, settings, "--rank", "0", "--ranks", "1", "--master", "127.0.0.1",
                                                                  "--interface", "lo")))

    def ddp_ranks(self, nodes, net, batch, layout, settings):
        def command(node):
            return self.ddp(net, batch, layout, settings, "--rank", str(node), "--ranks", str(nodes.nodes), "--master", nodes.address(0))
        return last_object(nodes.each(command)[0])

    def choose_ddp(self, net, batch):
        """Layout and settings with which one rank is fastest, and what was tried."""
        left_out = {each: missing for each in self.options.settings if (missing := variants.lacking(each, self.prefix()))}
        for settings, missing in left_out.items():
            say(f"PyTorch is not tried with {settings}: this machine lacks {missing}")
        trials = []

        def trial(mode, layout, settings):
            trials.append({"layout": layout, "settings": settings, "ms": self.ddp_single(net, batch, layout, settings)["min_ms"]})
            return trials[-1]["ms"]
        layouts = variants.LAYOUTS[:1] if net in NO_IMAGES else variants.LAYOUTS
        settings = [each for each in self.options.settings if each not in left_out]
        layout, best = variants.choose(["eager"], layouts, settings, trial)["eager"]
        return {"layout": layout, "settings": best, "tried": trials, "left_out": left_out}

    def case(self, nodes, rate, net, batch, mode, ddp):
        ranks = nodes.nodes
        share = batch if mode == "weak" else batch // ranks
        # Of one network and batch, for all variants of it.
        link, beside = self.link(nodes, self.compile(net, share))
        chosen = [variant for variant in self.options.variants if variant != "ddp" or ddp]
        picked = (ddp["layout"], ddp["settings"]) if ddp else ()
        one, many = {}, {}
        for variant in chosen:
            if variant == "ddp":
                one[variant] = lambda: self.ddp_single(net, batch, *picked)["median_ms"]
                many[variant] = lambda: self.ddp_ranks(nodes, net, share, *picked)["median_ms"]
            else:
                module = self.module(net, share, variant, link)
                one["dlc"] = lambda: self.single(net, batch)
                many[variant] = lambda module=module: self.ranks(nodes, module)["median_ms"]
        alone, together = take_turns(one, many, self.options.rounds)
        for variant in chosen:
            base = alone["ddp" if variant == "ddp" else "dlc"]
            more = ddp if variant == "ddp" else self.traced(nodes, self.module(net, share, variant, link), link, beside)
            yield {"case": f"{net}/{batch}", "mode": mode, "ranks": ranks, "rate": rate, "delay_us": self.options.delay, "alpha": link[0],
                   "beta": link[1], "beside": beside, "variant": variant, **scaled(base, together[variant], mode, ranks), **more}

    def all(self):
        # Compiled and tried alone before any cluster stands.
        for case in self.options.cases:
            self.compile(*case)
        ddp = {case: self.choose_ddp(*case) if "ddp" in self.options.variants and case[0] in DDP else None for case in self.options.cases}
        for rate in self.options.rates:
            with cluster.Cluster(self.options.ranks, rate, self.options.delay) as nodes:
                for net, batch in self.options.cases:
                    for mode in self.options.modes:
                        yield from self.case(nodes, rate, net, batch, mode, ddp[net, batch])

    def start_up(self):
        """Seconds to the end of the first step, of all ranks, in turns with those of mpirun alone."""
        (net, batch), ranks = self.options.cases[0], str(self.options.ranks)
        module = self.compile(net, batch, "--data-parallel")
        environment = {**os.environ, **cluster.AS_ROOT}
        commands = {"mpirun": ["mpirun", "--oversubscribe", "--bind-to", "none", "-np", ranks, "true"],
                    "dlc": [self.run, "launch", "-n", ranks, "--", "train", module, "--data", self.options.data, "--steps", "1", "--json"],
                    "one": [self.run, "train", module, "--data", self.options.data, "--steps", "1", "--json"]}
        times = {name: [] for name in commands}
        for _ in range(self.options.rounds):
            for name, command in commands.items():
                start = time.perf_counter()
                output(*command, env=environment)
                times[name].append(time.perf_counter() - start)
        medians = {name: statistics.median(each) for name, each in times.items()}
        yield {"start_up": f"{net}/{batch}", "ranks": int(ranks), "mpirun_s": medians["mpirun"], "dlc_s": medians["dlc"],
               "one_rank_s": medians["one"], "beyond_mpirun_s": medians["dlc"] - medians["mpirun"]}

    def alone(self):
        """The ratio of a data-parallel build to one without, both on one rank and one core, in pairs; and that of their shortest steps, which
        nothing else on the machine can have shortened."""
        for net, batch in self.options.cases:
            modules = [self.compile(net, batch), self.compile(net, batch, "--data-parallel")]
            ratios, medians, least = [], [[], []], [float("inf")] * 2
            for turn in range(self.options.rounds):
                pair = [0.0, 0.0]
                for which in ((0, 1) if turn % 2 == 0 else (1, 0)):
                    times = last_object(output("taskset", "-c", "0", self.run, "bench", modules[which], "--steps", str(self.options.steps),
                                               "--json"))
                    pair[which], least[which] = times["median_ms"], min(least[which], times["min_ms"])
                    medians[which].append(pair[which])
                ratios.append(pair[1] / pair[0])
            yield {"alone": f"{net}/{batch}", "ratio": statistics.median(ratios), "least": min(ratios), "most": max(ratios),
                   "ratio_of_least": least[1] / least[0], "plain_ms": statistics.median(medians[0]),
                   "data_parallel_ms": statistics.median(medians[1])}

    def sums(self):
        """What one sum of all gradients takes among four ranks, and what it is simulated to take from the link that two ranks measure. On two
        levels two and two have a link of the rate between them, and links of `within` to each other."""
        (net, batch), within = self.options.cases[0], self.options.within
        module = self.compile(net, batch, "--data-parallel", *VARIANTS["whole"])
        links = {}
        for rate in (within, *self.options.rates):
            with cluster.Cluster(2, rate) as nodes:
                links[rate] = self.link(nodes)
        link = lambda rate: ",".join(map(str, links[rate]))
        for rate in self.options.rates:
            for topology, algorithm in SUMS:
                levels = topology == "two-level"
                more = ["--per-node", "2", "--node-link", link(within)] if levels else []
                predicted = last_object(output(self.run, "simulate", module, "--ranks", "4", "--topology", topology, "--link", link(rate), *more,
                                               "--json"))["communication_ms"]
                chosen = ["--mca", "coll_libnbc_iallreduce_algorithm", ALGORITHMS[algorithm]] if algorithm in ALGORITHMS else []
                with cluster.Cluster(4, within if levels else rate, between=rate if levels else None) as nodes:
                    ranks = last_object(nodes.mpirun(*chosen, self.run, "bench", module, "--steps", str(self.options.steps), "--json", "--trace",
                                                     os.path.join(self.folder, "trace.json")))["trace"]["ranks"]
                # A tree's root has sent all before its leaves have it.
                measured = max(each["communication_ms"] for each in ranks)
                yield {"sums": f"{net}/{batch}", "topology": topology, "algorithm": algorithm, "within": within if levels else rate, "rate": rate,
                       "links": links, "measured_ms": measured, "predicted_ms": predicted}


def case(text):
    net, slash, batch = text.partition("/")
    if net not in MODELS or not batch.isdigit() or int(batch) < 1:
        sys.exit(f"scaling: no case {text}: expected NET/BATCH, NET one of {', '.join(MODELS)}")
    return net, int(batch)


def line(row):
    if "start_up" in row:
        return (f"{row['start_up']}: {row['ranks']} ranks end their first step after {row['dlc_s']:.2f} s, {row['beyond_mpirun_s']:.2f} s "
                f"beyond mpirun; one rank after {row['one_rank_s']:.2f} s")
    if "alone" in row:
        return (f"{row['alone']}: data-parallel on one rank takes {row['ratio']:.4f} of what it takes without ({row['least']:.3f} - "
                f"{row['most']:.3f}), shortest steps {row['ratio_of_least']:.4f}")
    if "topology" in row:
        return (f"{row['topology']:9} {row['algorithm']:18} {row['within']} within, {row['rate']} between: a sum takes "
                f"{row['measured_ms']:.1f} ms, predicted {row['predicted_ms']:.1f}")
    hidden = (f"  backward {row['backward_ms']:8.2f}  communication {row['communication_ms']:8.2f}  exposed {row['exposed_ms']:8.2f}  waiting {row['waiting_ms']:7.2f}  "
              f"hidden {100 * row['overlap']:5.1f}%  sums {row['sums']}  predicted {row['predicted_ms']:8.2f}" if "overlap" in row else "")
    return (f"{row['case']:12} {row['mode']:6} {row['rate']:8} {row['variant']:8} {row['median_ms']:9.2f} ms  one rank {row['one_rank_ms']:9.2f} ms  "
            f"speed-up {row['speedup']:.2f}  efficiency {100 * row['efficiency']:5.1f}%" + hidden)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words = lambda text: text.split(",")
    parser.add_argument("--tools", default=os.path.join(ROOT, "build/release/bin"))
    parser.add_argument("--cases", type=lambda text: [case(each) for each in text.split(",")], default=[("lenet", 256)])
    parser.add_argument("--rates", type=words, default=["100mbit", "1gbit", "10gbit"])
    parser.add_argument("--delay", type=int, default=0, help="of what a node sends, in microseconds")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--rounds", type=int, help="default: 3; of --alone and --start-up 9")
    parser.add_argument("--variants", type=words, default=["whole", "buckets", "bf16"])
    parser.add_argument("--modes", type=words, default=["weak", "strong"])
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--settings", type=words, default=list(variants.SETTINGS), help="of PyTorch that are tried; default: all")
    parser.add_argument("--data")
    parser.add_argument("--start-up", action="store_true")
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--sums", action="store_true")
    parser.add_argument("--within", default="400mbit", help="rate of links between two ranks of a node, for --sums")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    options = parser.parse_args()
    options.rounds = options.rounds or (9 if options.alone or options.start_up else 3)
    for known, given, what in ((VARIANTS, options.variants, "variant"), (("weak", "strong"), options.modes, "mode"),
                               (variants.SETTINGS, options.settings, "settings")):
        for each in given:
            if each not in known:
                sys.exit(f"scaling: no {what} '{each}': expected one of {', '.join(known)}")
    if options.start_up and not options.data:
        sys.exit("scaling: --start-up needs --data")
    if not options.start_up and not options.alone and (lacking := cluster.missing(options.delay)):
        sys.exit(f"scaling: a cluster needs {lacking}")
    # An end from outside is to leave no networks behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, folder)
        rows = (bench.start_up() if options.start_up else bench.alone() if options.alone else bench.sums() if options.sums else bench.all())
        for row in rows:
            print(json.dumps(row) if options.json else line(row), flush=True)


if __name__ == "__main__":
    main()
