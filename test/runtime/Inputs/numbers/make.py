"""Writes orders.npz, arrays in either byte order and in Fortran's order, each beside what NumPy makes of it, and two .npy: usage: make.py FOLDER"""
import sys

import numpy as np

arrays = {}


def put(name, stored, wide):
    arrays[name] = stored
    arrays[name + ".expected"] = np.ascontiguousarray(stored, dtype=wide)


random = np.random.default_rng(1)
floats = random.standard_normal((3, 2, 4))
put("half_big", floats.astype(">f2"), "<f2")
put("half", floats.astype("<f2"), "<f2")
put("float_big", floats.astype(">f4"), "<f4")
put("double_big", floats.astype(">f8"), "<f8")
put("columns", np.asfortranarray(floats.astype("<f4")), "<f4")
put("columns_big", np.asfortranarray(floats.astype(">f8")), "<f8")
put("columns_half", np.asfortranarray(floats.astype("<f2")), "<f2")
put("columns_bytes", np.asfortranarray(random.integers(0, 256, (5, 7), dtype="u1")), "<u1")
put("columns_short", np.asfortranarray(random.integers(-32768, 32768, (2, 3, 5, 2), dtype="i2").astype(">i2")), "<i4")
put("columns_empty", np.asfortranarray(np.zeros((0, 3), "<f4")), "<f4")
put("row", np.asfortranarray(np.arange(6, dtype="<i4").reshape(1, 6)), "<i4")
for kind, wide in ((">i2", "<i4"), (">u2", "<i4"), (">i4", "<i4"), (">u4", "<i8"), (">i8", "<i8")):
    limits = np.iinfo(kind)
    put("big_" + kind[1:], np.array([limits.min, 0, 1, limits.max], dtype=kind), wide)
np.savez_compressed(sys.argv[1] + "/orders.npz", **arrays)
for name, stored in (("big", np.arange(6, dtype=">i2").reshape(2, 3)), ("columns", np.asfortranarray(np.arange(6, dtype="<f2").reshape(2, 3)))):
    np.save(f"{sys.argv[1]}/{name}.npy", stored)
