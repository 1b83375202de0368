"""Is a state that ranks carried, rank r's of "rank<r>/NAME", that of one rank with all their rows?

usage: join_states.py RANKS ONE NAME AXIS LIMIT      AXIS: that of the rows
"""
import itertools
import json
import struct
import sys

from tensor_file import load


def shape_of(path, name):
    raw = open(path, "rb").read()
    return json.loads(raw[8:8 + struct.unpack("<Q", raw[:8])[0]])[name]["shape"]


def join(parts, shape, axis):
    """The parts, all of `shape`, one behind the other along `axis`."""
    inner = 1
    for extent in shape[axis:]:
        inner *= extent
    return [number for begin in range(0, len(parts[0]), inner) for part in parts for number in part[begin:begin + inner]]


def main():
    ranks, name, limit = load(sys.argv[1]), sys.argv[3], float(sys.argv[5])
    parts = [ranks[name]] + list(itertools.takewhile(lambda part: part is not None, (ranks.get(f"rank{r}/{name}") for r in itertools.count(1))))
    joined, one = join(parts, shape_of(sys.argv[1], name), int(sys.argv[4])), load(sys.argv[2])[name]
    error = (sum((x - y) ** 2 for x, y in zip(joined, one, strict=True)) / sum(y * y for y in one)) ** 0.5
    print(f"{name} of {len(parts)} ranks", "is that of one" if error <= limit else f"differs: error {error:.2e}",
          "and differs from rank to rank" if len(set(parts)) == len(parts) else "and is the same on some")


main()
