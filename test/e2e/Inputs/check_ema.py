"""The average of weights by its definition, in float64.

usage: check_ema.py start INPUTS PARAMETERS | steps DECAY COUNT STEP | each STEP STEP | pick STEP FILE VARIABLE=TENSOR...
       | output FILE STEP VARIABLE | averages FILE equal|differ
"""
import sys

from tensor_file import load, save

X = [0.0227, 0.6891, -0.9808, -0.5759, -0.4110]
P = [0.8201, -0.4612, -0.0284, -0.1597, 0.7680]
RATE, MOMENTUM = 0.5, 0.5
# In each of 20 steps two roundings of f32, of numbers below 20: 40 * 20 * 2^-25.
ROUNDING = 3e-5


def close(name, found, wanted):
    for a, b in zip(found, wanted, strict=True):
        assert abs(a - b) <= ROUNDING, f"{name}: {list(found)}, expected {wanted}"


def check(found, p, average):
    close("p", found["p"], p)
    close("p.ema", found["p.ema"], average)
    assert found["p"] != found["p.ema"]


def steps(decay, count, found):
    """SGD with momentum from P, and the average that begins there."""
    p, average, velocity = list(P), list(P), [0.0] * 5
    for _ in range(count):
        velocity = [MOMENTUM * v + g for v, g in zip(velocity, X)]
        p = [a - RATE * v for a, v in zip(p, velocity)]
        average = [decay * a + (1 - decay) * b for a, b in zip(average, p)]
    check(found, p, average)


def each(first, second):
    """One step along the input and one against twice the input: each adds to the one average."""
    p = [a - RATE * g for a, g in zip(P, X)]
    average = [0.75 * a + 0.25 * b for a, b in zip(P, p)]
    check(first, p, average)
    p = [a + 2 * RATE * g for a, g in zip(p, X)]
    check(second, p, [0.75 * a + 0.25 * b for a, b in zip(average, p)])


def output(saved, state, name):
    """Inference has used the variable `name`: its rounding of each product only."""
    for found, x, p in zip(saved["output"], X, state[name], strict=True):
        assert abs(found - x * p) <= 2**-22 * abs(x * p), f"{found}, expected {x} * {p}"


def averages(found, word):
    names = [name for name in found if name + ".ema" in found]
    assert names == ["conv1.weight", "bn1.weight", "bn1.bias", "linear1.weight", "linear1.bias"], names
    for name in names:
        assert (found[name] == found[name + ".ema"]) == (word == "equal"), name


def main():
    word, *rest = sys.argv[1:]
    if word == "start":
        save(rest[0], {"x": ([1, 5], X)})
        save(rest[1], {"p": ([5], P)})
    elif word == "steps":
        steps(float(rest[0]), int(rest[1]), load(rest[2]))
    elif word == "each":
        each(load(rest[0]), load(rest[1]))
    elif word == "pick":
        found = load(rest[0])
        save(rest[1], {pair.split("=")[0]: ([5], found[pair.split("=")[1]]) for pair in rest[2:]})
    elif word == "output":
        output(load(rest[0]), load(rest[1]), rest[2])
    else:
        averages(load(rest[0]), rest[1])
    print("as computed")


main()
