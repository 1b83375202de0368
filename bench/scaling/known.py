#!/usr/bin/env python3
"""Holds `dlc-run simulate` against scaling that others have published: kernels as long as theirs, and the bytes of our schedule.

usage: known.py [--tools build/release/bin] [--json] [--pictures FOLDER]

Kim et al. (2017): without overlap four GPUs train AlexNet no faster than two, at 5.5 GB/s. A batch of 256 images is divided among the GPUs;
a Titan X takes 162 ms for it, twice the 81 ms of 128 images (convnet-benchmarks, cuDNN R4). Sums go to a root and back, as Caffe's do.

ResNet-50 over Omni-Path, 12.5 GB/s: the authors of PRACE's Best Practice Guide (Deep Learning, 2019) report more than 90% of perfect scaling
on 104,448 cores, 1,536 nodes, and 28 minutes (Codreanu et al. 2017). 90 epochs of ImageNet in that time are 44.7 images/s of a node; 32 images
of each in a step are our assumption. Dell ("Deep Learning Performance with Intel Caffe", 2018, figure 2) has within 90% on 128 nodes, 83% on 256
and 76% on 314. The network alone must not be below what is reported. One number is fitted, the spread of a node's kernels in a step that
makes 1,536 nodes scale as reported; the others are then predicted. On more than 128 of Dell's nodes, by its own account, each computes fewer
images, to keep the batch below 8k, and less efficiently; how much less is not published and not simulated: there the prediction is above what
is reported.

The guide's tables 8 and 9 have ResNet-50's images a second on nodes of four GTX 1080 Ti, 64 images each: MXNet with a parameter server and
real data, and PyTorch with Horovod. From one GPU's time and one number, fitted to eight GPUs, the others are predicted in two ways: by the link
alone (seconds a byte of a ring among all), and by the spread of kernels alone. A parameter server is simulated as a ring as well.

Buckets are cut for kernels as long as this machine's, which are slower: overlap hides less of AlexNet's sums than buckets for a GPU would.
"""
import argparse
import json
import os
import pathlib
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
KIM_BATCH, KIM_MS, KIM_LINK = 256, 162.0, "2e-5,1.82e-10"
NODE_BATCH, NODE_MS, NODE_LINK = 32, 716.0, "4e-6,8e-11"
# What a sum over all of them takes, for the compiler: 2 x 1535 messages of 2 us, and each byte twice.
ALL_NODES_LINK = "6.1e-3,1.6e-10"
# Of ResNet-50, by nodes: the efficiency that is reported; that of FITTED gives the spread of kernels. Within NEAR is as reported.
REPORTED = {128: 0.90, 256: 0.83, 314: 0.76, 1536: 0.90}
FITTED, NEAR = 1536, 0.04
# Images a second of all GPUs, by their number; a table's name.
GPU_BATCH, GPU_TABLES = 64, {"MXNet, parameter server": {1: 182, 4: 705, 8: 1402, 16: 2680, 32: 5120, 64: 7080},
                             "PyTorch, Horovod": {1: 208, 4: 768, 8: 1497, 16: 2942, 32: 5796}}
GPU_FITTED, GPU_LATENCY, GPU_LINK = 8, "2e-5", "2e-5,1e-9"


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


class Simulator:
    def __init__(self, tools, folder, size):
        self.tools, self.folder, self.size = tools, folder, size

    def compile(self, name, *flags):
        module = os.path.join(self.folder, f"{name}.so")
        output(os.path.join(self.tools, "dlc"), os.path.join(ROOT, f"examples/{name}/{name}.dl"), "--data-parallel", *flags, "-o", module)
        # Of the module that had this name before.
        pathlib.Path(f"{module}.times").unlink(missing_ok=True)
        return module

    def run(self, module, ranks, step_ms, *flags):
        text = output(os.path.join(self.tools, "dlc-run"), "simulate", module, "--ranks", ",".join(map(str, ranks)), "--step-ms", str(step_ms),
                      "--times", f"{module}.times", "--json", *flags)
        return [json.loads(line) for line in text.splitlines()]


