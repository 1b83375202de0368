"""Checks the table of examples/alexnet/README.md against the report of the compiled model, for one image.

usage: dlc-run inspect MODULE.so --layers --json | check_alexnet.py README.md

Of each layer with weights: shape, parameters and multiply-adds are the report's, of train_step and of infer_n1, where weights are
prepared; the last column is what the conversions that the page names make of the multiply-adds. Prints the sums.
"""
import json
import re
import sys

entries = {entry["name"]: entry for entry in json.load(sys.stdin)["report"]["entries"]}


def rows(name):
    """layer: (shape, parameters, multiply-adds) of the forward rows that multiply."""
    return {row["layer"]: (row["shape"][1:], row["parameters"], row["multiply_adds"])
            for row in entries[name]["layers"] if row["stage"] == "forward" and row["multiply_adds"]}


def converted(layer, multiply_adds):
    """Convolutions for 256 images, of which 3 to 5 make 12 x 12 pixels in place of 13 x 13."""
    if not layer.startswith("conv"):
        return multiply_adds
    return 256 * multiply_adds * 12 * 12 // (13 * 13) if layer in ("conv3", "conv4", "conv5") else 256 * multiply_adds


table = {}
for line in open(sys.argv[1], encoding="utf-8"):
    if cells := re.match(r"\| (\w+\d) \| ([\dx ]+) \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \|$", line):
        layer, shape, *numbers = cells.groups()
        table[layer] = ([int(size) for size in shape.split(" x ")], *(int(number.replace(",", "")) for number in numbers))
for name in ("train_step", "infer_n1"):
    found = {layer: (*row, converted(layer, row[2])) for layer, row in rows(name).items()}
    if found != table:
        sys.exit(f"{name}: the report has {found}, the page {table}")
print(len(table), "layers,", sum(row[1] for row in table.values()), "parameters,", sum(row[2] for row in table.values()), "multiply-adds")
