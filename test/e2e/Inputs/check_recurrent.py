"""Inputs and weights for recurrent.dl, and what PyTorch's definitions of nn.LSTM and nn.GRU give for them, one unit at a time;
with lengths, what they give for each sample's own steps, with zeros behind them (pack_padded_sequence, pad_packed_sequence).

usage: check_recurrent.py write INPUTS PARAMETERS | check OUTPUTS
"""
import math
import sys

from tensor_file import load, save

N, T, C = 3, 5, 3


def numbers(count, key):
    """From -1 to 1."""
    return [math.sin(1.7 * i + key) for i in range(count)]


def sigmoid(v):
    return 1 / (1 + math.exp(-v))


def weights(kind, units, layers, directions, bias):
    """Of the layer of that kind, by name, in PyTorch's order."""
    rows = {"lstm": 4, "gru": 3}[kind] * units
    made = {}
    for layer in range(layers):
        for suffix in ("", "_reverse")[:directions]:
            inputs = C if layer == 0 else units * directions
            for name, shape in ((f"weight_ih_l{layer}{suffix}", [rows, inputs]), (f"weight_hh_l{layer}{suffix}", [rows, units]),
                                (f"bias_ih_l{layer}{suffix}", [rows]), (f"bias_hh_l{layer}{suffix}", [rows])):
                if bias or name.startswith("weight"):
                    made[name] = (shape, numbers(math.prod(shape), len(made) + units))
    return made


def run(kind, units, layers, directions, given, x, states, lengths):
    """Outputs [T][N][..] of x [T][N][C]; states [part][which][N][units] become the last ones."""
    def product(name, row, vector):
        if name not in given:
            return 0.0
        shape, values = given[name]
        return sum(values[row * shape[1] + k] * v for k, v in enumerate(vector)) if len(shape) == 2 else values[row]

    for layer in range(layers):
        outputs = [[[0.0] * (units * directions) for _ in range(N)] for _ in range(T)]
        for direction, suffix in list(enumerate(("", "_reverse")))[:directions]:
            state = states[layer * directions + direction]
            for n in range(N):
                for t in range(lengths[n]) if direction == 0 else reversed(range(lengths[n])):
                    def input_part(row):
                        return product(f"weight_ih_l{layer}{suffix}", row, x[t][n]) + product(f"bias_ih_l{layer}{suffix}", row, ())

                    def state_part(row, h=tuple(state[0][n])):
                        return product(f"weight_hh_l{layer}{suffix}", row, h) + product(f"bias_hh_l{layer}{suffix}", row, ())

                    for k in range(units):
                        if kind == "lstm":
                            i, f, g, o = (input_part(gate * units + k) + state_part(gate * units + k) for gate in range(4))
                            state[1][n][k] = sigmoid(f) * state[1][n][k] + sigmoid(i) * math.tanh(g)
                            state[0][n][k] = sigmoid(o) * math.tanh(state[1][n][k])
                        else:
                            r, z = (sigmoid(input_part(gate * units + k) + state_part(gate * units + k)) for gate in range(2))
                            new = math.tanh(input_part(2 * units + k) + r * state_part(2 * units + k))
                            state[0][n][k] = (1 - z) * new + z * state[0][n][k]
                    outputs[t][n][direction * units:(direction + 1) * units] = state[0][n]
        x = outputs
    return x


WHOLE, STEPS = [T] * N, [2, T, 0]
LAYERS = (("lstm1", "lstm", 2, 2, 2, True), ("gru1", "gru", 2, 2, 2, True), ("gru2", "gru", 3, 1, 1, False),
          ("lstm2", "lstm", 2, 2, 2, True), ("gru3", "gru", 2, 2, 2, True), ("gru4", "gru", 3, 1, 1, False))
X, H, CELLS = numbers(N * T * C, 1), numbers(4 * N * 2, 2), numbers(4 * N * 2, 3)


def states(parts, units, *values):
    return [[[list(v[(part * N + n) * units:(part * N + n + 1) * units]) for n in range(N)] for v in values] for part in range(parts)]


def flat(nested):
    return [v for part in nested for v in flat(part)] if isinstance(nested, list) else [nested]


def expected():
    x = [[X[(n * T + t) * C:(n * T + t + 1) * C] for n in range(N)] for t in range(T)]
    names = {"lstm1": ("y", "lasth", "lastc"), "gru1": ("z", "lastz"), "gru2": ("plain",),
             "lstm2": ("short", "shorth", "shortc"), "gru3": ("brief", "briefh"), "gru4": ("first",)}
    found = {}
    for key, kind, units, layers, directions, bias in LAYERS:
        state = states(4, 2, H, CELLS) if kind == "lstm" else states(4, 2, H) if bias else states(1, 3, [0.0] * (N * 3))
        output, *lasts = names[key]
        lengths = WHOLE if output in ("y", "z", "plain") else STEPS
        outputs = run(kind, units, layers, directions, weights(kind, units, layers, directions, bias), x, state, lengths)
        found[output] = flat([[outputs[t][n] for t in range(T)] for n in range(N)])
        for which, last in enumerate(lasts):
            found[last] = flat([part[which] for part in state])
    return found


def main():
    if sys.argv[1] == "write":
        save(sys.argv[2], {"x": ([N, T, C], X), "h": ([4, N, 2], H), "c": ([4, N, 2], CELLS),
                           "steps": ([N], STEPS, "I32")})
        save(sys.argv[3], {f"{key}.{name}": tensor for key, *layer in LAYERS for name, tensor in weights(*layer).items()})
        return
    found, worst = load(sys.argv[2]), 0.0
    for name, values in expected().items():
        worst = max(worst, max(abs(a - b) for a, b in zip(found[name], values, strict=True)))
    # Outputs are below 1; a few steps of float32, each with an error of some 1e-7.
    print("as defined" if worst < 2e-6 else f"off by {worst}")


if __name__ == "__main__":
    main()