def kim(simulator, batch):
    """What each number of GPUs takes for the batch, which they share; the kernels' shares of a step are those of `batch` images here."""
    module = simulator.compile("alexnet", "-D", f"N={batch}", f"--link={KIM_LINK}")
    for gpus in (1, 2, 4):
        row = simulator.run(module, [gpus], KIM_MS / gpus, "--topology", "tree", "--link", KIM_LINK)[0]
        yield {"net": "alexnet", "ranks": gpus, "kernels_ms": KIM_MS / gpus, "communication_ms": row["communication_ms"],
               "without_overlap_ms": row["without_overlap_ms"], "step_ms": row["step_ms"],
               "images_per_second": KIM_BATCH / row["step_ms"] * 1e3,
               "without_overlap_images_per_second": KIM_BATCH / row["without_overlap_ms"] * 1e3}


def nodes(simulator, batch):
    module = simulator.compile("resnet50", "-D", f"N={batch}", "-D", f"size={simulator.size}", f"--link={ALL_NODES_LINK}")

    def simulate(ranks, jitter):
        return simulator.run(module, ranks, NODE_MS, "--topology", "ring", "--link", NODE_LINK, "--jitter", f"{jitter:.6f}")

    ranks = [1, 2, 8, 32, 128, 256, 314, 512, 1024, 1536]
    even = simulate(ranks, 0)
    # A step grows with the spread as good as linearly.
    trial = 0.02
    without, spread = (rows[-1]["step_ms"] for rows in (even, simulate([FITTED], trial)))
    jitter = trial * (NODE_MS / REPORTED[FITTED] - without) / (spread - without)
    for row, uneven in zip(even, simulate(ranks, jitter), strict=True):
        yield {"net": "resnet50", "ranks": row["ranks"], "kernels_ms": NODE_MS, "communication_ms": row["communication_ms"],
               "step_ms": row["step_ms"], "without_overlap_ms": row["without_overlap_ms"],
               "images_per_second": NODE_BATCH * row["ranks"] / row["step_ms"] * 1e3, "efficiency": row["efficiency"],
               "efficiency_without_overlap": NODE_MS / row["without_overlap_ms"], "jitter": jitter, "slowest": uneven["slowest"],
               "efficiency_with_jitter": uneven["efficiency"], "reported": REPORTED.get(row["ranks"])}


def fitted(step_ms, wanted, low, high):
    """Where between `low` and `high` step_ms(), which grows, comes to `wanted`: to two parts in a thousand of the step, by false position."""
    below, above = step_ms(low) - wanted, step_ms(high) - wanted
    while True:
        middle = (low * above - high * below) / (above - below)
        off = step_ms(middle) - wanted
        if abs(off) < 2e-3 * wanted:
            return middle
        if off < 0:  # halving the other end keeps it from staying where it is
            low, below, above = middle, off, above / 2
        else:
            high, above, below = middle, off, below / 2


def gpus(simulator, batch):
    module = simulator.compile("resnet50", "-D", f"N={batch}", "-D", f"size={simulator.size}", f"--link={GPU_LINK}")
    for table, reported in GPU_TABLES.items():
        alone = GPU_BATCH / reported[1] * 1e3

        def simulate(ranks, byte=1e-12, jitter=0):
            return [row["step_ms"] for row in simulator.run(module, ranks, alone, "--topology", "ring", "--link", f"{GPU_LATENCY},{byte:.6g}",
                                                            "--jitter", f"{jitter:.6f}")]

        wanted = GPU_BATCH * GPU_FITTED / reported[GPU_FITTED] * 1e3
        byte = fitted(lambda value: simulate([GPU_FITTED], byte=value)[0], wanted, 1e-10, 4e-9)
        jitter = fitted(lambda value: simulate([GPU_FITTED], jitter=value)[0], wanted, 0, 0.2)
        ranks = sorted(reported)
        for count, by_link, by_spread in zip(ranks, simulate(ranks, byte=byte), simulate(ranks, jitter=jitter), strict=True):
            speeds = [GPU_BATCH * count / step * 1e3 for step in (by_link, by_spread)]
            yield {"net": "resnet50 on GPUs", "table": table, "ranks": count, "reported_images_per_second": reported[count],
                   "link_images_per_second": speeds[0], "link_error": speeds[0] / reported[count] - 1, "bytes_per_second": 1 / byte,
                   "spread_images_per_second": speeds[1], "spread_error": speeds[1] / reported[count] - 1, "jitter": jitter}


