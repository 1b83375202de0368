"""Random programs of the language's built-ins, compiled in several ways that must agree: with all passes, with a random choice of them
left out, and with none; without gradients as results; in less memory; for several ranks; and for the simulated GPU. Losses, gradients of weights and
inputs, results and variables of three steps, evaluation and predictions behind them are compared by `dlc-run check`, within a few times
what roundings of a build's numbers cost.

usage: random_programs.py FOLDER [--first SEED] [--count N] [--simt EVERY]

Program SEED is always the same one. Prints each that disagrees or does not compile, with the commands, and exits 1.
"""
import argparse
import os
import random
import re
import subprocess
import sys

GRADIENTS = ["--weight-gradients", "--input-gradients"]
PASSES = ("dl-simplify", "dl-fold-batch-norm", "cse", "dl-sparsify-updates", "dl-narrow-variables", "dl-derive-variables", "dl-divide-concats", "dl-fuse", "dl-choose", "dl-join",
          "dl-join-product-gradients", "dl-join-reductions", "dl-join-prologues", "dl-join-updates", "dl-pack-indices", "dl-schedule", "dl-bucket-gradients", "exec-prepare-operands", "exec-plan-memory")
# Where a gradient is 0 but for roundings, what divides by its size would make a step of them: not where it is far below epsilon.
OPTIMIZERS = ("sgd(learning_rate=0.01, momentum=0.9)", "sgd(learning_rate=0.01)", "sgd(learning_rate=0.01, weight_decay=0.01)",
              "adagrad(learning_rate=0.01, initial=0.1)", "adam(epsilon=0.1)", "adam(epsilon=0.1, amsgrad=true)", "adamw(epsilon=0.1)",
              "rmsprop(epsilon=0.1)", "rmsprop(epsilon=0.1, momentum=0.9, centered=true)", "adadelta(epsilon=0.1)", "lars(learning_rate=0.01, epsilon=0.1)",
              "lamb(epsilon=0.1)", "sgd(learning_rate=0.01, momentum=0.9, nesterov=true)")
SMOOTH = ("tanh", "sigmoid", "silu", "softplus", "softsign", "erf", "gelu", 'gelu("tanh")', "elu", "selu")
EDGES = ("relu", "leaky_relu", "relu6", "hardswish", "hardsigmoid", "abs", "prelu", "clamp(-0.7, 0.9)")
# Of operands where the function, and its slope, are neither large nor undefined; steps lie where no value does by its formula.
BOUNDED = ("exp(-square(x{i}))", "log(square(x{i}) + 0.5)", "sqrt(square(x{i}) + 0.3)", "rsqrt(square(x{i}) + 0.5)", "-x{i}", "x{i} + stop_gradient(tanh(x{i}))",
           "tanh(x{i}) + floor(x{i} + 0.3713)", "x{i} * sign(x{i} + 0.0317)", "f32(tanh(f64(x{i})))", "x{i} + f32(i32(floor(x{i} + 0.3713)))",
           "x{i} + 0.5 * f32(i64(floor(x{i} + 0.3713)))", "x{i} * full(shape(x{i}), 0.7) + zeros(shape(x{i}))", "ones(shape(x{i})) - x{i}",
           "x{i} * f32(bf16(sign(x{i} + 0.0317)))", "x{i} * f32(f16(u8(bool(floor(abs(x{i}) + 0.3713)))))", "add(subtract(x{i}, 0.1), multiply(x{i}, divide(x{i}, 3)))",
           "by_phase(x{i}, 0.9 * x{i})", "2 ** tanh(x{i})", "pow(abs(tanh(x{i})) + 0.2, 1.5)")
# Losses of a tensor of the output's shape, which the classes make a target of.
LOSSES = ("mean_squared_error({y}, {t})", "mean_absolute_error({y}, {t})", "huber({y}, {t}, delta=0.7)", "kl_divergence(log_softmax({y}), softmax({t}))",
          "hinge({y}, 2 * {t} - 1)", "sigmoid_cross_entropy({y}, {t})", "sigmoid_cross_entropy({y}, {t}, positive_weight=tensor([1, 2, 0.5, 1, 3]))",
          "softmax_cross_entropy({y}, softmax({t}))", "cosine_embedding({y} + 2, {t} + 1, f32(label) - 1.5)", 'mean(huber({y}, {t}, reduction="none"))')
METRICS = ("accuracy(output, label)", "top_k_accuracy(output, label, k=2)", "binary_accuracy(output, one_hot(label, 5))", "perplexity(output, label)",
           "auroc(output, one_hot(label, 5), bins=16)", "confusion(output, label)", "accuracy(output, label, ignore=1)")
