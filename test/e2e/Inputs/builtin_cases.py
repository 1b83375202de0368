"""Built-ins of the language with their attributes, crossed with classes of shapes: for each built-in a function that makes one call of it.

A class says what size one axis of an operand has; the others are small and odd. In the cases of a built-in and a class each value of each
attribute occurs, which the function asks `draw` for by name.
"""
import math
import random

from random_programs import BOUNDED, LOSSES

SIZES = {"one": (1,), "odd": (3, 5, 7, 9), "prime": (11, 13, 17, 23), "vector": (16, 32), "tile": (67, 100, 130), "zero": (0,)}
SMALL, MOST = (2, 3, 5), 600


class Draw:
    """Attributes and shapes of one case. Attribute NAME takes its values in turn over the cases of a built-in and a class."""

    def __init__(self, builtin, name, turn, seed):
        self.name, self.turn, self.key = name, turn, f"{seed} {builtin} {name}"
        self.random = random.Random(f"{self.key} {turn}")
        self.taken, self.asked = {}, {}

    def __call__(self, attribute, values):
        values = list(values)
        self.asked[attribute] = len(values)
        turn, place = divmod(self.turn, len(values))
        random.Random(f"{self.key} {attribute} {turn}").shuffle(values)
        value = values[place]
        self.taken[attribute] = value
        return value

    def size(self):
        return self.random.choice(SIZES[self.name])

    def shape(self, rank, least=0):
        """Axes behind the batch: one of the class, the others small; of the class "one" all are 1."""
        if self.name == "one":
            return [1] * rank
        shape = [self.random.choice(SMALL) for _ in range(rank)]
        if rank:
            axis = least + self.turn % (rank - least)
            shape[axis] = self.size()
            for other in range(rank):
                # The interpreter takes its time.
                if other != axis and math.prod(shape) > MOST:
                    shape[other] = 2
        return shape


class Case:
    """A call `text` of inputs {a}, {b}, ... that makes a tensor of a shape; shapes leave out the batch, where `whole` is false."""

    def __init__(self, text, shape, *inputs, lines="", dtype="f32", whole=False, slope=True, limit=1.0):
        self.text, self.shape, self.inputs, self.lines, self.dtype, self.whole = text, shape, inputs, lines, dtype, whole
        # Without a slope: counts, places, truth values, and what is drawn alone.
        self.slope = slope and dtype == "f32"
        self.limit = limit


class Input:
    """Numbers spread evenly over low to high, or whole numbers from low to high - 1."""

    def __init__(self, shape, low=-1.2, high=2.0, dtype="f32", whole=False):
        self.shape, self.low, self.high, self.dtype, self.whole = shape, low, high, dtype, whole


def classes(shape, count, low=0):
    return Input(shape, low, count, "i32")


def text_of(shape):
    return f"({', '.join(['N', *map(str, shape)])},)"


def called(call, *arguments, **options):
    """The call as it is written; an option that is None is left out."""
    def written(value):
        if isinstance(value, bool):
            return str(value).lower()
        return f"({', '.join(map(written, value))},)" if isinstance(value, tuple) else str(value)
    return f"{call}({', '.join([*map(written, arguments), *(f'{k}={written(v)}' for k, v in options.items() if v is not None)])})"


# --- element by element ---

