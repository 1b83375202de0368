#!/usr/bin/env python3
"""Draws SVG pictures with gnuplot: of speeds and of losses, from records; of scaling, from the lines of `dlc-run simulate --json`; and of a schedule,
from a trace.

usage: plot.py scaling OUT.svg NAME=FILE...      images a second over ranks, a curve a file, and what perfect scaling were
       plot.py efficiency OUT.svg NAME=FILE...   parts of perfect scaling over ranks, a curve a file; `reported` are points
       plot.py schedule OUT.svg TRACE.json       one step: kernels by stage, and collectives, a row each rank and kind
       plot.py speed OUT.svg RECORD...           how many times as fast as its best rival dlc trains, a bar a network; records of compare.py
       plot.py precision OUT.svg RECORD...       losses over training, a panel a network, a colour a precision; records of training/precision.py
Needs gnuplot (gnuplot-nox of Debian).
"""
import json
import math
import subprocess
import sys

from table import NETWORKS

CURVES = ("#4c72b0", "#dd8452", "#55a868", "#c44e52")
COLOURS = {"forward": "#4c72b0", "backward": "#dd8452", "update": "#55a868", "collective": "#c44e52"}


def gnuplot(text):
    try:
        subprocess.run(["gnuplot"], input=text, text=True, check=True)
    except FileNotFoundError:
        sys.exit("plot: gnuplot is missing: apt-get install gnuplot-nox")


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


def begin(out, size):
    return f"set terminal svg size {size} dynamic background 'white' font 'sans,12'\nset output {quoted(out)}\n"


def read(files):
    """Name and rows of each NAME=FILE."""
    for given in files:
        name, _, path = given.partition("=")
        yield name, [json.loads(line) for line in open(path)]


def plot(text, curves, key, more=()):
    """Curves of `key` over ranks; reported figures are points."""
    data, plots = "", list(more)
    for number, (name, rows) in enumerate(curves):
        data += f"$data{number} << END\n" + "".join(f"{row['ranks']} {row[key]}\n" for row in rows) + "END\n"
        style = "points pointtype 2 pointsize 1.2 linewidth 2" if name == "reported" else "linespoints pointtype 7 pointsize 0.5 linewidth 2"
        plots.append(f"$data{number} with {style} linecolor rgb '{CURVES[number % len(CURVES)]}' title {quoted(name)}")
    gnuplot(text + data + "plot " + ", ".join(plots) + "\n")


def scaling(out, files):
    curves = list(read(files))
    first = curves[0][1][0]
    rate = first["samples_per_second"] / first["ranks"]
    plot(begin(out, "640,400") + "set logscale xy 2\nset xlabel 'ranks'\nset ylabel 'samples/s'\nset key left top\nset grid\nset format y '%.0f'\n",
         curves, "samples_per_second", [f"{rate} * x with lines dashtype 2 linecolor 'grey' title 'perfect'"])


def efficiency(out, files):
    curves = list(read(files))
    plot(begin(out, "640,400") + "set logscale x 2\nset xlabel 'ranks'\nset ylabel 'part of perfect scaling'\nset key left bottom\nset grid\n"
         "set format y '%.0f%%'\nset yrange [70:102]\n",
         [(name, [{**row, "efficiency": 100 * row["efficiency"]} for row in rows]) for name, rows in curves], "efficiency")


def stage(event):
    if event["cat"] == "collective":
        return "collective"
    return "backward" if "/backward" in event["name"] else "update" if event["name"].endswith("/update") else "forward"


