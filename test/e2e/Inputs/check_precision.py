"""Training steps in 16 bits, against plain loops that round where PyTorch's autocast does, and against the interpreter.

usage: check_precision.py mlp MODULE FOLDER TYPE LAST [SCALE]   one step of precision.dl
       check_precision.py net MODULE PROGRAM FOLDER             one step of precision_net.dl, which PROGRAM is before fusion
       check_precision.py overflow MODULE FOLDER                steps of precision.dl of which some overflow f16

An element that lies between two numbers of 16 bits may be rounded to either, as sums of f32 come in another order. So all elements
are held to a few units of the type beside the largest, and most of them to what f32 is off by.
"""
import json
import math
import os
import random
import struct
import subprocess
import sys

from tensor_file import load, save


def bf16(x):
    bits = struct.unpack("<I", struct.pack("<f", x))[0]
    return struct.unpack("<f", struct.pack("<I", (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000))[0]


def f16(x):
    return struct.unpack("<e", struct.pack("<e", x))[0] if abs(x) < 65520 else math.copysign(math.inf, x)


ROUND = {"bf16": bf16, "f16": f16, "f32": lambda x: x}
UNIT = {"bf16": 2 ** -8, "f16": 2 ** -11}
SAMPLES, INPUTS, HIDDEN, CLASSES = 8, 24, 16, 4


def product(a, b, rounded):
    """a [m, k] times b [k, n], as lists of rows."""
    columns = list(zip(*b))
    return [[rounded(math.fsum(x * y for x, y in zip(row, column))) for column in columns] for row in a]


def transposed(a):
    return [list(column) for column in zip(*a)]


def each(f, a):
    return [[f(v) for v in row] for row in a]


def rows(numbers, width):
    return [list(numbers[i:i + width]) for i in range(0, len(numbers), width)]


def step_of_mlp(given, label, first, last, scale):
    """Gradients by name, as PyTorch has them in the parameters' type."""
    w1, w2 = rows(given["linear1.weight"], INPUTS), rows(given["linear2.weight"], HIDDEN)
    x, w1, w2 = each(first, rows(given["x"], INPUTS)), each(first, w1), each(last, w2)
    h = product(x, transposed(w1), first)
    h = [[max(first(v + b), 0) for v, b in zip(row, given["linear1.bias"])] for row in h]
    y = product(each(last, h), transposed(w2), last)
    y = [[last(v + b) for v, b in zip(row, given["linear2.bias"])] for row in y]
    slopes = []
    for row, answer in zip(y, label):
        total = math.fsum(math.exp(v - max(row)) for v in row)
        slopes.append([last(scale / SAMPLES * (math.exp(v - max(row)) / total - (c == answer))) for c, v in enumerate(row)])
    dw2 = product(transposed(slopes), each(last, h), last)
    dh = each(first, product(slopes, w2, last))
    dh = [[d if v > 0 else 0 for d, v in zip(drow, row)] for drow, row in zip(dh, h)]
    dw1 = product(transposed(dh), x, first)
    gradients = {"linear1.weight": sum(dw1, []), "linear1.bias": [math.fsum(c) for c in zip(*dh)],
                 "linear2.weight": sum(dw2, []), "linear2.bias": [math.fsum(c) for c in zip(*slopes)]}
    return {name: [v / scale for v in values] for name, values in gradients.items()}


def compare(name, found, wanted, unit, few=0.1):
    """Returns the share of elements that are the same but for f32's rounding."""
    largest = max(map(abs, wanted))
    assert largest > 0 and len(found) == len(wanted), name
    far = [(a, b) for a, b in zip(found, wanted) if not abs(a - b) <= 8 * unit * largest]
    assert not far, f"{name}: {far[:5]}, of numbers up to {largest}"
    same = sum(abs(a - b) <= 1e-5 * largest for a, b in zip(found, wanted)) / len(wanted)
    assert same >= 1 - few, f"{name}: {same} of the elements are the same"
    return same


def draw(shapes, seed=3):
    chance = random.Random(seed)
    return {name: (shape, [struct.unpack("<f", struct.pack("<f", chance.gauss(0, size)))[0] for _ in range(math.prod(shape))])
            for name, (shape, size) in shapes.items()}


def mlp_tensors(size=1.0):
    return draw({"x": ([SAMPLES, INPUTS], size), "linear1.weight": ([HIDDEN, INPUTS], 0.3), "linear1.bias": ([HIDDEN], 0.3),
                 "linear2.weight": ([CLASSES, HIDDEN], 0.3), "linear2.bias": ([CLASSES], 0.3)})


LABEL = [i * 5 % CLASSES for i in range(SAMPLES)]


def keep_variables(path, to):
    """Parameters, slots and counters of what a step has saved."""
    raw = open(path, "rb").read()
    size = struct.unpack("<Q", raw[:8])[0]
    header, numbers = json.loads(raw[8:8 + size]), load(path)
    save(to, {name: (header[name]["shape"], values, header[name]["dtype"]) for name, values in numbers.items()
              if name.startswith(("linear", "loss_scale"))})


def run_step(module, folder, tensors, label, inputs, flags=(), state=None):
    """One step; what it gives and the variables behind it."""
    files = {key: os.path.join(folder, key + ".safetensors") for key in ("in", "state", "saved")}
    save(files["in"], {**{name: tensors[name] for name in inputs}, "label": ([len(label)], label, "I32")})
    if state is None:
        save(files["state"], {name: tensor for name, tensor in tensors.items() if name not in inputs})
    else:
        keep_variables(state, files["state"])
    subprocess.run(["dlc-run", "step", module, "--inputs", files["in"], "--parameters", files["state"], "--save", files["saved"], *flags],
                   check=True, stdout=subprocess.DEVNULL)
    return load(files["saved"])


def check_mlp(module, folder, kind, last, scale=1.0):
    tensors = mlp_tensors()
    found = run_step(module, folder, tensors, LABEL, ["x"])
    given = {name: numbers for name, (_, numbers) in tensors.items()}
    wanted = step_of_mlp(given, LABEL, ROUND[kind], ROUND[last], float(scale))
    plain = step_of_mlp(given, LABEL, ROUND["f32"], ROUND["f32"], 1.0)
    for name, gradient in wanted.items():
        # Behind the first step momentum is the gradient.
        compare(name, found[name + ".momentum"], gradient, UNIT[kind])
        off = sum(abs(a - b) > 1e-5 * max(map(abs, gradient)) for a, b in zip(gradient, plain[name]))
        assert off > len(gradient) / 2, f"{name}: f32 gives the same, so that this test tells nothing"
    print("4 gradients agree")


def check_net(module, program, folder):
    shapes = {"image": ([6, 3, 8, 8], 1.0)}
    text = open(program).read()
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["dl.variable"] and "role<parameter>" in line:
            sizes = [int(size) for size in words[3][len("tensor<"):].split("x")[:-1]]
            shapes[words[1][1:]] = (sizes, 1 / math.sqrt(math.prod(sizes[1:])) if len(sizes) > 1 else 0.5)
    tensors, label = draw(shapes), [0, 1, 2, 3, 4, 0]
    found = run_step(module, folder, tensors, label, ["image"])
    values, copies = (os.path.join(folder, name + ".safetensors") for name in ("oracle", "copies"))
    given = ["--tensors", *(os.path.join(folder, name + ".safetensors") for name in ("in", "state"))]
    interpret = ["dl-interpret", program, "--round", *given]
    subprocess.run([*interpret, "--entry", "prepare", "--save", copies], check=True)
    subprocess.run([*interpret, copies, "--entry", "train_step", "--save", values], check=True)
    wanted = load(values)
    names = [name for name in wanted if name.endswith(".momentum")]
    assert names, sorted(wanted)
    # Roundings of the first layers come through all others.
    for name in names:
        compare(name, found[name], wanted[name], UNIT["bf16"], few=0.9)
    print(len(names), "gradients agree")


def check_overflow(module, folder):
    """Gradients that overflow f16 leave everything as it was, halve the scale and are counted; others train."""
    tensors = mlp_tensors()
    weights = {name: list(tensor[1]) for name, tensor in tensors.items() if name != "x"}
    state, scale, skipped = None, 65536.0, 0
    for step in range(5):
        # The scaled slopes of the first runs are too large for f16.
        huge = step in (0, 1, 3)
        now = dict(tensors, x=(tensors["x"][0], [v * (3000 if huge else 1) for v in tensors["x"][1]]))
        found = run_step(module, folder, now, LABEL, ["x"], ["--from", str(step)], state)
        state = os.path.join(folder, "saved.safetensors")
        if huge:
            scale, skipped = scale / 2, skipped + 1
        assert found["loss_scale"] == (scale,) and found["loss_scale.skipped"] == (skipped,), (step, found["loss_scale"], found["loss_scale.skipped"])
        for name, before in weights.items():
            assert (list(found[name]) == before) == huge, f"step {step}: {name}"
            weights[name] = list(found[name])
    print("3 of 5 steps were skipped")


if sys.argv[1] == "mlp":
    check_mlp(*sys.argv[2:])
elif sys.argv[1] == "net":
    check_net(*sys.argv[2:])
else:
    check_overflow(*sys.argv[2:])