def findings(rows):
    """What was to be shown: (whether it holds, what)."""
    alexnet = {row["ranks"]: row for row in rows if row["net"] == "alexnet"}
    yield (alexnet[4]["without_overlap_ms"] >= alexnet[2]["without_overlap_ms"], "without overlap four GPUs are no faster than two")
    yield (alexnet[4]["step_ms"] < alexnet[4]["without_overlap_ms"], "overlap takes some of it away")
    for table in GPU_TABLES:
        points = [row for row in rows if row.get("table") == table and row["ranks"] not in (1, GPU_FITTED)]
        for way in ("link", "spread"):
            worst = max(points, key=lambda row: abs(row[f"{way}_error"]))
            yield (abs(worst[f"{way}_error"]) <= NEAR, f"{table}: by the {way} alone the worst point is {worst['ranks']} GPUs, "
                   f"{worst[f'{way}_error']:+.1%}")
    reported = [row for row in rows if row.get("reported")]
    yield (all(row["efficiency"] >= row["reported"] for row in reported), "nodes scale no worse than is reported of them")
    for row in reported:
        yield (abs(row["efficiency_with_jitter"] - row["reported"]) <= NEAR,
               f"{row['ranks']} nodes whose kernels spread by {row['jitter']:.1%} keep {row['efficiency_with_jitter']:.1%}, reported are "
               f"{row['reported']:.0%}" + (", which the spread is fitted to" if row["ranks"] == FITTED else ""))


def draw(rows, folder):
    """Figures of each net, a curve each; those that not all rows have are points."""
    jitter = next(row["jitter"] for row in rows if row["net"] == "resnet50")
    pictures = (("alexnet", "scaling", "samples_per_second",
                 {"overlap": "images_per_second", "no overlap": "without_overlap_images_per_second"}),
                ("resnet50", "efficiency", "efficiency",
                 {"network alone": "efficiency", "without overlap": "efficiency_without_overlap",
                  f"kernels that spread by {jitter:.1%}": "efficiency_with_jitter", "reported": "reported"}))
    os.makedirs(folder, exist_ok=True)
    with tempfile.TemporaryDirectory() as data:
        for net, kind, axis, curves in pictures:
            files = []
            for number, (name, key) in enumerate(curves.items()):
                path = os.path.join(data, f"{number}.json")
                with open(path, "w") as file:
                    file.writelines(json.dumps({"ranks": row["ranks"], axis: row[key]}) + "\n" for row in rows if row["net"] == net and row[key])
                files.append(f"{name}={path}")
            output("python3", os.path.join(os.path.dirname(HERE), "plot.py"), kind, os.path.join(folder, f"{kind}-{net}.svg"), *files)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", default=os.path.join(ROOT, "build/release/bin"))
    parser.add_argument("--batch", type=int, default=32, help="images that are timed here, for the kernels' shares of a step")
    parser.add_argument("--size", type=int, default=224, help="pixels along each side of those that ResNet-50 is timed with")
    parser.add_argument("--pictures", help="folder for SVG pictures of both")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for curve in (kim, gpus, nodes):
            for row in curve(Simulator(options.tools, folder, options.size), options.batch):
                rows.append(row)
                print(json.dumps(row) if options.json else "  ".join(
                    f"{key} {value:.3f}" if isinstance(value, float) else f"{key} {value}" for key, value in row.items()), flush=True)
    if options.pictures:
        draw(rows, options.pictures)
    for holds, what in findings(rows):
        print(json.dumps({"finding": what, "holds": holds}) if options.json else f"{'yes' if holds else 'NO'}: {what}")


if __name__ == "__main__":
    main()