def schedule(out, path):
    events = [event for event in json.load(open(path))["traceEvents"] if event["ph"] == "X"]
    last = max(event["args"].get("step", 0) for event in events)
    events = [event for event in events if event["cat"] in ("kernel", "collective") and event["args"].get("step") == last]
    origin = min(event["ts"] for event in events)
    rows = sorted({(event["pid"], event["cat"] == "collective") for event in events}, reverse=True)
    place = {row: number for number, row in enumerate(rows)}
    length = max(event["ts"] + event["dur"] for event in events) - origin
    text = begin(out, f"960,{120 + 50 * len(rows)}") + f"set xlabel 'ms'\nset xrange [0:{length * 1e-3}]\nset yrange [-0.6:{len(rows)}]\n"
    text += "set ytics (" + ", ".join(f"{quoted(f'rank {pid} ' + ('sums' if sums else 'kernels'))} {number}" for (pid, sums), number in place.items())
    text += ")\nset tics nomirror\nset ytics scale 0\nset border 3\nset key outside top center horizontal\n"
    for event in events:
        left, number = event["ts"] - origin, place[event["pid"], event["cat"] == "collective"]
        text += (f"set object rectangle from {left * 1e-3},{number - 0.35} to {(left + event['dur']) * 1e-3},{number + 0.35} "
                 f"fillcolor rgb '{COLOURS[stage(event)]}' fillstyle solid noborder\n")
    gnuplot(text + "plot " + ", ".join(f"NaN with lines linewidth 8 linecolor rgb '{colour}' title '{name}'" for name, colour in COLOURS.items()) + "\n")


def speed(out, records):
    figures = [figure for path in records for figure in json.load(open(path))["figures"] if figure["entry"] == "train_step"]
    rows = {}  # of a network that several records have, the first one's
    for it in figures:
        rows.setdefault(f"{NETWORKS.get(it['net'], it['net'])}, {it['batch']}", it["rivals"][it["best_rival"]])
    data = "$speeds << END\n" + "".join(f'"{name}" {gain["speedup"]} {gain["speedup_min"]} {gain["speedup_max"]}\n' for name, gain in rows.items()) + "END\n"
    gnuplot(begin(out, f"640,{90 + 26 * len(rows)}") + data +
            f"set yrange [{len(rows)}:-1] noreverse\nset xrange [0:*]\nset xlabel 'training steps, times the speed of the best of PyTorch'\n"
            "set ytics nomirror scale 0 noenhanced\nset xtics nomirror\nset border 3\nset grid xtics\nset lmargin 18\nunset key\nset arrow 1 from 1, graph 0 to 1, graph 1 nohead linecolor 'black'\n"
            f"plot $speeds using (0.5 * $2):0:(0.5 * $2):(0.34):ytic(1) with boxxyerror fillstyle solid linecolor rgb '{CURVES[0]}', "
            "'' using 2:0:3:4 with xerrorbars pointtype 0 linewidth 2 linecolor 'black'\n")


def precision(out, records):
    """The mean over the seeds, and in a paler colour from the least to the largest."""
    figures = [figure for path in records for figure in json.load(open(path))["figures"]]
    nets = list(dict.fromkeys(figure["net"] for figure in figures))
    columns = math.ceil(math.sqrt(len(nets)))
    rows = -(-len(nets) // columns)
    text = begin(out, f"{300 * columns},{260 * rows}") + f"set multiplot layout {rows},{columns}\nset xlabel 'part of training'\nset xtics 50\nset format x '%.0f%%'\n"
    for net in nets:
        plots = []
        for colour, name in zip(CURVES, dict.fromkeys(figure["precision"] for figure in figures)):
            runs = [figure["curve"] for figure in figures if figure["net"] == net and figure["precision"] == name]
            data = f"$data{len(plots)}"
            text += f"{data} << END\n" + "".join(f"{100 * (i + 1) / len(at)} {min(each)} {max(each)} {sum(each) / len(each)}\n"
                                                for at in [list(zip(*runs))] for i, each in enumerate(at)) + "END\n"
            plots += [f"{data} using 1:2:3 with filledcurves fillstyle transparent solid 0.2 linecolor rgb '{colour}' notitle",
                      f"{data} using 1:4 with lines linewidth 1.5 linecolor rgb '{colour}' title '{name}'"]
        text += f"set title {quoted(net)} noenhanced\nset ylabel 'loss'\nset logscale y\nplot " + ", ".join(plots) + "\n"
    gnuplot(text + "unset multiplot\n")


def main():
    arguments = sys.argv[1:]
    if len(arguments) >= 3 and arguments[0] in ("scaling", "efficiency"):
        {"scaling": scaling, "efficiency": efficiency}[arguments[0]](arguments[1], arguments[2:])
    elif len(arguments) == 3 and arguments[0] == "schedule":
        schedule(*arguments[1:])
    elif len(arguments) >= 3 and arguments[0] in ("speed", "precision"):
        {"speed": speed, "precision": precision}[arguments[0]](arguments[1], arguments[2:])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
