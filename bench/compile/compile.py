#!/usr/bin/env python3
"""Times the compiler on deep models, each at a size and at half of it: what grows in proportion takes twice as long.

usage: compile.py [--tools build/release/bin] [--models chain,residual,budget,divided] [--scale F] [--rounds N] [--json]
chain: layers of convolution, norm and ReLU; residual: blocks of two with a shortcut; both by stage, up to the executed form and up to the
module, without a cache. budget: the chain, up to the executed form, within a memory budget of 90 % of what it needs without, and refused
one that is out of reach; divided: the same of layers without norms, which may run on a part of the batch at a time. A stage is what
`--emit` takes up to it, without what the one before it takes. Counted is the processors' time, of the fastest round; with
`--scale` sizes are multiplied by F.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
STAGES = ("dl", "dl-train", "dl-fused", "exec", "module")
LAYER = "conv2d(8, 3, padding=1, bias=false) |> batch_norm"
BODIES = {"chain": f"x |> {LAYER} |> relu", "residual": f"relu(x + (x |> {LAYER} |> relu |> {LAYER}))",
          "plain": "x |> conv2d(8, 3, padding=1) |> relu"}
# model: (body, samples, rows and columns of an image, half the size)
MODELS = {"chain": ("chain", 4, 6, 1000), "residual": ("residual", 4, 6, 400), "budget": ("chain", 64, 32, 100), "divided": ("plain", 64, 32, 25)}


def source(model, size):
    body, batch, side, _ = MODELS[model]
    return f"""model M(x: f32[N, 8, {side}, {side}]) -> f32[N, 4] {{
  repeat {size} {{ x = {BODIES[body]} }}
  return x |> global_average_pool |> flatten |> linear(4)
}}
train M {{
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = {batch}
}}
"""


def seconds(command, rounds, message=None):
    """Of the fastest; where the command is to fail, `message` is what it says."""
    least = float("inf")
    for _ in range(rounds):
        with tempfile.TemporaryFile("w+") as errors:
            child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
            _, status, usage = os.wait4(child.pid, 0)
            errors.seek(0)
            text = errors.read()
        if (status != 0) != (message is not None) or (message or "") not in text:
            sys.exit(f"compile: {' '.join(command)}: exit status {os.waitstatus_to_exitcode(status)}\n{text}")
        least = min(least, usage.ru_utime + usage.ru_stime)
    return least


def time_stages(dlc, path, rounds):
    """Seconds up to each stage."""
    module = os.path.join(os.path.dirname(path), "model.so")
    commands = {stage: [dlc, path, "--no-cache", "-o", module] if stage == "module" else [dlc, path, f"--emit={stage}", "-o", os.devnull]
                for stage in STAGES}
    return {stage: seconds(command, rounds) for stage, command in commands.items()}


def time_budgets(dlc, path, rounds):
    command = [dlc, path, "--emit=exec", "-o", os.devnull]
    report = subprocess.run([dlc, path, "--memory-budget=1024GiB", "--emit=exec"], check=True, stdout=subprocess.PIPE, text=True).stdout
    needed = max(int(before) for before in re.findall(r"dl.memory = {before = (\d+)", report))
    return {"exec": seconds(command, rounds), "met": seconds([*command, f"--memory-budget={needed * 9 // 10}"], rounds),
            "refused": seconds([*command, "--memory-budget=1KiB"], rounds, "does not fit into a memory budget")}


def show(row, half):
    parts = [f"{row['model']:9}{row['size']:6}"]
    before = 0
    for name, until in row["seconds"].items():
        parts.append(f"{name} {until if 'met' in row['seconds'] else until - before:.2f} s")
        before = until
    if half:
        ratios = [f"{name} {until / half[name]:.2f}" for name, until in row["seconds"].items()]
        parts.append(f"times half of it: {', '.join(ratios)}")
    print("  ".join(parts), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tools", default=os.path.join(ROOT, "build/release/bin"))
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    arguments = parser.parse_args()
    models = arguments.models.split(",")
    unknown = [model for model in models if model not in MODELS]
    if unknown:
        sys.exit(f"compile: unknown model {unknown[0]}: expected one of {', '.join(MODELS)}")
    dlc = os.path.join(arguments.tools, "dlc")
    for model in models:
        half = None
        least = max(1, round(arguments.scale * MODELS[model][3]))
        for size in (least, 2 * least):
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, f"{model}.dl")
                with open(path, "w") as out:
                    out.write(source(model, size))
                time = time_budgets if model in ("budget", "divided") else time_stages
                row = {"model": model, "size": size, "seconds": time(dlc, path, arguments.rounds), "rounds": arguments.rounds}
            if arguments.json:
                print(json.dumps(row), flush=True)
            else:
                show(row, half)
            half = row["seconds"]


if __name__ == "__main__":
    main()
