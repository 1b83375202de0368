"""Batch norm by its definition, in float64: output and running statistics of a training step, output of inference after it.

usage: check_batch_norm.py write FILE | checkpoint STEP FILE | check STEP INFER
"""
import sys

from tensor_file import load, save

X = [[[1.0, 2.0, 3.5], [-100.0, -101.0, -99.5]], [[-2.0, 0.5, 4.0], [-100.5, -98.0, -103.0]]]
RATE, EPSILON = 0.5, 1e-5


# The second channel lies near -100: its mean is known to 100 * 2^-24 = 6e-6, which the gradient of scale multiplies by x.
ROUNDING, GRADIENT_ROUNDING = 2e-5, 3e-4


def close(name, found, wanted, limit=ROUNDING):
    for a, b in zip(found, wanted, strict=True):
        assert abs(a - b) <= limit * max(1, abs(b)), f"{name}: {list(found)}, expected {wanted}"


def main():
    if sys.argv[1] == "write":
        return save(sys.argv[2], {"x": ([2, 2, 3], [v for sample in X for row in sample for v in row])})
    if sys.argv[1] == "checkpoint":
        return save(sys.argv[3], {name: ([len(each)], each) for name, each in load(sys.argv[2]).items() if name.startswith("bn1.")})
    step, infer = load(sys.argv[2]), load(sys.argv[3])
    normal, means, variances = [], [], []
    for channel in range(2):
        values = [v for sample in X for v in sample[channel]]
        means.append(sum(values) / 6)
        variances.append(sum((v - means[-1]) ** 2 for v in values) / 6)
        normal.append([(v - means[-1]) * (variances[-1] + EPSILON) ** -0.5 for v in values])
    in_order = [normal[c][3 * n + i] for n in range(2) for c in range(2) for i in range(3)]
    close("output", step["output"], in_order)
    running_mean = [0.1 * m for m in means]
    running_variance = [0.9 + 0.1 * v * 6 / 5 for v in variances]
    close("running_mean", step["bn1.running_mean"], running_mean)
    close("running_var", step["bn1.running_var"], running_variance)
    # d loss / d scale and bias, by hand; then the running statistics at work.
    scale = [1 - RATE * sum(n * v for n, v in zip(normal[c], [v for s in X for v in s[c]])) / 12 for c in range(2)]
    bias = [0 - RATE * sum(v for s in X for v in s[c]) / 12 for c in range(2)]
    close("weight", step["bn1.weight"], scale, GRADIENT_ROUNDING)
    close("bias", step["bn1.bias"], bias, GRADIENT_ROUNDING)
    wanted = [(v - running_mean[c]) * (running_variance[c] + EPSILON) ** -0.5 * scale[c] + bias[c]
              for sample in X for c in range(2) for v in sample[c]]
    close("inference", infer["output"], wanted, GRADIENT_ROUNDING)
    print("batch norm agrees")


if __name__ == "__main__":
    main()
