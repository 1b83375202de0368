"""Inputs for formulas.dl, and the values that the definitions of the built-ins give in float64.

usage: check_formulas.py write FILE | check OUTPUTS
"""
import math
import sys

from tensor_file import load, save

X = [[-100.0, -3.5, -1.25, -0.5, 0.25, 1.0, 4.0, 90.0], [0.5, -0.5, 2.0, -2.0, 7.0, 3.0, -6.0, 0.125]]
LABEL = [6, 3]
TARGET = [[0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0], [0.25, 0.125, 0.125, 0.0, 0.0, 0.5, 0.0, 0.0]]


def sigmoid(v):
    return 1 / (1 + math.exp(-v)) if v > -700 else 0.0


def softplus(v):
    return max(v, 0) + math.log1p(math.exp(-abs(v)))


def elu(v, alpha):
    return v if v > 0 else alpha * math.expm1(v)


def huber(d, delta):
    return 0.5 * d * d if abs(d) <= delta else delta * (abs(d) - 0.5 * delta)


def normal(values, centre=True):
    """Mean 0 and variance 1, or only the latter."""
    mean = sum(values) / len(values) if centre else 0.0
    square = sum((v - mean) ** 2 for v in values) / len(values)
    return [(v - mean) / math.sqrt(square + 1e-5) for v in values]


