"""Six steps of a module of muon.dl, each from what the one before has saved, against PyTorch's in float64.

usage: check_muon.py KIND MODULE FOLDER F32|F64 [FLAG...]      the flags go to dlc-run
"""
import json
import os
import subprocess
import sys

from tensor_file import load, save

kind, module, folder, dtype, *flags = sys.argv[1:]
with open(os.path.join(os.path.dirname(__file__), "muon_pytorch.json")) as file:
    reference = json.load(file)
shapes = reference["shapes"]
state, inputs, saved = (os.path.join(folder, each) for each in ("state", "in.safetensors", "saved"))
save(state, {name: (shapes[name], numbers, dtype) for name, numbers in reference["start"].items()})
# Five steps multiply the rounding of a singular value near 0 by up to 3.4445 ** 5, and the rate by 0.02.
rounding = {"F32": 1e-6, "F64": 2e-15}[dtype]
for step, gradients in enumerate(reference["gradients"], 1):
    save(inputs, {f"{name}_gradient": ([1, *shapes[name]], numbers, dtype) for name, numbers in gradients.items()})
    subprocess.run(["dlc-run", "step", module, "--inputs", inputs, "--parameters", state, "--save", saved, "--from", str(step - 1), *flags],
                   check=True, stdout=subprocess.DEVNULL)
    variables = {key: (shapes[key.split(".")[0]], numbers, dtype) for key, numbers in load(saved).items() if key.split(".")[0] in shapes}
    save(state, variables)
    for name, wanted in reference["paths"][kind].get(str(step), {}).items():
        found = variables[name][1]
        worst = max(abs(a - b) for a, b in zip(found, wanted, strict=True))
        assert worst <= rounding * step, f"{kind}, step {step}: {name} is off by {worst}"
print(f"{kind}: as PyTorch's")
