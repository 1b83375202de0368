"""Steps of modules of optimizer.dl, each from what the one before has saved, against float64.

usage: check_optimizer.py GOLDENS TRAJECTORY MODULE FOLDER [FLAG...]      PyTorch's ten; the flags go to dlc-run
       check_optimizer.py oracle KIND MODULE FOLDER [FLAG...]             twenty of optimizer_oracle.py
       check_optimizer.py wide KIND MODULE FOLDER [FLAG...]               the same of a model in f64
       check_optimizer.py GOLDENS                                         that oracle against PyTorch's: equal but for rounding
"""
import json
import os
import random
import subprocess
import sys

import optimizer_oracle
from tensor_file import load, save


def read(goldens):
    with open(os.path.join(goldens, "optimizers", "optimizers.json")) as file:
        return json.load(file)


def check_oracle(goldens):
    reference = read(goldens)
    for name, trajectory in reference["trajectories"].items():
        path = optimizer_oracle.trajectory(name, reference["start"], reference["gradients"])
        for found, wanted in zip(path, trajectory["parameters"], strict=True):
            assert all(abs(a - b) <= 1e-12 for a, b in zip(found, wanted, strict=True)), name
    print(f"{len(reference['trajectories'])} trajectories of PyTorch's")


def check_module(name, module, folder, start, gradients, path, flags, dtype="F32"):
    state, inputs, saved = (os.path.join(folder, each) for each in ("state", "in.safetensors", "saved"))
    save(state, {"p": ([12], start, dtype)})
    # About ten roundings a step, of numbers up to 2; where gradients are divided by their root mean square, the first steps
    # are as long as the rate is, whatever the gradient's rounding.
    rounding = {"F32": 2e-6, "F64": 4e-15}[dtype]
    for step, (gradient, expected) in enumerate(zip(gradients, path, strict=True)):
        save(inputs, {"x": ([1, 12], gradient, dtype)})
        subprocess.run(["dlc-run", "step", module, "--inputs", inputs, "--parameters", state, "--save", saved,
                        "--from", str(step), *flags],
                       check=True, stdout=subprocess.DEVNULL)
        variables = {key: ([12], numbers, dtype) for key, numbers in load(saved).items() if key.split(".")[0] == "p"}
        save(state, variables)
        for i, (found, wanted) in enumerate(zip(variables["p"][1], expected, strict=True)):
            assert abs(found - wanted) <= rounding * (step + 1), f"{name}, step {step}: p[{i}] is {found}, expected {wanted}"


def main():
    if len(sys.argv) == 2:
        return check_oracle(sys.argv[1])
    source, name, module, folder, *flags = sys.argv[1:]
    if source not in ("oracle", "wide"):
        reference = read(source)
        path = reference["trajectories"][name]["parameters"]
        return check_module(name, module, folder, reference["start"], reference["gradients"], path, flags)
    # Numbers that f32 has, some gradients 0 and some small beside others.
    chance = random.Random(7)
    start = [chance.randrange(-256, 257) / 128 for _ in range(12)]
    gradients = [[chance.choice((0, 1, 1, 1 / 64)) * chance.randrange(-256, 257) / 128 for _ in range(12)] for _ in range(20)]
    check_module(name, module, folder, start, gradients, optimizer_oracle.trajectory(name, start, gradients), flags,
                 "F64" if source == "wide" else "F32")


main()
