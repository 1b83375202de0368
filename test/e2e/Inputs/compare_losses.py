"""compare_losses.py A B LIMIT: the test losses of two logs of `dlc-run train --json` differ by at most LIMIT times their size."""
import json
import sys


def losses(path):
    rows = [json.loads(line) for line in open(path)]
    return [row["test_loss"] for row in rows if "test_loss" in row and "summary" not in row]


a, b = losses(sys.argv[1]), losses(sys.argv[2])
limit = float(sys.argv[3])
if len(a) != 3 or len(set(a)) != 3 or len(b) != 3:
    sys.exit(f"expected three losses that differ, found {a} and {b}")
if any(abs(x - y) > limit * abs(x) for x, y in zip(a, b)):
    sys.exit(f"expected {a}, found {b}")
