"""Writes files of other programs into FOLDER, as far as what begins them.

usage: make_kinds.py FOLDER
"""
import gzip
import pickle
import sys
import zipfile

folder = sys.argv[1] + "/"
with zipfile.ZipFile(folder + "new.pth", "w") as archive:
    archive.writestr("archive/data.pkl", pickle.dumps({"fc.weight": 1}, protocol=2))
    archive.writestr("archive/version", "3\n")
with open(folder + "old.pth", "wb") as file:
    pickle.dump({"fc.weight": 1}, file, protocol=2)
with gzip.open(folder + "packed.gz", "wb") as file:
    file.write(b"weights")
for name, content in {"keras.h5": b"\x89HDF\r\n\x1a\n" + bytes(88), "net.onnx": b"\x08\x07\x12\x07pytorch\x1a\x052.0.1:" + bytes(64),
                      "list.json": b'{"fc.weight": [1, 2]}\n', "model.dl": b"model Net(x: f32[N, 2]) -> f32[N] {\n}\n"}.items():
    with open(folder + name, "wb") as file:
        file.write(content)
