"""Random programs of the language's built-ins, compiled in several ways that must agree: with all passes, with a random choice of them
left out, and with none; without gradients as results; for several ranks; and for the simulated GPU. Losses, gradients of weights and
inputs, results and variables of three steps, evaluation and predictions behind them are compared by `dlc-run check`, within a few times
what roundings of the first build's numbers cost.

usage: random_programs.py FOLDER [--first SEED] [--count N] [--simt EVERY]

Program SEED is always the same one. Prints each that disagrees or does not compile, with the commands, and exits 1.
"""
import argparse
import os
import random
import subprocess
import sys

GRADIENTS = ["--weight-gradients", "--input-gradients"]
PASSES = ("dl-simplify", "dl-fold-batch-norm", "cse", "dl-sparsify-updates", "dl-derive-variables", "dl-divide-concats", "dl-fuse", "dl-fuse-product-gradients", "dl-choose",
          "dl-schedule", "dl-bucket-gradients", "exec-prepare-operands", "exec-plan-memory")
OPTIMIZERS = ("sgd(learning_rate=0.01, momentum=0.9)", "sgd(learning_rate=0.01)", "sgd(learning_rate=0.01, weight_decay=0.01)", "adagrad(learning_rate=0.01, initial=0.1)")
SMOOTH = ("tanh", "sigmoid", "silu", "softplus", "softsign", "erf", "gelu", 'gelu("tanh")', "elu", "selu")
EDGES = ("relu", "leaky_relu", "relu6", "hardswish", "hardsigmoid", "abs", "prelu", "clamp(-0.7, 0.9)")