# The calls, and the range of numbers. What is stopped is a step, as differences do not stop there.
UNARY = {
    "relu": (["relu({a})"], -2, 2), "relu6": (["relu6({a})"], -8, 9), "leaky_relu": (["leaky_relu({a})", "leaky_relu({a}, 0.3)"], -2, 2),
    "elu": (["elu({a})", "elu({a}, alpha=0.5)"], -2, 2), "selu": (["selu({a})"], -2, 2),
    "gelu": (["gelu({a})", 'gelu({a}, approximate="tanh")'], -3, 3), "silu": (["silu({a})"], -4, 4),
    "hardswish": (["hardswish({a})"], -5, 5), "hardsigmoid": (["hardsigmoid({a})"], -5, 5), "softplus": (["softplus({a})"], -4, 4),
    "softsign": (["softsign({a})"], -4, 4), "sigmoid": (["sigmoid({a})"], -4, 4), "tanh": (["tanh({a})"], -3, 3), "exp": (["exp({a})"], -3, 2),
    "log": (["log({a})"], 0.2, 4), "sqrt": (["sqrt({a})"], 0.2, 4), "rsqrt": (["rsqrt({a})"], 0.2, 4), "abs": (["abs({a})"], -2, 2),
    "sign": (["sign({a})"], -2, 2), "floor": (["floor({a})"], -2, 2), "square": (["square({a})"], -2, 2), "erf": (["erf({a})"], -2, 2),
    "clamp": (["clamp({a}, -0.7, 0.9)", "clamp({a}, low=-0.7 + 0 * {a}, high=0.9)"], -2, 2),
    "stop_gradient": (["{a} * stop_gradient(floor({a}))"], -2, 2), "by_phase": (["by_phase({a}, 0.9 * {a})"], -2, 2),
    "f32": (["f32({a})", "f32(f64({a}) * 3)"], -2, 2), "f64": (["f32(exp(f64({a})))"], -2, 2), "i32": (["f32(i32({a} * 4)) * {a}"], -2, 2),
    "i64": (["f32(i64({a} * 4)) * {a}"], -2, 2), "u8": (["f32(u8({a} * 100)) * {a}"], 0, 2), "bool": (["f32(bool(floor({a}))) * {a}"], 0, 2),
    "f16": (["f32(f16(floor({a} * 8))) * {a}"], -2, 2), "bf16": (["f32(bf16(floor({a} * 8))) * {a}"], -2, 2),
    "logical_not": (["select(logical_not({a} > 0.31), {a}, 0.5)"], -2, 2),
    "gradient": (["gradient(sum(square({a}) * tanh({a})), {a})"], -2, 2),
    "zeros": (["{a} + zeros(shape({a}))"], -2, 2), "ones": (["{a} - ones(shape({a}))"], -2, 2),
    "full": (["{a} * full(shape({a}), 0.7)"], -2, 2), "dropout": (["dropout({a})", "dropout({a}, 0.1)", "dropout({a}, 0)"], -2, 2),
    "random_normal": (["{a} * random_normal(shape({a}))", "{a} + random_normal(shape({a}), mean=1, std=0.5)"], -2, 2),
    "random_uniform": (["{a} * random_uniform(shape({a}))", "{a} + random_uniform(shape({a}), low=-1, high=0.5)"], -2, 2),
    "random_bernoulli": (["{a} * random_bernoulli(shape({a}), 0.7)", "{a} * random_bernoulli(shape({a}), p=0)"], -2, 2),
    "drawn": ([text.replace("x{i}", "{a}") for text in BOUNDED if "stop_gradient" not in text], -2, 2),
}
# Both numbers of the same range, which none is equal in.
BINARY = {
    "add": ["add({a}, {b})", "{a} + {b}"], "subtract": ["subtract({a}, {b})", "{a} - {b}"], "multiply": ["multiply({a}, {b})", "{a} * {b}"],
    "divide": ["divide({a}, 3 + {b})", "{a} / (3 + {b})"], "maximum": ["maximum({a}, {b})"], "minimum": ["minimum({a}, {b})"],
    "pow": ["pow(3 + {a}, {b})", "(3 + {a}) ** {b}", "{a} ** 3 + {b}", "{a} ** 2 * {b} ** -1", "2 ** {a} + {b}"],
    "select": ["select({a} > {b}, square({a}), {b})", "select({a} <= {b}, {a}, 0.5)"],
    "logical_and": ["select(logical_and({a} > 0.31, {b} < 0.57), {a}, {b})"], "logical_or": ["select(logical_or({a} >= 0.31, {b} <= 0.57), {a}, {b})"],
}


def unary(name):
    texts, low, high = UNARY[name]

    def make(draw):
        shape = draw.shape(draw("rank", (1, 2, 3, 4)))
        text = draw("text", texts)
        # Nothing flows through steps, and a draw is of the type that it is asked for.
        slope = name not in ("sign", "floor")
        return Case(text, shape, Input(shape, low, high), slope=slope)
    return make


def binary(name):
    def make(draw):
        shape, text = draw.shape(draw("rank", (1, 2, 3, 4, 5))), draw("text", BINARY[name])
        kind = draw("broadcast", ("none", "axis", "all"))
        other = list(shape)
        if kind == "axis":
            other[draw.random.randrange(len(other))] = 1
        elif kind == "all":
            other = [1] * len(shape)
        return Case(text, shape, Input(shape), Input(other))
    return make


# --- tensors ---

def reduction(name):
    def make(draw):
        shape = draw.shape(draw("rank", (1, 2, 3, 4)))
        rank, keep = len(shape), draw("keep", (False, True))
        kind = draw("axes", ("one", "two", "last", "all", "batch"))
        axes = {"one": [1 + draw.random.randrange(rank)], "two": sorted(draw.random.sample(range(1, rank + 1), min(2, rank))), "last": [rank],
                "batch": [0]}.get(kind)
        full = ["N", *shape]
        kept = [1 if axes is None or i in axes else size for i, size in enumerate(full)]
        result = kept if keep else [size for i, size in enumerate(full) if axes is not None and i not in axes]
        low, high = {"product": (0.6, 1.5), "norm": (0.5, 2)}.get(name, (-1.2, 2))
        asked = None if axes is None else f"-1" if kind == "last" else axes[0] if len(axes) == 1 else tuple(axes)
        # A product of some hundred numbers has as many roundings, and adds up none.
        return Case(called(name, "{a}", axes=asked, keep=keep), result, Input(shape, low, high), whole=True, limit=4 if name == "product" else 1)
    return make


def along(name):
    """Functions along an axis that keep the shape."""
    def make(draw):
        shape = draw.shape(draw("rank", (1, 2, 3, 4)))
        axis = draw("axis", ("first", "last"))
        number = 1 + draw.random.randrange(len(shape)) if axis == "first" else -1
        values = dict(softmax=(-3, 3), log_softmax=(-3, 3)).get(name, (-2, 2))
        if name == "sort":
            part, descending = draw("part", (0, 1)), draw("descending", (None, True))
            return Case(called(name, "{a}", number, descending=descending) + f"[{part}]", shape, Input(shape), dtype=("f32", "i32")[part])
        if name == "argsort":
            return Case(called(name, "{a}", number, descending=draw("descending", (None, True))), shape, Input(shape), dtype="i32")
        if name == "argmax":
            number = draw("place", (1, len(shape)))
            return Case(called(name, "{a}", number), shape[:number - 1] + shape[number:], Input(shape), dtype="i32")
        return Case(called(name, "{a}", number), shape, Input(shape, *values))
    return make


