"""Compares the summary of a training run with that of an evaluation of its checkpoint. usage: same_evaluation.py TRAIN EVAL"""
import json
import math
import sys

train, test = (json.loads(open(path).read().splitlines()[-1]) for path in sys.argv[1:3])
names = [key.removeprefix("test_") for key in train if key.startswith("test_")]
assert "loss" in names, train
for name in names:
    # Doubles, added up in another order.
    assert math.isclose(train[f"test_{name}"], test[name], rel_tol=1e-12), (name, train, test)
print(f"{train['steps']} steps, test {' and '.join(names)} agree")
