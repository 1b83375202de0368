"""The input of empty.dl, and what it must compute. usage: check_empty.py write FILE | check OUTPUTS"""
import math
import sys

from tensor_file import load, save

X = [0.25, -1.5, 2.0, 0.5, 3.0, -2.0, 1.0, 0.125]
if sys.argv[1] == "write":
    save(sys.argv[2], {"x": ([1, 4, 2], X)})
else:
    found = load(sys.argv[2])
    assert list(found["joined"]) == X and list(found["padded"]) == [0.5] * 6 and not found["nobody"]
    assert not any(found["sums"]) and len(found["sums"]) == 2 and not any(found["product"]) and len(found["product"]) == 4
    # Beyond the last bits of f32.
    assert all(abs(a / math.exp(x) - 1) < 1e-12 for a, x in zip(found["wide"], X)), found["wide"]
    print(len(found), "results")