class Program:
    """Values are x0, x1, ... of shapes that begin with the batch, held as lists behind it."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.batch = self.random.choice([1, 2, 3, 5])
        image = [self.random.choice([1, 2, 3, 4, 8, 17]), self.random.choice([1, 5, 6, 8, 11]), self.random.choice([3, 4, 7, 8, 16])]
        # Of a table of many rows few have a gradient: with some optimizers only these are updated.
        rows, self.optimizer = self.random.choice([5, 40]), self.random.choice(OPTIMIZERS)
        self.shapes, self.lines, self.used = [image, [6]], ["x0 = image", f"x1 = embedding(label, {rows}, 6)"], set()
        for _ in range(self.random.randint(6, 16)):
            self.step()

    def add(self, text, shape, *sources):
        self.used.update(sources)
        self.lines.append(f"x{len(self.shapes)} = {text}")
        self.shapes.append(shape)

    def pick(self, rank=None):
        """A value, one of the last rather than of the first; none of another rank."""
        numbers = [i for i, shape in enumerate(self.shapes) if rank is None or len(shape) == rank]
        return self.random.choice(numbers[-4:]) if numbers else None

    def step(self):
        kinds = [self.activation] * 3 + [self.pair] * 3 + [self.image] * 4 + [self.norm, self.axis, self.shape, self.parts, self.sequence, self.sequence, self.chance]
        while True:
            before = len(self.shapes)
            self.random.choice(kinds)()
            if len(self.shapes) > before:
                return

    def activation(self):
        i = self.pick()
        op = self.random.choice(SMOOTH + EDGES)
        self.add(f"x{i} |> {op}", self.shapes[i], i)

    def pair(self):
        i = self.pick()
        same = [j for j, shape in enumerate(self.shapes) if shape == self.shapes[i]]
        j = self.random.choice(same)
        text = self.random.choice(["x{i} + x{j}", "x{i} - 0.5 * x{j}", "tanh(x{i}) * x{j}", "maximum(x{i}, 0.7 * x{j})", "minimum(x{i}, x{j} + 0.1)",
                                   "x{i} / (1.5 + square(x{j}))", "select(x{i} > 0.3 * x{j}, x{i}, tanh(x{j}))", "(square(x{i}) + 0.5) ** sigmoid(x{j})"])
        self.add(text.format(i=i, j=j), self.shapes[i], i, j)

    def image(self):
        i = self.pick(3)
        if i is None:
            return
        r, (c, h, w) = self.random, self.shapes[i]
        kind = r.choice(["conv", "conv", "conv", "transposed", "depthwise", "max", "average", "adaptive", "upsample", "shuffle", "global", "lrn"])
        kernel, stride, padding = r.choice([1, 2, 3, 5]), r.choice([1, 1, 2, 3]), r.choice([0, 1, 2])
        padding = min(padding, kernel // 2) if kind in ("max", "average") else padding
        size = [(n + 2 * padding - kernel) // stride + 1 for n in (h, w)]
        fits = min(h, w) + 2 * padding >= kernel
        window = f"{kernel}, stride={stride}, padding={padding}"
        if kind == "conv" and fits:
            k = r.choice([1, 3, 8, 16, 20])
            self.add(f"conv2d(x{i}, {k}, {window}, bias={r.choice(['true', 'false'])})", [k, *size], i)
        elif kind == "depthwise" and fits:
            self.add(f"conv2d(x{i}, {c}, {window}, groups={c})", [c, *size], i)
        elif kind == "transposed" and kernel > 2 * padding:
            k = r.choice([2, 5, 8])
            larger = [(n - 1) * stride - 2 * padding + kernel for n in (h, w)]
            if min(larger) > 0 and max(larger) <= 40:
                self.add(f"conv_transpose2d(x{i}, {k}, {window})", [k, *larger], i)
        elif kind in ("max", "average") and fits:
            self.add(f"{kind}_pool(x{i}, {window})", [c, *size], i)
        elif kind == "adaptive":
            self.add(f"adaptive_average_pool(x{i}, {min(2, h, w)})", [c, min(2, h, w), min(2, h, w)], i)
        elif kind == "upsample" and max(h, w) <= 16:
            mode = r.choice(["nearest", "bilinear"])
            self.add(f'upsample(x{i}, 2, mode="{mode}")', [c, 2 * h, 2 * w], i)
        elif kind == "shuffle" and c % 4 == 0:
            self.add(f"pixel_shuffle(x{i}, 2)", [c // 4, 2 * h, 2 * w], i)
        elif kind == "global":
            self.add(f"global_{r.choice(['average', 'max'])}_pool(x{i})", [c, 1, 1], i)
        elif kind == "lrn":
            self.add(f"local_response_norm(x{i}, {min(c, 3)}, alpha=0.3)", [c, h, w], i)

    def norm(self):
        i = self.pick()
        shape = self.shapes[i]
        samples = self.batch
        for n in shape[1:]:
            samples *= n
        # A deviation of few values is dominated by roundings.
        options = [f"batch_norm(x{i}, epsilon=0.1)"] if samples >= 4 else []
        if shape[-1] >= 4:
            options += [f"layer_norm(x{i}, epsilon=0.1)", f"rms_norm(x{i}, epsilon=0.1)"]
        if len(shape) == 3 and shape[1] * shape[2] >= 4:
            options += [f"instance_norm(x{i}, epsilon=0.1)"] + ([f"group_norm(x{i}, 2, epsilon=0.1)"] if shape[0] % 2 == 0 else [])
        if options:
            self.add(self.random.choice(options), shape, i)

    def axis(self):
        i = self.pick()
        r, shape = self.random, self.shapes[i]
        a = r.randrange(len(shape))
        kind = r.choice(["softmax", "log_softmax", "cumulative_sum", "sum", "mean", "max", "min", "norm", "sort", "flip", "top_k", "argmax"])
        dropped = shape[:a] + [1] + shape[a + 1:]
        if kind in ("softmax", "log_softmax"):
            self.add(f"{kind}(x{i}, {a + 1})", shape, i)
        elif kind == "cumulative_sum":
            self.add(f"cumulative_sum(x{i}, {a + 1}) * {1 / shape[a]}", shape, i)
        elif kind in ("sum", "mean", "max", "min"):
            scale = f" * {1 / shape[a]}" if kind == "sum" else ""
            self.add(f"{kind}(x{i}, axes={a + 1}, keep=true){scale}", dropped, i)
        elif kind == "norm":
            # A root near 0 is steep.
            self.add(f"norm(square(x{i}) + 0.1, axes={a + 1}, keep=true)", dropped, i)
        elif kind == "sort":
            self.add(f"sort(x{i}, {a + 1}{r.choice(['', ', descending=true'])})[0]", shape, i)
        elif kind == "flip":
            self.add(f"flip(x{i}, {a + 1})", shape, i)
        elif kind == "top_k":
            k = r.randint(1, min(3, shape[-1]))
            self.add(f"top_k(x{i}, {k})[0]", shape[:-1] + [k], i)
        elif kind == "argmax" and len(shape) == 1:
            self.add(f"one_hot(argmax(x{i}, 1), {shape[0]}) + x{i}", shape, i)

    def shape(self):
        i = self.pick()
        r, shape = self.random, self.shapes[i]
        kind = r.choice(["flatten", "transpose", "linear", "reshape"])
        if kind == "flatten" and len(shape) > 1:
            total = 1
            for n in shape:
                total *= n
            self.add(f"flatten(x{i})", [total], i)
        elif kind == "transpose" and len(shape) > 1:
            order = r.sample(range(len(shape)), len(shape))
            self.add(f"transpose(x{i}, (0, {', '.join(str(a + 1) for a in order)}))", [shape[a] for a in order], i)
        elif kind == "linear":
            k = r.choice([1, 7, 16, 33])
            self.add(f"linear(x{i}, {k})", shape[:-1] + [k], i)
        elif kind == "reshape" and len(shape) == 1 and shape[0] % 2 == 0 and shape[0] <= 4096:
            self.add(f"reshape(x{i}, (N, 2, {shape[0] // 2}))", [2, shape[0] // 2], i)

    def parts(self):
        i = self.pick()
        r, shape = self.random, self.shapes[i]
        a = r.randrange(len(shape))
        n = shape[a]
        kind = r.choice(["concat", "stack", "split", "slice", "strided", "pad", "tile", "gather", "scatter"])
        index = ", ".join(":" for _ in range(a + 1))

        def sized(size):
            return shape[:a] + [size] + shape[a + 1:]

        if kind == "concat" and n <= 20:
            same = [j for j, other in enumerate(self.shapes) if len(other) == len(shape) and other[:a] + other[a + 1:] == shape[:a] + shape[a + 1:]]
            j = r.choice(same)
            self.add(f"concat([x{i}, x{j}], axis={a + 1})", sized(n + self.shapes[j][a]), i, j)
        elif kind == "stack" and len(shape) < 3:
            self.add(f"stack([x{i}, 0.5 * x{i}], axis=1)", [2, *shape], i)
        elif kind == "split" and n >= 2:
            cut = r.randint(1, n - 1)
            self.add(f"split(x{i}, [{cut}, {n - cut}], axis={a + 1})[1]", sized(n - cut), i)
        elif kind == "slice" and n >= 2:
            begin = r.randint(0, n - 1)
            self.add(f"x{i}[{index}, {begin}:{n}]", sized(n - begin), i)
        elif kind == "strided":
            self.add(f"x{i}[{index}, ::2]", sized((n + 1) // 2), i)
        elif kind == "pad" and n <= 20:
            before, behind = r.randint(0, 2), r.randint(0, 2)
            sides = ["(0, 0)"] * (len(shape) + 1)
            sides[a + 1] = f"({before}, {behind})"
            self.add(f"pad(x{i}, ({', '.join(sides)}), value={r.choice([0, 0.25])})", sized(n + before + behind), i)
        elif kind == "tile" and n <= 10:
            counts = ["1"] * (len(shape) + 1)
            counts[a + 1] = "2"
            self.add(f"tile(x{i}, ({', '.join(counts)}))", sized(2 * n), i)
        elif kind == "gather":
            numbers = [r.randrange(n) for _ in range(3)]
            self.add(f"gather(x{i}, tensor({numbers}, dtype=i32), axis={a + 1})", sized(3), i)
        elif kind == "scatter" and n <= 64:
            numbers = [r.randrange(n) for _ in range(n)]
            self.add(f"scatter_add(x{i}, tensor({numbers}, dtype=i32), 0.5 * tanh(x{i}), axis={a + 1})", shape, i)

    def sequence(self):
        i = self.pick(2)
        if i is None:
            i = self.pick()
            total = 1
            for n in self.shapes[i]:
                total *= n
            steps = next(n for n in (6, 5, 4, 3, 2, 1) if total % n == 0)
            self.add(f"reshape(x{i}, (N, {steps}, {total // steps}))", [steps, total // steps], i)
            i = len(self.shapes) - 1
        t, c = self.shapes[i]
        kind = self.random.choice(["lstm", "gru", "attention", "matmul"])
        if kind in ("lstm", "gru") and t <= 12:
            width = self.random.choice([3, 8])
            self.add(f"{kind}(x{i}, {width}, batch_first=true)[0]", [t, width], i)
        elif kind == "attention" and t <= 64:
            causal = self.random.choice(["true", "false"])
            self.add(f"reshape(attention(reshape(x{i}, (N, 1, {t}, {c})), tanh(reshape(x{i}, (N, 1, {t}, {c}))), reshape(x{i}, (N, 1, {t}, {c})), causal={causal}), "
                     f"(N, {t}, {c}))", [t, c], i)
        elif kind == "matmul" and t <= 64:
            self.add(f"(x{i} @ transpose(tanh(x{i}), (0, 2, 1))) * {1 / c}", [t, t], i)

    def chance(self):
        i = self.pick()
        text = self.random.choice(["dropout(x{i}, 0.3)", "x{i} + 0.1 * random_normal(shape(x{i}))", "x{i} * random_uniform(shape(x{i}))"])
        self.add(text.format(i=i), self.shapes[i], i)

    def text(self):
        """The loss weighs all that nothing else uses, so that all of it has a gradient."""
        leaves = [i for i in range(len(self.shapes)) if i not in self.used]
        c, h, w = self.shapes[0]
        body = "\n  ".join(self.lines)
        ends = ", ".join(f"tanh(reshape(x{i}, (N, -1)))" for i in leaves)
        return f"""model Drawn(image: f32[N, {c}, {h}, {w}], label: i32[N]) -> f32[N, 5] {{
  {body}
  return concat([{ends}], axis=1) |> linear(5)
}}