def response(row, channels, size, alpha, beta, k):
    """Local response norm of a sample [channels, pixels]: size // 2 channels before, the others behind."""
    pixels = len(row) // channels
    square = lambda c, p: row[c * pixels + p] ** 2 if 0 <= c < channels else 0.0
    mean = lambda c, p: sum(square(c - size // 2 + i, p) for i in range(size)) / size
    return [row[c * pixels + p] / (k + alpha * mean(c, p)) ** beta for c in range(channels) for p in range(pixels)]


def expected():
    each = {"relu6": lambda v: min(max(v, 0), 6), "leaky_relu": lambda v: v if v > 0 else 0.2 * v, "elu": lambda v: elu(v, 1.5),
            "selu": lambda v: 1.0507009873554805 * elu(v, 1.6732632423543772),
            "gelu": lambda v: 0.5 * v * (1 + math.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v ** 3))),
            "silu": lambda v: v * sigmoid(v), "hardsigmoid": lambda v: min(max(v + 3, 0), 6) / 6,
            "hardswish": lambda v: v * min(max(v + 3, 0), 6) / 6, "softplus": softplus, "cube": lambda v: v ** 3,
            "inverse": lambda v: 1 / v, "power": lambda v: (v * v + 0.5) ** 1.7, "sign": lambda v: (v > 0) - (v < 0),
            "rsqrt": lambda v: (v * v + 0.5) ** -0.5, "both": lambda v: float(-1 < v < 1), "either": lambda v: 1.0,
            "neither": lambda v: float(v >= 1), "prelu": lambda v: v if v > 0 else 0.25 * v}
    pairs = {"squares": lambda v, t: (v - t) ** 2, "binary": lambda v, t: softplus(v) - v * t, "huber": lambda v, t: huber(v - t, 0.7),
             "hinge": lambda v, t: max(0, 1 - v * t), "right": lambda v, t: float((v > 0) == (t > 0.5))}
    values = {name: [f(v) for row in X for v in row] for name, f in each.items()}
    values.update({name: [f(v, t) for row, other in zip(X, TARGET) for v, t in zip(row, other)] for name, f in pairs.items()})
    logs = []
    for row in X:
        top = max(row)
        total = top + math.log(sum(math.exp(v - top) for v in row))
        logs.append([v - total for v in row])
    values["log_softmax"] = [v for row in logs for v in row]
    values["softmax"] = [math.exp(v) for row in logs for v in row]
    values["norm"] = [math.sqrt(sum(v * v for v in row)) for row in X]
    values["argmax"] = [row.index(max(row)) for row in X]
    values["no_number_at"] = [next(i for i, v in enumerate(row) if v < -3) for row in X]
    values["chosen"] = [v if row[0] > 0 else 1.0 for row in X for v in row]
    values["tiled_twice"] = [v for row in X for half in (row[:4], row[4:]) * 2 for i in (0, 2) for v in half[i:i + 2] * 2]
    values["bytes"] = [min(max(int(100 * v), 0), 255) for row in X for v in row]
    values["wide"] = [min(max(int(1e9 * v), -2 ** 31), 2 ** 31 - 1) for row in X for v in row]
    values["no_number"] = [0] * len(X)
    values["one_hot"] = [float(i == label) for label in LABEL for i in range(8)]
    values["smoothed"] = [-0.9 * row[label] - 0.1 * sum(row) / 8 for row, label in zip(logs, LABEL)]
    values["probabilities"] = [-sum(t * v for t, v in zip(other, row)) for row, other in zip(logs, TARGET)]
    largest = lambda row: row.index(max(row))
    values["likely"] = [1.0 for row in X]
    values["unlikely"] = [float(largest(row) == largest(other)) for row, other in zip(X, TARGET)]
    values["likely3"] = [float(sum(v > row[largest(other)] for v in row) < 3) for row, other in zip(X, TARGET)]
    values["top3"] = [float(sum(v > row[label] for v in row) < 3) for row, label in zip(X, LABEL)]
    values["layer_norm"] = [1.5 * v + 0.25 for row in X for v in normal(row)]
    values["axes_norm"] = [v for row in X for v in normal(row)]
    values["rms_norm"] = [1.5 * v for row in X for v in normal(row, centre=False)]
    halves = [v for row in X for half in (row[:4], row[4:]) for v in normal(half)]
    values["group_norm"] = [1.5 * v + 0.25 for v in halves]
    values["instance_norm"] = halves
    values["shuffled"] = [row[2 * (2 * (h % 2) + w % 2) + w // 2] for row in X for h in range(2) for w in range(4)]
    values["upsampled"] = [row[4 * c + 2 * (h // 2) + w // 2] for row in X for c in range(2) for h in range(4) for w in range(4)]
    values["response"] = [v for row in X for v in response(row, 4, 3, 0.5, 0.75, 2)]
    values["wide_response"] = [v for row in X for v in response(row, 2, 4, 0.5, 1.25, 1)]
    values["widest_response"] = [v for row in X for v in response(row, 2, 9, 4, 0.75, 1)]
    each = {"exact_gelu": lambda v: v * math.erfc(-v / math.sqrt(2)) / 2, "erf": math.erf, "floor": math.floor,
            "two_to": lambda v: 2 ** min(v, 10), "clamped": lambda v: min(max(v, -1.5), 2)}
    values.update({name: [f(v) for row in X for v in row] for name, f in each.items()})
    values["to_each"] = [(v * v + 0.5) ** t for row, other in zip(X, TARGET) for v, t in zip(row, other)]
    values["product"] = [math.prod(row) for row in X]
    values["middle"] = [v for row in X for v in row[2:5]]
    values["stacked"] = [v for row, other in zip(X, TARGET) for v in row + other]
    values["padded"] = [v for row in X for v in [-0.5] + row + [-0.5, -0.5]]
    values["running"] = [sum(row[:i + 1]) for row in TARGET for i in range(8)]
    orders = [sorted(range(8), key=lambda i: (-row[i], i))[:3] for row in X]
    values["largest"] = [row[i] for row, order in zip(X, orders) for i in order]
    values["places"] = [i for order in orders for i in order]
    values["picked"] = [v for row in X for v in (row[7], row[0], row[3], 0.0)]
    to = [2, 0, 2, 0, 0, 9, 2, 1]
    values["added"] = [row[n] + sum(t for t, k in zip(other, to) if k == n) for row, other in zip(X, TARGET) for n in range(3)]
    values["row"] = [0.5 + label for label in LABEL]
    def between(row, h, w):
        """Of a picture of 2 x 4 whose corners are those of one of 4 x 8."""
        top, left = min(h / 3, 1), w * 3 / 7
        h0, w0 = int(top), int(left)
        weigh = lambda i, j: (1 - abs(top - i)) * (1 - abs(left - j)) * row[4 * min(i, 1) + min(j, 3)]
        return sum(weigh(i, j) for i in (h0, h0 + 1) for j in (w0, w0 + 1))
    values["enlarged"] = [between(row, h, w) for row in X for h in range(4) for w in range(8)]
    values["undefined"] = [1.0, 1.0]
    weights = [0.5 + c for c in range(8)]
    of_label = [-row[label] * weights[label] for row, label in zip(logs, LABEL)]
    values["weighted"] = [0.9 * own - 0.1 * sum(w * v for w, v in zip(weights, row)) / 8 for own, row in zip(of_label, logs)]
    values["weighted_mean"] = [sum(of_label) / sum(weights[label] for label in LABEL)]
    values["ignored"] = [0.0 if label == 6 else -row[label] for row, label in zip(logs, LABEL)]
    values["soft"] = [-sum(w * (0.9 * t + 0.1 / 8) * v for w, t, v in zip(weights, other, row)) for row, other in zip(logs, TARGET)]
    values["balanced"] = [w * ((1 - t) * v + (1 + t) * softplus(-v)) for row, other in zip(X, TARGET)
                          for w, v, t in zip(weights, row, other)]
    cosines = [sum(map(math.prod, zip(row, other))) / math.hypot(*row) / math.hypot(*other) for row, other in zip(X, TARGET)]
    values["cosine"] = [1 - c if label > 4 else max(0, c - 0.01) for c, label in zip(cosines, LABEL)]
    values["sorted"] = [v for row in X for v in sorted(row)]
    values["order"] = [i for row in X for i in sorted(range(8), key=lambda i: (-row[i], i))]
    values["flipped"] = [v for row in X for v in reversed(row)]
    values["tiled"] = [v for row in X for v in row + row]
    windows = [(i * 8 // 3, -(-(i + 1) * 8 // 3)) for i in range(3)]
    values["adaptive_mean"] = [sum(row[a:b]) / (b - a) for row in X for a, b in windows]
    values["adaptive_max"] = [max(row[a:b]) for row in X for a, b in windows]
    return values


def main():
    if sys.argv[1] == "write":
        return save(sys.argv[2], {"x": ([2, 8], X[0] + X[1]), "label": ([2], LABEL, "I32"), "target": ([2, 8], TARGET[0] + TARGET[1])})
    found, wanted = load(sys.argv[2]), expected()
    assert sorted(found) == sorted(wanted), sorted(found)
    for name, values in wanted.items():
        largest = max(map(abs, values)) or 1
        for i, (a, b) in enumerate(zip(found[name], values)):
            # Single precision and the CPU's polynomials: a few units in the last place of the largest, and of the element.
            limit = 4e-6 * abs(b) + 1e-6 * min(1, largest)
            assert abs(a - b) <= limit, f"{name}[{i}]: {a}, expected {b}"
    print(len(wanted), "built-ins agree")


if __name__ == "__main__":
    main()
