"""Files of tensors, good and bad, and models that read them; or checks what the good model computed.

usage: tensor_files.py FOLDER [check]
"""
import os
import struct
import sys

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "..", "..", "e2e", "Inputs"))
from tensor_file import load, save

FORMATS = {"f4": "f", "f8": "d", "f2": "e", "i4": "i", "i8": "q", "u1": "B", "b1": "?"}
VALUES = {"f4": [0.5, -1.25, 3, 4, 5, 6], "f8": [0.5, 2], "f2": [0.5, -2], "i4": [-7, 8], "i8": [-9, 10], "u1": [3, 250], "b1": [1, 0]}


def npy(kind, shape, values, fortran=False, version=1):
    descr = ("|" if kind in ("u1", "b1") else "<") + kind
    header = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': ({''.join(f'{n}, ' for n in shape)}), }}"
    length = 2 if version == 1 else 4
    header += " " * (-(len(header) + 9 + length) % 64) + "\n"
    data = b"".join(struct.pack("<" + FORMATS[kind], v) for v in values)
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(header)) + header.encode() + data


def write(folder):
    def put(name, content):
        with open(os.path.join(folder, name), "wb") as file:
            file.write(content)

    def model(name, call, result="f32[N]"):
        put(name, f"model M(x: f32[N]) -> {result} {{\n  return x * tensor({call})\n}}\ninfer M {{ batch = 1 }}\n".encode())

    for kind, values in VALUES.items():
        put(kind + ".npy", npy(kind, [2, 3] if kind == "f4" else [2], values, version=2 if kind == "f8" else 1))
    put("scalar.npy", npy("f4", [], [7]))
    put("empty.npy", npy("f4", [0, 2], []))
    save(os.path.join(folder, "folder", "stored.safetensors"), {"table": ([2], [0.25, 8.0])})
    read = "\n".join(f'  {k} = f32(tensor(file="{k}.npy"))' for k in list(VALUES) + ["scalar", "empty"])
    results = ", ".join(f"r_{k}: f32[N, {3 if k == 'f4' else 2}]" for k in list(VALUES) + ["stored"])
    put("good.dl", f"""model M(x: f32[N, 2]) -> ({results}, r_scalar: f32[N, 2], r_empty: f32[N, 2]) {{
{read}
  return x @ f4, {", ".join("x * " + k for k in VALUES if k != "f4")}, x * tensor(file="stored.safetensors"), x * scalar,
    x + sum(empty, axes=0)
}}
infer M {{ batch = 1 }}
""".encode())
    save(os.path.join(folder, "x.safetensors"), {"x": ([1, 2], [2.0, 3.0])})
    put("short.npy", npy("f4", [2, 3], VALUES["f4"])[:-4])
    put("complex.npy", npy("f4", [3], [1, 2, 3]).replace(b"<f4", b"<c8"))
    put("text.npy", b"1, 2")
    save(os.path.join(folder, "two.safetensors"), {"a": ([1], [1.0]), "b": ([1], [1.0])})
    model("missing.dl", 'file="nowhere.npy"')
    for name in ("short", "complex", "text"):
        model(name + ".dl", f'file="{name}.npy"')
    model("two.dl", 'file="two.safetensors"')
    model("wrong.dl", 'file="f4.npy", dtype=f64')
    model("both.dl", 'file="f4.npy", shape=(6,)')


def check(folder):
    found, x = load(os.path.join(folder, "out.safetensors")), [2.0, 3.0]
    wanted = {"r_" + k: [a * b for a, b in zip(x, v)] for k, v in VALUES.items()}
    wanted["r_f4"] = [x[0] * VALUES["f4"][i] + x[1] * VALUES["f4"][3 + i] for i in range(3)]
    wanted.update(r_scalar=[14.0, 21.0], r_empty=x, r_stored=[0.5, 24.0])
    assert {k: list(v) for k, v in found.items()} == wanted, found
    print(*(k[2:] for k in wanted if k != "r_stored"), "stored")


write(sys.argv[1]) if len(sys.argv) == 2 else check(sys.argv[1])