train Drawn {{
  loss = softmax_cross_entropy(output, label)
  optimizer = {self.optimizer}
  batch = {self.batch}
}}
"""


def run(*command):
    return subprocess.run(command, capture_output=True, text=True)


def builds(seed, simt):
    """Names of builds, the flags of each, and those of the check."""
    draw = random.Random(seed)

    def some():
        return [f"--disable-pass={p}" for p in PASSES if draw.random() < 0.5]

    # Without gradients as results, so that updates are free to take them in another form.
    yield "plain", [], []
    yield "some", [*GRADIENTS, *some()], []
    yield "none", [*GRADIENTS, *(f"--disable-pass={p}" for p in PASSES)], []
    yield "ranks", [*GRADIENTS, "--data-parallel", f"--bucket-size={draw.choice([256, 4096])}", *some()], []
    if simt:
        flags = draw.choice([GRADIENTS, []]) + (some() if draw.random() < 0.5 else [])
        yield "simt", ["--target=cuda:simt", *flags], ["--device-b", "simt", "--simt-seed", str(seed % 100 + 1)]


def check(folder, seed, simt):
    """What went wrong with a program; none if nothing did."""
    source, first = f"{folder}/{seed}.dl", f"{folder}/{seed}.all.so"
    with open(source, "w") as file:
        file.write(Program(seed).text())
    made = run("dlc", source, "-o", first, *GRADIENTS)
    if made.returncode != 0:
        return f"dlc {source}: {made.stderr}"
    for name, flags, options in builds(seed, simt):
        other = f"{folder}/{seed}.{name}.so"
        command = ["dlc", source, "-o", other, *flags]
        made = run(*command)
        if made.returncode != 0:
            return f"{' '.join(command)}: {made.stderr}"
        command = ["dlc-run", "check", "--uses", first, other, *options]
        compared = run(*command)
        if compared.returncode != 0:
            return f"{' '.join(command)}: {compared.stderr}{compared.stdout[-2000:]}"
        os.remove(other)
    os.remove(first)
    os.remove(source)
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--simt", type=int, default=0, help="also on the simulated GPU, each so many programs")
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    failed = 0
    for seed in range(options.first, options.first + options.count):
        said = check(options.folder, seed, options.simt and seed % options.simt == 0)
        if said:
            failed += 1
            print(f"program {seed}: {said}", flush=True)
    print(f"{options.count} programs, {failed} failed")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
