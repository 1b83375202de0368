"""Training of wide.dl, written out in float64: losses, metrics, parameters, momentum and averages of whole batches.

usage: check_wide.py write FILE PARAMETERS
       check_wide.py check FILE PARAMETERS JSON CHECKPOINT   the last line of JSON, and the variables behind it
"""
import json
import math
import random
import sys

from tensor_file import load, save

SAMPLES, TEST, INPUTS, CLASSES = 10, 13, 6, 4
WEIGHTS, IGNORED = [0.5, 3.0, 1.25, 0.1], 1
RATE, MOMENTUM, DECAY, CLIP, EMA = 0.3, 0.9, 1e-3, 0.7, 0.9
# A few hundred roundings of f64 of numbers near 1. One of f32 on the way would be seen: they are 2e8 times as large.
LIMIT = 1e-13


def write(path, parameters):
    draw = random.Random(5)
    tensors = {}
    for prefix, count in (("", SAMPLES), ("test.", TEST)):
        tensors[prefix + "x"] = ([count, INPUTS], [draw.gauss(0, 1) for _ in range(count * INPUTS)], "F64")
        tensors[prefix + "label"] = ([count], [i % CLASSES for i in range(count)], "I32")
    save(path, tensors)
    save(parameters, {"linear1.weight": ([CLASSES, INPUTS], [draw.gauss(0, 0.4) for _ in range(CLASSES * INPUTS)], "F64"),
                      "linear1.bias": ([CLASSES], [draw.gauss(0, 0.4) for _ in range(CLASSES)], "F64")})


def outputs(weight, bias, x):
    rows = [x[i:i + INPUTS] for i in range(0, len(x), INPUTS)]
    return rows, [[math.fsum(a * b for a, b in zip(weight[INPUTS * c:], row)) + bias[c] for c in range(CLASSES)] for row in rows]


def logarithms(logits):
    total = math.log(math.fsum(math.exp(v) for v in logits))
    return [v - total for v in logits]


def loss_and_slopes(logits, labels):
    """The loss of a batch, and its gradient by each logit."""
    counted = math.fsum(WEIGHTS[label] for label in labels if label != IGNORED)
    losses, slopes, samples = [], [], len(labels)
    for row, label in zip(logits, labels):
        logs = logarithms(row)
        own = WEIGHTS[label] / counted if label != IGNORED else 0.0
        target = [0.9 * (c == label) + 0.1 / CLASSES for c in range(CLASSES)]
        losses.append(-own * logs[label] - 0.5 / samples * math.fsum(t * v for t, v in zip(target, logs))
                      + 0.1 / (samples * CLASSES) * math.fsum((v - 0.3) ** 2 for v in row))
        slopes.append([own * (math.exp(logs[c]) - (c == label)) + 0.5 / samples * (math.exp(logs[c]) - target[c])
                       + 0.2 / (samples * CLASSES) * (row[c] - 0.3) for c in range(CLASSES)])
    return math.fsum(losses), slopes


def measure(weight, bias, x, labels):
    _, logits = outputs(weight, bias, x)
    known = [(row, label) for row, label in zip(logits, labels) if label != IGNORED]
    return {"loss": loss_and_slopes(logits, labels)[0],
            "accuracy": sum(row.index(max(row)) == label for row, label in known) / len(known),
            "perplexity": math.exp(-math.fsum(logarithms(row)[label] for row, label in zip(logits, labels)) / len(labels))}


def train(data, weight, bias, updates):
    variables = {"linear1.weight": list(weight), "linear1.bias": list(bias)}
    for name in list(variables):
        variables[name + ".momentum"] = [0.0] * len(variables[name])
        variables[name + ".ema"] = list(variables[name])
    for _ in range(updates):
        before = measure(variables["linear1.weight"], variables["linear1.bias"], data["x"], data["label"])
        rows, logits = outputs(variables["linear1.weight"], variables["linear1.bias"], data["x"])
        _, slopes = loss_and_slopes(logits, data["label"])
        gradients = {"linear1.weight": [math.fsum(s[c] * row[i] for s, row in zip(slopes, rows)) for c in range(CLASSES) for i in range(INPUTS)],
                     "linear1.bias": [math.fsum(s[c] for s in slopes) for c in range(CLASSES)]}
        factor = min(1.0, CLIP / (math.sqrt(math.fsum(g * g for each in gradients.values() for g in each)) + 1e-6))
        for name, rate, decay in (("linear1.weight", RATE, DECAY), ("linear1.bias", 0.7 * RATE, 0.0)):
            p, g = variables[name], [factor * g + decay * p for g, p in zip(gradients[name], variables[name])]
            variables[name + ".momentum"] = v = [MOMENTUM * old + new for old, new in zip(variables[name + ".momentum"], g)]
            variables[name] = p = [old - rate * step for old, step in zip(p, v)]
            variables[name + ".ema"] = [EMA * old + (1 - EMA) * new for old, new in zip(variables[name + ".ema"], p)]
    return before, variables


def same(name, found, expected):
    assert abs(found - expected) <= LIMIT, f"{name} is {found!r}, expected {expected!r}"


def check(path, parameters, log, checkpoint):
    data, start, made = load(path), load(parameters), load(checkpoint)
    found = json.loads(open(log).readlines()[-1])
    before, variables = train(data, start["linear1.weight"], start["linear1.bias"], found["epoch"])
    after = measure(variables["linear1.weight.ema"], variables["linear1.bias.ema"], data["test.x"], data["test.label"])
    for name, value in before.items():
        same(name, found[name], value)
    for name, value in after.items():
        same("test_" + name, found["test_" + name], value)
    for name, values in variables.items():
        for i, (a, b) in enumerate(zip(made[name], values, strict=True)):
            same(f"{name}[{i}]", a, b)
    print("the same in", found["epoch"], "updates, loss", found["loss"])


write(*sys.argv[2:]) if sys.argv[1] == "write" else check(*sys.argv[2:])
