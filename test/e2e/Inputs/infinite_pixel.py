"""infinite_pixel.py write FILE: an image with one infinite pixel, at its upper edge. infinite_pixel.py check FILE: whether the results
that are not finite are those whose formula has the pixel, or others too; fails where one of the formula's is finite."""
import math
import sys

import tensor_file

CHANNELS, SIZE, CHANNEL, ROW, COLUMN = 16, 24, 3, 0, 13


def formula(name):
    """The places of the results of which the pixel is a term."""
    if name == "backward_filter":  # tap r of row p meets row p + r - 1: none meets the edge as its last
        return {((k * CHANNELS + CHANNEL) * 3 + r) * 3 + s for k in range(CHANNELS) for r in (0, 1) for s in range(3)}
    reach = 2 if name == "five" else 1
    return {(k * SIZE + p) * SIZE + q for k in range(CHANNELS) for p in range(ROW + reach + 1)
            for q in range(COLUMN - reach, COLUMN + reach + 1)}


if sys.argv[1] == "write":
    count = CHANNELS * SIZE * SIZE
    x = [(i * 37 % 101 - 50) / 64 for i in range(count)]
    x[(CHANNEL * SIZE + ROW) * SIZE + COLUMN] = math.inf
    dy = [(i * 53 % 97 + 1) / 128 for i in range(count)]
    shape = [1, CHANNELS, SIZE, SIZE]
    tensor_file.save(sys.argv[2], {"x": (shape, x), "dy": (shape, dy)})
else:
    saved = tensor_file.load(sys.argv[2])
    for name in ("backward_data", "backward_filter", "five", "forward"):
        values = saved[name]
        found = {i for i, value in enumerate(values) if not math.isfinite(value)}
        if not found >= formula(name):
            sys.exit(f"{name}: {len(formula(name) - found)} of the formula's are finite")
        print(f"{name}: the formula's" + (" and others" if found > formula(name) else ""))
