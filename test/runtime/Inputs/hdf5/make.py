"""Writes HDF5 files by h5py, of each kind of number and of storage, and arrays.npz, what NumPy makes of the first; splits, links, and
what is not read: usage: make.py FOLDER"""
import ctypes
import sys

import h5py
import numpy as np

folder = sys.argv[1]
random = np.random.default_rng(1)
count = 6
# name -> array, what create_dataset() takes
arrays = {}


def put(name, array, **how):
    arrays[name] = array, how


for order in "<>":
    for kind in ("i1", "i2", "i4", "i8", "u1", "u2", "u4"):
        limits = np.iinfo(kind)
        put(f"{kind}{'be' if order == '>' else ''}", np.array([limits.min, 0, 1, 2, 3, limits.max]).astype(order + kind))
    for kind in ("f2", "f4", "f8"):
        put(f"{kind}{'be' if order == '>' else ''}", random.standard_normal((count, 2, 3)).astype(order + kind))
put("bool", random.integers(0, 2, (count, 3)).astype(bool))
floats = random.standard_normal((count, 5, 7)).astype("f4")
numbers = random.integers(0, 9, (count, 5, 7)).astype(">i2")
put("chunked", floats, chunks=(4, 2, 3))
put("gzip", floats, chunks=(4, 2, 3), compression="gzip")
put("shuffled", numbers, chunks=(1, 5, 7), compression="gzip", shuffle=True)
put("summed", floats, chunks=(2, 5, 7), fletcher32=True)
put("all", numbers, chunks=(5, 3, 4), compression="gzip", shuffle=True, fletcher32=True)
put("growing", numbers[:, 0, 0], chunks=(4,), maxshape=(None,), compression="gzip")
put("wide", floats, chunks=(8, 8, 8), maxshape=(None, None, None), shuffle=True)


def low(file, name, array, prepare):
    """By h5py's functions for what create_dataset() does not do."""
    how = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    prepare(how)
    made = h5py.h5d.create(file.id, name.encode(), h5py.h5t.py_create(array.dtype), h5py.h5s.create_simple(array.shape), how)
    made.write(h5py.h5s.ALL, h5py.h5s.ALL, array)


def edges(how):
    how.set_chunk((4, 3, 4))
    how.set_deflate(6)
    h5py.h5z.filter_avail(1)
    library = next(line.split()[-1] for line in open("/proc/self/maps") if "libhdf5" in line and "_hl" not in line)
    ctypes.CDLL(library).H5Pset_chunk_opts(ctypes.c_int64(how.id), 2)  # H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS


expected = {name: array for name, (array, _) in arrays.items()}
expected.update(compact=floats, enumeration=numbers[:, 0, 0] % 3, passed=floats[:, :2, :2])
for file, options in (("earliest", {}), ("latest", {"libver": "latest"}), ("block", {"userblock_size": 512})):
    with h5py.File(f"{folder}/{file}.h5", "w", **options) as out:
        for name in ("f4be", "gzip", "growing") if file == "block" else arrays:
            array, how = arrays[name]
            out.create_dataset(name, data=array, **how)
        if file == "block":
            continue
        low(out, "compact", floats, lambda how: how.set_layout(h5py.h5d.COMPACT))
        out.create_dataset("enumeration", data=expected["enumeration"].astype("i2"), dtype=h5py.enum_dtype({"A": 0, "B": 1, "C": 2}, "i2"))
        # A chunk that its filter was passed over for.
        passed = out.create_dataset("passed", shape=(count, 2, 2), dtype="f4", chunks=(3, 2, 2), compression="gzip")
        passed[:] = floats[:, :2, :2]
        passed.id.write_direct_chunk((3, 0, 0), floats[3:, :2, :2].tobytes(), filter_mask=1)
        if file == "latest":
            low(out, "edges", floats, edges)
wide = {"i1": "<i4", "i2": "<i4", "u2": "<i4", "u4": "<i8"}
np.savez_compressed(f"{folder}/arrays.npz", edges=floats, **{
    name: array.astype(wide.get(array.dtype.str[1:], array.dtype.newbyteorder("<"))) for name, array in expected.items()})

with h5py.File(f"{folder}/splits.h5", "w") as out:
    for name, begin, samples in (("train/x", 0, 4), ("test/x", 100, 2), ("mean", 200, 9)):
        out[name] = np.arange(begin, begin + samples, dtype="f4")
with h5py.File(f"{folder}/dotted.h5", "w") as out:
    out["x"], out["test.x"], out["deep/er/x"] = np.arange(3), np.arange(2), np.arange(5)
with h5py.File(f"{folder}/links.h5", "w") as out:
    out["g/x"] = np.arange(3)
    out["g/self"] = out["g"]
    out["soft"], out["none"], out["elsewhere"] = h5py.SoftLink("/g/x"), h5py.SoftLink("/h"), h5py.ExternalLink("splits.h5", "mean")
with h5py.File(f"{folder}/refused.h5", "w") as out:
    out["good"] = np.arange(4, dtype="i4")
    out["texts"] = [b"a", b"bc"]
    out["records"] = np.zeros(2, dtype=[("a", "i4"), ("b", "f4")])
    out["one"] = 3.0
    out["none"] = np.zeros((0, 3))
    out["u8"] = np.arange(4, dtype="u8")
    out["long"] = np.arange(4, dtype=np.longdouble)
    out["fewer"] = np.arange(3)
    out.create_dataset("lzf", data=np.arange(40), compression="lzf")
    out.create_dataset("begun", shape=(6, 4), chunks=(2, 4), dtype="f4")[:4] = 1
    out.create_dataset("never", shape=(6, 4), dtype="f4")
    layout = h5py.VirtualLayout(shape=(4,), dtype="i4")
    layout[:] = h5py.VirtualSource("other.h5", "x", shape=(4,))
    out.create_virtual_dataset("virtual", layout)
    out.create_dataset("outside", shape=(4,), dtype="u1", external=[("/etc/hostname", 0, 4)])
