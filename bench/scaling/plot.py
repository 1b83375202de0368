#!/usr/bin/env python3
"""Draws SVG pictures with gnuplot: of scaling, from the lines of `dlc-run simulate --json`, and of a schedule, from a trace.

usage: plot.py scaling OUT.svg NAME=FILE...      images a second over ranks, a curve a file, and what perfect scaling were
       plot.py schedule OUT.svg TRACE.json       one step: kernels by stage, and collectives, a row each rank and kind
Needs gnuplot (gnuplot-nox of Debian).
"""
import json
import subprocess
import sys

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


def scaling(out, files):
    text = begin(out, "720,480") + ("set logscale xy 2\nset xlabel 'ranks'\nset ylabel 'images/s'\nset key left top\nset grid\n"
                                    "set format y '%.0f'\n")
    curves, first = [], None
    for number, given in enumerate(files):
        name, _, path = given.partition("=")
        rows = [json.loads(line) for line in open(path)]
        first = first or rows
        text += f"$data{number} << END\n" + "".join(f"{row['ranks']} {row['images_per_second']}\n" for row in rows) + "END\n"
        curves.append(f"$data{number} with linespoints title {quoted(name)}")
    rate = first[0]["images_per_second"] / first[0]["ranks"]
    gnuplot(text + f"plot {rate} * x with lines dashtype 2 linecolor 'grey' title 'perfect', " + ", ".join(curves) + "\n")


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
    text += ")\nset key outside top center horizontal\n"
    for event in events:
        left, number = event["ts"] - origin, place[event["pid"], event["cat"] == "collective"]
        text += (f"set object rectangle from {left * 1e-3},{number - 0.35} to {(left + event['dur']) * 1e-3},{number + 0.35} "
                 f"fillcolor rgb '{COLOURS[stage(event)]}' fillstyle solid noborder\n")
    gnuplot(text + "plot " + ", ".join(f"NaN with lines linewidth 8 linecolor rgb '{colour}' title '{name}'" for name, colour in COLOURS.items()) + "\n")


def main():
    arguments = sys.argv[1:]
    if len(arguments) >= 3 and arguments[0] == "scaling":
        scaling(arguments[1], arguments[2:])
    elif len(arguments) == 3 and arguments[0] == "schedule":
        schedule(*arguments[1:])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