CLIPS = ("global_norm(0.5)", "parameter_norm(0.2)", "value(0.05)")
SCHEDULES = ("warmup(steps=3)", "cosine(steps=5)", "[warmup(steps=2), exponential(0.5, steps=2)]", "step(steps=2)", "polynomial(steps=4, power=2)",
             "multistep(steps=[1, 2])", "cosine_restarts(steps=2)", "one_cycle(steps=6)", "cyclic(steps=2)", "constant(steps=2)")
INITIALISERS = ("uniform(-0.3, 0.3)", "normal(0, 0.2)", "truncated_normal(0, 0.2)", "xavier_uniform()", "xavier_normal(gain=0.7)", "kaiming_uniform()",
                'kaiming_normal(mode="fan_out")', "orthogonal()")


class Program:
    """Values are x0, x1, ... of shapes that begin with the batch, held as lists behind it."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.batch = self.random.choice([1, 2, 3, 5])
        image = [self.random.choice([1, 2, 3, 4, 8, 17]), self.random.choice([1, 5, 6, 8, 11]), self.random.choice([3, 4, 7, 8, 16])]
        # Of a table of many rows few have a gradient: with some optimizers only these are updated.
        rows, self.optimizer = self.random.choice([5, 40]), self.random.choice(OPTIMIZERS)
        padding = self.random.choice(["", ", padding_index=2"])
        self.shapes, self.lines, self.used = [image, [6]], ["x0 = image", f"x1 = embedding(label, {rows}, 6{padding})"], set()
        self.ancestors = [{0}, {1}]
        for _ in range(self.random.randint(6, 16)):
            self.step()

    def add(self, text, shape, *sources):
        self.used.update(sources)
        self.ancestors.append({len(self.shapes)}.union(*(self.ancestors[i] for i in sources)))
        self.lines.append(f"x{len(self.shapes)} = {text}")
        self.shapes.append(shape)

    def pick(self, rank=None):
        """A value, one of the last rather than of the first; none of another rank."""
        numbers = [i for i, shape in enumerate(self.shapes) if rank is None or len(shape) == rank]
        return self.random.choice(numbers[-4:]) if numbers else None

    def step(self):
        kinds = [self.activation] * 3 + [self.pair] * 3 + [self.image] * 4 + [self.norm, self.axis, self.shape, self.parts, self.sequence, self.sequence,
                 self.chance, self.bounded, self.bounded, self.other_ranks, self.special]
        while True:
            before = len(self.shapes)
            self.random.choice(kinds)()
            if len(self.shapes) > before:
                return

    def activation(self):
        i = self.pick()
        op = self.random.choice(SMOOTH + EDGES)
        self.add(f"x{i} |> {op}", self.shapes[i], i)

    def bounded(self):
        i = self.pick()
        self.add(self.random.choice(BOUNDED).format(i=i), self.shapes[i], i)

    def special(self):
        i = self.pick()
        r, shape, n = self.random, self.shapes[i], len(self.shapes)
        sizes = ", ".join(map(str, shape))
        kind = r.choice(["parameter", "state", "slope", "slope", "product", "argsort", "index", "broadcast", "repeat"])
        if kind == "parameter":
            axis = r.randrange(len(shape))
            own = ", ".join(str(size) if a == axis else "1" for a, size in enumerate(shape))
            self.lines.append(f"parameter p{n}: f32[{own}] = normal(0.5, 0.2)")
            self.add(f"x{i} * p{n}", shape, i)
        elif kind == "state":
            self.lines.append(f"state s{n}: f32[N, {sizes}]")
            self.lines.append(f"s{n} = 0.5 * s{n} + 0.5 * tanh(x{i})")
            self.add(f"s{n}", shape, i)
        elif kind == "slope":
            # The label is no number that a slope could be of.
            j = r.choice([j for j in self.ancestors[i] if j != 1 or i == 1])
            self.add(f"tanh(gradient(mean(tanh(x{i})) * {8 * self.batch}, x{j}))", self.shapes[j], i, j)
        elif kind == "product":
            a = r.randrange(len(shape))
            if shape[a] <= 8:
                self.add(f"product(1 + 0.5 * tanh(x{i}), axes={a + 1}, keep=true)", shape[:a] + [1] + shape[a + 1:], i)
        elif kind == "argsort":
            # Of numbers that are drawn: where two are nearly equal their order is that of roundings.
            a = r.randrange(3)
            self.add(f"f32(argsort(x0, {a + 1})) * {1 / self.shapes[0][a]}", self.shapes[0], 0)
        elif kind == "index" and len(shape) == 1 and shape[0] <= 40:
            self.add(f"embedding(i32(floor(3.99 * sigmoid(x{i} + 0.0317))), 4, 3) * reshape(x{i}, (N, {sizes}, 1))", [*shape, 3], i)
        elif kind == "broadcast" and len(shape) == 1 and shape[0] <= 64:
            self.add(f"broadcast(reshape(x{i}, (N, 1, {sizes})), (N, 3, {sizes})) + 0.5", [3, *shape], i)
        elif kind == "repeat":
            self.lines.append(f"layer again{n} = linear(_, {shape[-1]})")
            self.add(f"tanh(again{n}(x{i})) |> again{n}", shape, i)

    def other_ranks(self):
        """Convolutions and poolings over one axis and over three."""
        r, rank = self.random, self.random.choice([1, 3])
        i = self.pick(2 if rank == 1 else 3)
        if i is None:
            return
        shape = self.shapes[i] if rank == 1 else [1, *self.shapes[i]]
        x = f"x{i}" if rank == 1 else f"reshape(x{i}, (N, {', '.join(map(str, shape))}))"
        kernel, stride, padding = r.choice([1, 2, 3]), r.choice([1, 2]), r.choice([0, 1])
        kind = r.choice(["conv", "conv", "conv_transpose", "max_pool", "average_pool", "adaptive_max_pool", "instance_norm", "batch_norm"])
        k = r.choice([1, 4, 6])
        window = f"{kernel}, stride={stride}, padding={padding}"
        if kind == "conv_transpose":
            sizes = [(n - 1) * stride - 2 * padding + kernel for n in shape[1:]]
            text = f"conv_transpose{rank}d({x}, {k}, {window})"
        elif kind == "adaptive_max_pool":
            k, sizes = shape[0], [min(2, n) for n in shape[1:]]
            text = f"adaptive_max_pool({x}, ({', '.join(map(str, sizes))},))"
        elif kind in ("instance_norm", "batch_norm"):
            count = 1
            for n in shape[1:]:
                count *= n
            k, sizes = shape[0], shape[1:]
            text = f"{kind}({x}, epsilon=0.1)"
            if count < 4:
                return
        else:
            padding = padding if kind == "conv" else min(padding, kernel // 2)
            window = f"{kernel}, stride={stride}, padding={padding}"
            k = k if kind == "conv" else shape[0]
            sizes = [(n + 2 * padding - kernel) // stride + 1 if n + 2 * padding >= kernel else 0 for n in shape[1:]]
            text = f"conv{rank}d({x}, {k}, {window})" if kind == "conv" else f"{kind}({x}, {window})"
        if min(sizes) < 1 or max(sizes) > 40:
            return
        if rank == 1:
            self.add(text, [k, *sizes], i)
        else:
            self.add(f"reshape({text}, (N, {k * sizes[0]}, {sizes[1]}, {sizes[2]}))", [k * sizes[0], *sizes[1:]], i)

    def pair(self):
        i = self.pick()
        same = [j for j, shape in enumerate(self.shapes) if shape == self.shapes[i]]
        j = self.random.choice(same)
        text = self.random.choice(["x{i} + x{j}", "x{i} - 0.5 * x{j}", "tanh(x{i}) * x{j}", "maximum(x{i}, 0.7 * x{j})", "minimum(x{i}, x{j} + 0.1)",
                                   "x{i} / (1.5 + square(x{j}))", "select(x{i} > 0.3 * x{j}, x{i}, tanh(x{j}))", "(square(x{i}) + 0.5) ** sigmoid(x{j})",
                                   "select(logical_and(x{i} > 0.1317, logical_not(x{j} > 0.6131)), x{j}, -x{i})",
                                   "select(logical_or(x{i} >= 0.1317, x{j} <= 0.0613), x{j}, 0.3 * x{i})"])
        self.add(text.format(i=i, j=j), self.shapes[i], i, j)

    def image(self):
        i = self.pick(3)
        if i is None:
            return
        r, (c, h, w) = self.random, self.shapes[i]
        kind = r.choice(["conv", "conv", "conv", "transposed", "depthwise", "max", "average", "adaptive", "adaptive_max", "upsample", "shuffle", "global", "lrn"])
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
        elif kind == "adaptive_max":
            self.add(f"adaptive_max_pool(x{i}, ({min(3, h)}, {min(2, w)}))", [c, min(3, h), min(2, w)], i)
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
            options += [f"instance_norm(x{i}, epsilon=0.1, affine=true)", f"batch_norm(x{i}, epsilon=0.1, frozen=true)"] + ([f"group_norm(x{i}, 2, epsilon=0.1)"] if shape[0] % 2 == 0 else [])
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
            init = r.choice(["", f", init={r.choice(INITIALISERS)}"])
            self.add(f"linear(x{i}, {k}{init})", shape[:-1] + [k], i)
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
            width, layers, both = self.random.choice([3, 8]), self.random.choice([1, 1, 2]), self.random.choice([True, False])
            options = self.random.choice(["", ", lengths=label", ", bias=false"]) + (", dropout=0.3" if layers == 2 else "")
            part = self.random.randrange(3)
            call = f"{kind}(x{i}, {width}, layers={layers}, bidirectional={str(both).lower()}, batch_first=true{options})"
            if part < 2:
                self.add(f"{call}[0]", [t, (1 + both) * width], i)
            else:
                self.add(f"transpose({call}[{self.random.randint(1, 2 if kind == 'lstm' else 1)}], (1, 0, 2))", [layers * (1 + both), width], i)
        elif kind == "attention" and t <= 64:
            causal = self.random.choice(["true", "false"])
            added = f"reshape(tanh(x{i} @ transpose(tanh(x{i}), (0, 2, 1))), (N, 1, {t}, {t}))"
            seen = self.random.choice(["", "", f", mask={added}", f", mask={added} < 0.9131", ", dropout=0.2"])
            self.add(f"reshape(attention(reshape(x{i}, (N, 1, {t}, {c})), tanh(reshape(x{i}, (N, 1, {t}, {c}))), reshape(x{i}, (N, 1, {t}, {c})), causal={causal}{seen}), "
                     f"(N, {t}, {c}))", [t, c], i)
        elif kind == "matmul" and t <= 64:
            turned = f"transpose(tanh(x{i}), (0, 2, 1))"
            product = self.random.choice([f"(x{i} @ {turned})", f"matmul(x{i}, {turned})"])
            self.add(f"{product} * {1 / c}", [t, t], i)

    def chance(self):
        i = self.pick()
        text = self.random.choice(["dropout(x{i}, 0.3)", "x{i} + 0.1 * random_normal(shape(x{i}))", "x{i} * random_uniform(shape(x{i}))",
                                   "x{i} * random_bernoulli(shape(x{i}), 0.7)"])
        self.add(text.format(i=i), self.shapes[i], i)

    def text(self):
        """The loss weighs all that nothing else uses, so that all of it has a gradient."""
        leaves = [i for i in range(len(self.shapes)) if i not in self.used]
        c, h, w = self.shapes[0]
        body = "\n  ".join(self.lines)
        ends = ", ".join(f"tanh(reshape(x{i}, (N, -1)))" for i in leaves)
        r = self.random
        options = r.choice(["", "", ", label_smoothing=0.1", ", ignore=1", ", weight=tensor([1, 2, 0.5, 1, 3])"])
        losses = [f"softmax_cross_entropy(output, label{options})"]
        # Means over weighted samples and means over samples do not add up over ranks.
        if r.random() < 0.5 and "ignore" not in options and ", weight" not in options:
            losses.append("0.5 * " + r.choice(LOSSES).format(y="output", t="one_hot(label, 5)"))
        settings = [f"metric m{k} = {metric}" for k, metric in enumerate(METRICS) if r.random() < 0.15]
        settings += [f"clip = {r.choice(CLIPS)}"] if r.random() < 0.2 else []
        settings += [f"schedule = {r.choice(SCHEDULES)}"] if r.random() < 0.2 else []
        settings += ["ema = 0.9"] if r.random() < 0.1 else []
        settings += ["accumulate = 2"] if r.random() < 0.1 else []
        lines = "".join(f"\n  {line}" for line in settings)
        return f"""model Drawn(image: f32[N, {c}, {h}, {w}], label: i32[N]) -> f32[N, 5] {{
  {body}
  return concat([{ends}], axis=1) |> linear(5)
}}

