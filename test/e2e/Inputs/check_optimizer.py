"""Ten steps of a module of optimizer.dl, each from what the one before has saved, against PyTorch's in float64.

usage: check_optimizer.py GOLDENS TRAJECTORY MODULE FOLDER [FLAG...]      the flags go to dlc-run
"""
import json
import os
import subprocess
import sys

from tensor_file import load, save


def main():
    goldens, name, module, folder, *flags = sys.argv[1:]
    with open(os.path.join(goldens, "optimizers", "optimizers.json")) as file:
        reference = json.load(file)
    state, inputs, saved = (os.path.join(folder, each) for each in ("state", "in.safetensors", "saved"))
    save(state, {"p": ([12], reference["start"])})
    path = reference["trajectories"][name]["parameters"]
    # About ten roundings of f32 a step, of numbers up to 2; where gradients are divided by their root mean square, the first steps
    # are as long as the rate is, whatever the gradient's rounding.
    for step, (gradient, expected) in enumerate(zip(reference["gradients"], path, strict=True)):
        save(inputs, {"x": ([1, 12], gradient)})
        subprocess.run(["dlc-run", "step", module, "--inputs", inputs, "--parameters", state, "--save", saved,
                        "--from", str(step), *flags],
                       check=True, stdout=subprocess.DEVNULL)
        variables = {key: ([12], numbers) for key, numbers in load(saved).items() if key.split(".")[0] == "p"}
        save(state, variables)
        for i, (found, wanted) in enumerate(zip(variables["p"][1], expected, strict=True)):
            assert abs(found - wanted) <= 2e-6 * (step + 1), f"{name}, step {step}: p[{i}] is {found}, expected {wanted}"


main()
