"""Checks that the tensors of a file are the means of those of others: check_mean.py MEAN FILE ..."""
import json
import sys

import numpy as np


def tensors(path):
    data = open(path, "rb").read()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    header.pop("__metadata__", None)
    return {name: np.frombuffer(data[8 + size :][slice(*each["data_offsets"])], "<f4") for name, each in header.items() if each["dtype"] == "F32"}


mean, files = tensors(sys.argv[1]), [tensors(path) for path in sys.argv[2:]]
assert mean
for name, values in mean.items():
    expected = np.mean([file[name].astype("f8") for file in files], axis=0).astype("f4")
    # The order of the sums is another.
    np.testing.assert_allclose(values, expected, rtol=2e-7, err_msg=name)