def top_k(draw):
    shape = draw.shape(draw("rank", (1, 2, 3)))
    k, part = draw("k", (1, min(3, shape[-1]), shape[-1] if shape[-1] < 10 else 5)), draw("part", (0, 1))
    return Case(f"top_k({{a}}, {k})[{part}]", shape[:-1] + [k], Input(shape), dtype=("f32", "i32")[part])


def reshape(draw):
    shape = draw.shape(draw("rank", (2, 3)))
    to = draw("shape", ("flat", "split", "turned"))
    if to == "flat":
        result = [math.prod(shape)]
        return Case("reshape({a}, (N, -1))" if result[0] else f"reshape({{a}}, {text_of(result)})", result, Input(shape))
    result = [1, *shape] if to == "split" else shape[::-1]
    return Case(f"reshape({{a}}, {text_of(result)})", result, Input(shape))


def flatten(draw):
    shape, start = draw.shape(3), draw("start", (None, 2, 3))
    at = (start or 1) - 1
    return Case(called("flatten", "{a}", start=start), shape[:at] + [math.prod(shape[at:])], Input(shape))


def transpose(draw):
    shape = draw.shape(draw("rank", (1, 2, 3, 4)))
    order = draw.random.sample(range(len(shape)), len(shape))
    if draw("batch", ("first", "last")) == "first":
        return Case(called("transpose", "{a}", (0, *(i + 1 for i in order))), [shape[i] for i in order], Input(shape))
    return Case(called("transpose", "{a}", (*(i + 1 for i in order), 0)), [*(shape[i] for i in order), "N"], Input(shape), whole=True)


def broadcast(draw):
    shape = draw.shape(draw("rank", (1, 2, 3)))
    own = list(shape)
    axis = draw.random.randrange(len(shape))
    if draw("kind", ("axis", "none")) == "axis":
        own[axis] = 1
    return Case(f"broadcast({{a}}, {text_of(shape)})", shape, Input(own))


def concat(draw):
    shape = draw.shape(draw("rank", (1, 2, 3)))
    axis, count = draw.random.randrange(len(shape)), draw("count", (1, 2, 3))
    names, inputs = "abc"[:count], []
    for i in range(count):
        inputs.append(Input(shape[:axis] + [shape[axis] if i == 0 else draw.random.choice(SMALL)] + shape[axis + 1:]))
    parts = ", ".join(f"{{{name}}}" for name in names)
    given = draw("axis", ("given", "default"))
    if given == "default" and axis == 0:
        return Case(f"concat([{parts}])", [sum(i.shape[0] for i in inputs), *shape[1:]], *inputs)
    return Case(f"concat([{parts}], axis={axis + 1})", shape[:axis] + [sum(i.shape[axis] for i in inputs)] + shape[axis + 1:], *inputs)


def stack(draw):
    shape = draw.shape(draw("rank", (1, 2, 3)))
    axis = draw.random.randint(1, len(shape) + 1)
    if draw("axis", ("given", "default")) == "default":
        return Case("stack([{a}, {b}])", [2, "N", *shape], Input(shape), Input(shape), whole=True)
    return Case(f"stack([{{a}}, {{b}}], axis={axis})", shape[:axis - 1] + [2] + shape[axis - 1:], Input(shape), Input(shape))


def split(draw):
    shape = draw.shape(draw("rank", (1, 2, 3)))
    axis, kind = draw.random.randrange(len(shape)), draw("sizes", ("list", "count", "default"))
    n = shape[axis]
    if kind == "count":
        shape[axis] = 3 * n
        return Case(f"split({{a}}, 3, axis={axis + 1})[{draw('part', (0, 1, 2))}]", shape[:axis] + [n] + shape[axis + 1:], Input(shape))
    axis = 0 if kind == "default" else axis
    n = shape[axis]
    cut = draw.random.randint(0, n)
    text = f"split({{a}}, [{cut}, {n - cut}]" + (")" if kind == "default" else f", axis={axis + 1})")
    part = draw("part", (0, 1, 2)) % 2
    return Case(f"{text}[{part}]", shape[:axis] + [(cut, n - cut)[part]] + shape[axis + 1:], Input(shape))


