"""A module of grid_sample.dl against PyTorch's values.

usage: check_grid_sample.py MODE PADDING true|false MODULE FOLDER F32|F64 [FLAG...]      the flags go to dlc-run
"""
import json
import os
import subprocess
import sys

from tensor_file import load, save

mode, padding, corners, module, folder, dtype, *flags = sys.argv[1:]
with open(os.path.join(os.path.dirname(__file__), "grid_sample_pytorch.json")) as file:
    reference = json.load(file)
inputs, outputs = (os.path.join(folder, each) for each in ("in.safetensors", "out.safetensors"))
shapes = {"x": [1, 2, 4, 3], "grid": [1, 3, 4, 2], "weight": [1, 2, 3, 4]}
save(inputs, {name: (shape, reference[name], dtype) for name, shape in shapes.items()})
subprocess.run(["dlc-run", "infer", module, "--inputs", inputs, "--save", outputs, *flags], check=True, stdout=subprocess.DEVNULL)
found = load(outputs)
(case,) = [each for each in reference["cases"] if each[:3] == [mode, padding, corners == "true"]]
# A place of some pixels, its shares, and sums of some products; the values are rounded to ten places.
rounding = {"F32": 3e-6, "F64": 2e-10}[dtype]
for name, wanted in zip(("y", "dx", "dgrid"), case[3:]):
    worst = max(abs(a - b) for a, b in zip(found[name], wanted, strict=True))
    assert worst <= rounding, f"{case[:3]}: {name} is off by {worst}"
print("as PyTorch's")