train Drawn {{
  loss = {" + ".join(losses)}
  optimizer = {self.optimizer}
  batch = {self.batch}{lines}
}}
"""


def run(*command):
    return subprocess.run(command, capture_output=True, text=True)


def least_budget(source, flags):
    """The bytes that the compiler says an entry needs at least, where that is enough for all of them."""
    budget = 1
    while True:
        made = run("dlc", source, "-o", os.devnull, *flags, f"--memory-budget={budget}")
        needed = [int(number) for number in re.findall(r"found to need is (\d+) bytes", made.stderr)]
        if made.returncode == 0 or max(needed, default=0) <= budget:
            return budget
        budget = max(needed)


def builds(source, seed, simt):
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
    flags = draw.choice([GRADIENTS, []])
    if draw.random() < 0.3:
        yield "cheap", [*flags, "--rematerialize=cheap"], []
    else:
        yield "budget", [*flags, f"--memory-budget={least_budget(source, flags)}"], []


def check(folder, seed, simt):
    """What went wrong with a program; none if nothing did."""
    source, first = f"{folder}/{seed}.dl", f"{folder}/{seed}.all.so"
    with open(source, "w") as file:
        file.write(Program(seed).text())
    made = run("dlc", source, "-o", first, *GRADIENTS)
    if made.returncode != 0:
        return f"dlc {source}: {made.stderr}"
    for name, flags, options in builds(source, seed, simt):
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
