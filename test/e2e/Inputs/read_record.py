"""Reads a record of JSON lines: how many there are of each kind, in the order in which they first come."""
import json
import sys

counts = {}
for line in open(sys.argv[1]):
    kind = json.loads(line)["kind"]
    counts[kind] = counts.get(kind, 0) + 1
for kind, count in counts.items():
    print(kind, count)