def slices(draw):
    shape = draw.shape(draw("rank", (1, 2, 3)))
    axis, kind = draw.random.randrange(len(shape)), draw("kind", ("range", "step", "step from", "index", "negative"))
    n = shape[axis]
    before, behind = ", ".join([":"] * (axis + 1)), shape[axis + 1:]
    if kind == "index" and n:
        return Case(f"{{a}}[{before}, {draw.random.randrange(n)}]", shape[:axis] + behind, Input(shape))
    if kind == "negative":
        return Case(f"{{a}}[{before}, -{max(1, n // 2)}:]" if n else "{a}[:, :]", shape[:axis] + [max(1, n // 2) if n else n] + behind, Input(shape))
    begin, step = {"step": (0, 2), "step from": (min(1, n), 3)}.get(kind, (n // 3, 1))
    return Case(f"{{a}}[{before}, {begin}:{n}:{step}]", shape[:axis] + [-(-(n - begin) // step)] + behind, Input(shape))


def pad(draw):
    shape = draw.shape(draw("rank", (1, 2, 3)))
    sides = [(draw.random.randint(0, 2), draw.random.randint(0, 3)) if draw.random.random() < 0.7 else (0, 0) for _ in shape]
    text = called("pad", "{a}", ((0, 0), *sides), value=draw("value", (None, 0, 0.25)))
    return Case(text, [n + a + b for n, (a, b) in zip(shape, sides)], Input(shape))


def gather(draw):
    shape = draw.shape(draw("rank", (1, 2, 3)))
    axis, kind = draw.random.randrange(len(shape)), draw("index", ("constant", "table", "input"))
    n = shape[axis]
    if kind == "input":
        # Of a table without samples: the numbers are the samples' own.
        return Case("gather(t{k}, {a})", [3, 4], classes([3], n), lines=f"parameter t{{k}}: f32[{n}, 4] = normal(0, 1)")
    numbers = [draw.random.randrange(n) for _ in range(4)]
    index = f"tensor({numbers}, dtype=i32)" if kind == "constant" else f"tensor({numbers}, shape=(2, 2), dtype=i32)"
    return Case(f"gather({{a}}, {index}, axis={axis + 1})", shape[:axis] + ([4] if kind == "constant" else [2, 2]) + shape[axis + 1:], Input(shape))


def scatter_add(draw):
    shape = draw.shape(draw("rank", (1, 2, 3)))
    axis, count = draw.random.randrange(len(shape)), draw("count", (1, 4, 9))
    numbers = [draw.random.randrange(shape[axis]) for _ in range(count)]
    values = shape[:axis] + [count] + shape[axis + 1:]
    return Case(f"scatter_add({{a}}, tensor({numbers}, dtype=i32), {{b}}, axis={axis + 1})", shape, Input(shape), Input(values))


def flip(draw):
    shape = draw.shape(draw("rank", (1, 2, 3)))
    several = tuple(sorted(draw.random.sample(range(1, len(shape) + 1), draw.random.randint(1, len(shape)))))
    return Case(called("flip", "{a}", draw("axes", (-1, several, 1))), shape, Input(shape))


def tile(draw):
    shape = draw.shape(draw("rank", (1, 2, 3)))
    counts = [draw.random.choice((1, 2, 3)) for _ in shape]
    return Case(called("tile", "{a}", (1, *counts)), [n * c for n, c in zip(shape, counts)], Input(shape))


def matmul(draw):
    m, k, n = [draw.random.choice(SMALL) for _ in range(3)] if draw.name != "one" else (1, 1, 1)
    which = draw("axis", ("m", "k", "n", "all"))
    size = draw.size()
    m, k, n = (size if which in (axis, "all") else old for axis, old in zip("mkn", (m, k, n)))
    kind = draw("batch", ("samples", "heads", "rows"))
    text = draw("text", ("matmul({a}, {b})", "{a} @ {b}", "transpose({a}, (0, 2, 1)) @ {b}", "{a} @ transpose({b}, (0, 2, 1))"))
    if kind == "rows":
        # Samples are the rows of one product, as of a linear layer.
        return Case("{a} @ w{k}", [n], Input([k]), lines=f"parameter w{{k}}: f32[{k}, {n}] = normal(0, 0.5)")
    if kind == "heads":
        return Case("{a} @ {b}", [3, m, n], Input([3, m, k]), Input([3, k, n]))
    a, b = ([k, m] if text.startswith("transpose") else [m, k]), ([n, k] if text.endswith("))") and text.startswith("{a}") else [k, n])
    return Case(text, [m, n], Input(a), Input(b))


def attention(draw):
    heads, t, d = draw("heads", (1, 2)), draw.random.choice(SMALL), draw.random.choice(SMALL)
    if draw("axis", ("time", "width")) == "time":
        t = draw.size()
    else:
        d = draw.size()
    t, d = (1, 1) if draw.name == "one" else (t, d)
    own = draw("keys", ("as queries", "others", "as queries"))
    seen = t if own == "as queries" else t + 2
    mask = draw("mask", (None, "number", "truth"))
    inputs = [Input([heads, t, d]), Input([heads, seen, d]), Input([heads, seen, d])]
    if mask:
        inputs.append(Input([heads, t, seen]))
    text = called("attention", "{a}", "{b}", "{c}", causal=draw("causal", (None, True, False)) if seen == t else None,
                  mask={"number": "{d}", "truth": "{d} < 1.31"}.get(mask), scale=draw("scale", (None, 0.5)), dropout=draw("dropout", (None, 0.2)))
    return Case(text, [heads, t, d], *inputs)


def one_hot(draw):
    shape, count = draw.shape(draw("rank", (0, 1, 2))), draw("count", (1, 4, 11))
    return Case(f"one_hot({{a}}, {count})", [*shape, count], classes(shape, count), slope=False)


def tensor(draw):
    shape = draw.shape(1)
    numbers = [round(0.25 + 0.5 * i, 2) for i in range(shape[0])]
    options = draw("text", ({}, {"shape": (shape[0],), "dtype": "f32"}))
    return Case("{a} * " + called("tensor", numbers, **options), shape, Input(shape))


# --- images ---

def image(draw, axes, least=1):
    """Channels and sizes: the class takes turns over them, the others are `least` at least."""
    which = draw("axis", range(axes + 1))
    shape = [draw.random.choice(SMALL)] + [least + draw.random.choice((0, 1, 3)) for _ in range(axes)]
    if draw.name == "one":
        return [1] * (axes + 1)
    size = draw.size()
    shape[which] = size if which == 0 else max(size, least)
    return shape


def window(draw, axes, kernels=(1, 2, 3), paddings=(0, 1), dilations=(1, 2)):
    """Kernel, stride, padding and dilation, and their sizes by axis."""
    kernel, stride, dilation = draw("kernel", (*kernels, "uneven")), draw("stride", (1, 2, 3, "uneven")), draw("dilation", dilations)
    padding = draw("padding", (*paddings, "uneven"))
    if kernel == "uneven":
        kernel = tuple(draw.random.choice(kernels) for _ in range(axes))
    if stride == "uneven":
        stride = tuple(draw.random.choice((1, 2)) for _ in range(axes))
    if padding == "uneven":
        padding = tuple((draw.random.choice(paddings), draw.random.choice(paddings)) for _ in range(axes))
    each = lambda value: value if isinstance(value, tuple) else (value,) * axes
    sides = [(p, p) if isinstance(p, int) else p for p in each(padding)]
    return kernel, stride, padding, dilation, each(kernel), each(stride), sides, each(dilation)


def out_size(n, kernel, stride, sides, dilation, ceil=False):
    room = n + sum(sides) - dilation * (kernel - 1) - 1
    if room < 0:
        return 0
    size = (-(-room // stride) if ceil else room // stride) + 1
    # The last window begins within the image or its padding in front.
    return size - 1 if ceil and (size - 1) * stride >= n + sides[0] else size


def reaches(n, kernel, stride, sides, dilation, windows):
    """Whether each window has an element of the image: a maximum of none is none."""
    return all(any(0 <= i * stride - sides[0] + t * dilation < n for t in range(kernel)) for i in range(windows))


def conv(axes):
    def make(draw):
        shape = image(draw, axes, 3)
        kernel, stride, padding, dilation, k, s, sides, d = window(draw, axes)
        if draw("same", (False, False, True)):
            kernel, k = 3, (3,) * axes
            stride, padding, s, sides = 1, '"same"', (1,) * axes, [(e, e) for e in d]
        sizes = [out_size(*row) for row in zip(shape[1:], k, s, sides, d)]
        if min(sizes) < 1:
            kernel, k, sides, padding, stride, s = 1, (1,) * axes, [(0, 0)] * axes, 0, 1, (1,) * axes
            sizes = shape[1:]
        groups = draw("groups", (1, "each", "two")) if shape[0] else 1
        own, channels = shape[0], draw("channels", (1, 5, 16))
        if groups == "each":
            groups, channels = own, own * draw.random.choice((1, 2)) if own < 40 else own
        elif groups == "two":
            groups, shape[0], channels = 2, 2 * own if own < 40 else own // 2 * 2, 2 * channels
        given = draw("weight", (None, "given"))
        lines, name = "", "name=\"c{k}\""
        if given:
            sizes_text = ", ".join(map(str, [channels, shape[0] // groups, *k]))
            lines, given = f"parameter w{{k}}: f32[{sizes_text}] = normal(0, 1)", "w{k}"
        text = called(f"conv{axes}d", "{a}", channels, kernel, stride=stride, padding=padding, dilation=dilation, groups=groups,
                      bias=draw("bias", (None, False, True)), weight=given, name='"c{k}"')
        return Case(text, [channels, *sizes], Input(shape), lines=lines)
    return make


def conv_transpose(axes):
    def make(draw):
        shape = image(draw, axes, 2)
        kernel, stride, padding, dilation, k, s, sides, d = window(draw, axes, (2, 3, 4))
        more = draw("output_padding", (0, 1, 0))
        more = more if min(s) > more else 0
        sizes = [(n - 1) * st - sum(p) + di * (ke - 1) + 1 + more for n, st, p, di, ke in zip(shape[1:], s, sides, d, k)]
        if min(sizes) < 1:
            padding, sizes = 0, [n + sum(p) for n, p in zip(sizes, sides)]
        groups, channels = draw("groups", (1, "each", 1)) if shape[0] else 1, draw("channels", (1, 5, 16))
        if groups == "each":
            groups, channels = shape[0], shape[0] * draw.random.choice((1, 2)) if shape[0] < 40 else shape[0]
        text = called(f"conv_transpose{axes}d", "{a}", channels, kernel, stride=stride, padding=padding, output_padding=more, dilation=dilation,
                      groups=groups, bias=draw("bias", (None, False, True)), name='"c{k}"')
        return Case(text, [channels, *sizes], Input(shape))
    return make


def pool(name):
    def make(draw):
        axes = draw("axes", (1, 2, 3))
        shape = image(draw, axes, 3)
        if draw.name == "tile" and draw("window", ("small", "large")) == "large":
            # More elements than an index of a byte has room for.
            return Case(called(name, "{a}", 17, stride=(1, 2), padding=((1, 0), (0, 0))), [2, 5, 2], Input([2, 20, 19]))
        kernel, stride, padding, dilation, k, s, sides, d = window(draw, axes, (2, 3, 4), dilations=(1, 2) if name == "max_pool" else (1, 1))
        ceil = draw("ceil_mode", (None, True, False))
        sizes = [out_size(*row, bool(ceil)) for row in zip(shape[1:], k, s, sides, d)]
        if min(sizes) < 1 or not all(map(reaches, shape[1:], k, s, sides, d, sizes)):
            kernel, k, stride, s, padding, dilation = 1, (1,) * axes, 1, (1,) * axes, 0, 1
            sizes = shape[1:]
        default = draw("default stride", (False, True)) and padding == 0 and dilation == 1
        if default:
            sizes = [out_size(n, ke, ke, (0, 0), 1, bool(ceil)) for n, ke in zip(shape[1:], k)]
        options = dict(stride=None if default else stride, padding=padding, ceil_mode=ceil)
        if name == "max_pool":
            options["dilation"] = dilation
        else:
            options["dilation"], options["count_include_pad"] = None, draw("count_include_pad", (None, False, True))
        return Case(called(name, "{a}", kernel, **options), [shape[0], *sizes], Input(shape))
    return make


def adaptive(name):
    def make(draw):
        axes = draw("axes", (1, 2, 3))
        shape = image(draw, axes, 2)
        size = draw("size", (1, 2, "uneven"))
        sizes = [draw.random.randint(1, n) if n < 8 else 7 for n in shape[1:]] if size == "uneven" else [min(size, n) for n in shape[1:]]
        return Case(called(name, "{a}", tuple(sizes) if len(set(sizes)) > 1 or size == "uneven" else sizes[0]), [shape[0], *sizes], Input(shape))
    return make


def global_pool(name):
    def make(draw):
        shape = image(draw, draw("axes", (1, 2, 3)))
        return Case(f"{name}({{a}})", [shape[0]] + [1] * (len(shape) - 1), Input(shape))
    return make


def local_response_norm(draw):
    shape = image(draw, draw("axes", (1, 2)))
    size = draw("size", (1, 2, 3, 5, 12))
    text = called("local_response_norm", "{a}", size, alpha=draw("alpha", (None, 0.5)), beta=draw("beta", (None, 0.5, 1.25)),
                  k=draw("k", (None, 2)))
    return Case(text, shape, Input(shape))


def upsample(draw):
    bilinear = draw("mode", ("nearest", "bilinear", "corners"))
    shape = image(draw, 2 if bilinear != "nearest" else draw("axes", (1, 2, 3)))
    factor = draw("factor", (1, 2, 3))
    options = {"nearest": {}, "bilinear": dict(mode='"bilinear"'), "corners": dict(mode='"bilinear"', align_corners=True)}[bilinear]
    return Case(called("upsample", "{a}", factor, **options), [shape[0], *(n * factor for n in shape[1:])], Input(shape))


def pixel_shuffle(draw):
    shape, factor = image(draw, 2), draw("factor", (1, 2, 3))
    return Case(f"pixel_shuffle({{a}}, {factor})", [shape[0], shape[1] * factor, shape[2] * factor], Input([shape[0] * factor ** 2, *shape[1:]]))


# --- layers ---

def linear(draw):
    shape = draw.shape(draw("rank", (1, 2, 3)))
    features = draw("features", (1, 7, 33))
    transposed, given = draw("transposed", (None, True)), draw("weight", (None, None, "given"))
    lines = ""
    if given:
        sizes = (shape[-1], features) if transposed else (features, shape[-1])
        lines, given = f"parameter w{{k}}: f32[{sizes[0]}, {sizes[1]}] = normal(0, 1)", "w{k}"
    text = called("linear", "{a}", features, bias=draw("bias", (None, False, True)), weight=given, transposed=transposed, name='"c{k}"')
    return Case(text, shape[:-1] + [features], Input(shape), lines=lines)


def embedding(draw):
    shape, count, width = [], draw("count", (1, 5, 40)), 4
    if draw("axis", ("index", "width", "count")) == "index":
        shape = draw.shape(draw("rank", (0, 1, 2)))
    elif draw.taken["axis"] == "width":
        width = draw.size()
    else:
        count = draw.size()
    text = called("embedding", "{a}", count, width, padding_index=draw("padding_index", (None, 0)), name='"c{k}"')
    return Case(text, [*shape, width], classes(shape, count))


def prelu(draw):
    shape = draw.shape(draw("rank", (1, 2, 3)))
    return Case(called("prelu", "{a}", shape[0] if draw("count", (1, "each")) == "each" else 1, start=draw("start", (None, 0.4)), name='"c{k}"'),
                shape, Input(shape))


def recurrent(name):
    def make(draw):
        t, c, hidden = draw("time", (1, 3, 5)), draw.random.choice(SMALL), draw.random.choice(SMALL)
        which = draw("axis", ("width", "hidden", "time"))
        size = draw.size()
        t, c, hidden = (size if which == axis and (axis != "time" or size < 20) else old
                        for axis, old in zip(("time", "width", "hidden"), (t, c, hidden)))
        layers, both = draw("layers", (1, 2)), draw("bidirectional", (None, True))
        directions = layers * (2 if both else 1)
        inputs, initial = [Input([t, c])], None
        if draw("initial", (None, "given")):
            inputs += [Input([directions, hidden])] * (2 if name == "lstm" else 1)
            state = "transpose({{{0}}}, (1, 0, 2))"
            initial = f"({state.format('b')}, {state.format('c')})" if name == "lstm" else state.format("b")
        lengths = draw("lengths", (None, "given"))
        if lengths:
            lengths = "{" + "abcd"[len(inputs)] + "}"
            inputs.append(classes([], t + 1))
        first = draw("batch_first", (True, None))
        text = called(name, "{a}" if first else "transpose({a}, (1, 0, 2))", hidden, layers=layers, initial=initial, bidirectional=both,
                      bias=draw("bias", (None, False)), batch_first=first, lengths=lengths, dropout=draw("dropout", (None, 0.3)) if layers > 1 else None,
                      name='"c{k}"')
        part = draw("result", (0, 1, 2) if name == "lstm" else (0, 1))
        shape = [directions, "N", hidden] if part else ["N", t, hidden * (2 if both else 1)] if first else [t, "N", hidden * (2 if both else 1)]
        # Products of one step go into those of the next.
        return Case(f"{text}[{part}]", shape, *inputs, whole=True, limit=2)
    return make


def norm(name):
    def make(draw):
        shape = draw.shape(draw("rank", (1, 2, 3, 4) if name in ("batch_norm", "layer_norm", "rms_norm") else (2, 3, 4)))
        options = dict(epsilon=draw("epsilon", (None, 0.1)), affine=draw("affine", (None, False, True)))
        arguments = ["{a}"]
        if name == "batch_norm":
            options["momentum"] = draw("momentum", (None, 0.3))
            options["frozen"] = draw("frozen", (None, True, None))
            options["sync"] = draw("sync", (None, None, True)) if not options["frozen"] else None
        elif name == "group_norm":
            groups = draw("groups", (1, "each", "two")) if shape[0] else 1
            if groups == "two":
                shape[0] *= 2
            arguments.append({"each": shape[0], "two": 2}.get(groups, groups))
        elif name in ("layer_norm", "rms_norm"):
            axes = draw("axes", (None, "all", "one"))
            options["axes"] = {"all": tuple(range(1, len(shape) + 1)), "one": 1 + draw.random.randrange(len(shape))}.get(axes)
        if name == "instance_norm" and math.prod(shape[1:]) < 2:
            shape[-1] = 2
        # A deviation of few values that hardly differ is dominated by roundings, and so is what is divided by it; of more ones the
        # difference from the mean loses digits before it is divided.
        axes = options.get("axes") or len(shape)
        normalised = {"batch_norm": shape[1:], "instance_norm": shape[1:]}
        if name == "group_norm":
            normalised[name] = [shape[0] // arguments[-1], *shape[1:]]
        counted = normalised.get(name, [shape[a - 1] for a in (axes if isinstance(axes, tuple) else (axes,))])
        if math.prod(counted) < 8:
            options["epsilon"] = 0.1
        return Case(called(name, *arguments, **options, name='"c{k}"'), shape, Input(shape), limit=4)
    return make


# --- losses and metrics ---

def reduced(draw, shape):
    reduction = draw("reduction", (None, '"none"', '"sum"', '"mean"'))
    return reduction, (["N", *shape] if reduction == '"none"' else [])


def softmax_cross_entropy(draw):
    shape = draw.shape(draw("rank", (1, 2, 3)))
    axis = draw.random.randrange(len(shape)) if draw("axis", ("default", "given")) == "given" else 0
    rest = shape[:axis] + shape[axis + 1:]
    reduction, result = reduced(draw, rest)
    kind = draw("label", ("classes", "probabilities"))
    weight = draw("weight", (None, "given"))
    options = dict(axis=axis + 1 if axis else None, label_smoothing=draw("label_smoothing", (None, 0.2)),
                   ignore=draw("ignore", (None, 0)) if kind == "classes" else None, reduction=reduction,
                   weight=f"tensor({[round(0.5 + i % 3, 1) for i in range(shape[axis])]})" if weight else None)
    label = classes(rest, shape[axis]) if kind == "classes" else Input(shape, 0.1, 0.9)
    return Case(called("softmax_cross_entropy", "{a}", "{b}", **options), result, Input(shape, -3, 3), label, whole=True)


def sigmoid_cross_entropy(draw):
    shape = draw.shape(draw("rank", (1, 2, 3)))
    reduction, result = reduced(draw, shape)
    numbers = f"tensor({[round(0.5 + i % 3, 1) for i in range(shape[-1])]})"
    text = called("sigmoid_cross_entropy", "{a}", "{b}", weight=numbers if draw("weight", (None, "given")) else None,
                  positive_weight=numbers if draw("positive_weight", (None, "given")) else None, reduction=reduction)
    return Case(text, result, Input(shape, -3, 3), Input(shape, 0, 1), whole=True)


def pair_loss(name, **options):
    def make(draw):
        shape = draw.shape(draw("rank", (1, 2, 3)))
        # A divergence is that of a sample.
        reduction, result = reduced(draw, [] if name == "kl_divergence" else shape)
        given = {key: draw(key, values) for key, values in options.items()}
        return Case(called(name, "{a}", "{b}", **given, reduction=reduction), result, Input(shape), Input(shape, 0.1, 2), whole=True)
    return make


def cosine_embedding(draw):
    shape = draw.shape(1)
    reduction, result = reduced(draw, [])
    text = called("cosine_embedding", "{a} + 3", "{b}", "2 * f32({c}) - 1", margin=draw("margin", (None, 0.2)), reduction=reduction)
    return Case(text, result, Input(shape), Input(shape), classes([], 2), whole=True)


def drawn_loss(draw):
    text = draw("text", LOSSES)
    return Case(text.replace("{y}", "{a}").replace("{t}", "{b}").replace("label", "{c}"), [], Input([5]), Input([5], 0.1, 0.9), classes([], 3),
                whole=True)


def metric(name):
    def make(draw):
        shape = draw.shape(draw("rank", (1, 2, 3))) if name not in ("auroc",) else draw.shape(1)
        options = {}
        axis = draw.random.randrange(len(shape)) if name in ("accuracy", "perplexity", "confusion") and draw("axis", ("default", "given")) == "given" else 0
        if axis:
            options["axis"] = axis + 1
        rest = shape[:axis] + shape[axis + 1:]
        result, dtype = [], "f32"
        if name in ("accuracy", "top_k_accuracy", "binary_accuracy"):
            options["reduction"], result = reduced(draw, rest if name != "binary_accuracy" else shape)
        if name in ("accuracy", "top_k_accuracy", "perplexity", "confusion"):
            options["ignore"] = draw("ignore", (None, 0))
        if name == "top_k_accuracy":
            shape[0] = max(2, shape[0])
            options["k"], rest = draw("k", (1, min(3, shape[0] - 1))), shape[1:]
        if name == "binary_accuracy":
            options["threshold"] = draw("threshold", (None, 0.31))
        if name == "auroc":
            options["bins"] = draw("bins", (None, 16))
        label = Input(shape, 0, 1) if name == "binary_accuracy" else classes(shape, 2) if name == "auroc" else classes(rest, shape[axis])
        target = "f32({b})" if name == "auroc" else "{b}"
        return Case(called(name, "{a}", target, **options), result, Input(shape, -3, 3), label, whole=True, slope=False)
    return make


def grid_sample(draw):
    shape = image(draw, 2)
    places = [draw.random.randint(1, 3), draw.random.randint(1, 3)]
    text = called("grid_sample", "{a}", "{b}", mode=draw("mode", (None, '"nearest"')), padding=draw("padding", (None, '"border"', '"reflection"')),
                  align_corners=draw("corners", (None, True)))
    return Case(text, [shape[0], *places], Input(shape), Input([*places, 2], -1.37, 1.29))


TABLE = {
    **{name: unary(name) for name in UNARY}, **{name: binary(name) for name in BINARY},
    **{name: reduction(name) for name in ("sum", "mean", "max", "min", "product", "norm")},
    **{name: along(name) for name in ("softmax", "log_softmax", "cumulative_sum", "sort", "argsort", "argmax")},
    "top_k": top_k, "reshape": reshape, "flatten": flatten, "transpose": transpose, "broadcast": broadcast, "concat": concat, "stack": stack,
    "split": split, "slices": slices, "pad": pad, "gather": gather, "scatter_add": scatter_add, "flip": flip, "tile": tile, "matmul": matmul,
    "attention": attention, "one_hot": one_hot, "tensor": tensor,
    **{f"conv{axes}d": conv(axes) for axes in (1, 2, 3)}, **{f"conv_transpose{axes}d": conv_transpose(axes) for axes in (1, 2, 3)},
    **{name: pool(name) for name in ("max_pool", "average_pool")},
    **{name: adaptive(name) for name in ("adaptive_average_pool", "adaptive_max_pool")},
    **{name: global_pool(name) for name in ("global_average_pool", "global_max_pool")},
    "local_response_norm": local_response_norm, "upsample": upsample, "pixel_shuffle": pixel_shuffle,
    "linear": linear, "embedding": embedding, "prelu": prelu, "lstm": recurrent("lstm"), "gru": recurrent("gru"),
    **{name: norm(name) for name in ("batch_norm", "layer_norm", "rms_norm", "group_norm", "instance_norm")},
    "softmax_cross_entropy": softmax_cross_entropy, "sigmoid_cross_entropy": sigmoid_cross_entropy,
    "mean_squared_error": pair_loss("mean_squared_error"), "mean_absolute_error": pair_loss("mean_absolute_error"),
    "huber": pair_loss("huber", delta=(None, 0.3)), "hinge": pair_loss("hinge", margin=(None, 0.5)), "kl_divergence": pair_loss("kl_divergence"),
    "cosine_embedding": cosine_embedding, "drawn_loss": drawn_loss,
    **{name: metric(name) for name in ("accuracy", "top_k_accuracy", "binary_accuracy")},
    # What comes later stands behind, so that the numbers that others draw stay.
    "grid_sample": grid_sample,
}
# Metrics that are finished over a whole epoch have no value in a step: test/e2e/totals.test has them.
TOTALS = ("auroc", "perplexity", "confusion")
# Without elements these have no value, or no shape.
NEVER_EMPTY = {
    *(f"conv{kind}{axes}d" for kind in ("", "_transpose") for axes in (1, 2, 3)),
    *(f"{kind}_pool" for kind in ("max", "average", "adaptive_average", "adaptive_max", "global_average", "global_max")),
    *(f"{kind}_norm" for kind in ("batch", "layer", "rms", "group", "instance", "local_response")),
    "grid_sample", "max", "min", "mean", "norm", "argmax", "softmax", "log_softmax", "top_k", "gather", "scatter_add", "attention", "embedding", "lstm", "gru",
    "softmax_cross_entropy", "sigmoid_cross_entropy", "mean_squared_error", "mean_absolute_error", "huber", "hinge", "kl_divergence",
    "cosine_embedding", "drawn_loss", "accuracy", "top_k_accuracy", "binary_accuracy", "tensor"}


def draws(builtin, name, seed):
    """Cases of a built-in and a class with what they asked for, as many as its attribute with the most values has."""
    if name == "zero" and builtin in NEVER_EMPTY:
        return
    turn, most = 0, 1
    while turn < most:
        draw = Draw(builtin, name, turn, seed)
        case = TABLE[builtin](draw)
        case.label = f"{builtin} {name} {turn}"
        yield case, draw
        turn, most = turn + 1, max(most, *draw.asked.values())


def cases(builtin, name, seed):
    return [case for case, _ in draws(builtin, name, seed)]
