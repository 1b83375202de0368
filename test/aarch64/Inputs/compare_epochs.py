"""compare_epochs.py A B LIMIT: the test losses of two logs of `dlc-run train --json`, two epochs each, differ by at most LIMIT times their
size."""
import json
import sys


def losses(path):
    rows = [json.loads(line) for line in open(path, encoding="utf-8")]
    return [row["test_loss"] for row in rows if "test_loss" in row and "summary" not in row]


a, b, limit = losses(sys.argv[1]), losses(sys.argv[2]), float(sys.argv[3])
if len(a) != 2 or len(set(a)) != 2 or len(b) != 2 or any(abs(x - y) > limit * x for x, y in zip(a, b)):
    sys.exit(f"expected two losses that differ, of both alike: found {a} and {b}")
