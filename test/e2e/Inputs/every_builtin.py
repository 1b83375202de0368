"""Every built-in with every attribute on shapes of every class (builtin_cases.py), in float64 and compiled.

usage: every_builtin.py gradients|kernels FOLDER [--seed SEED] [--sample PART] [--only BUILTIN ...] [--type f64] [--simt] [--flags=--FLAG ...]

`gradients`: the gradients of a weighted sum of a call's results, by all inputs and parameters, as ops of the training step that the
interpreter runs in float64, against central differences of the program before it is differentiated. Along a random direction of all inputs
and parameters at once: a wrong gradient is seen unless its error is orthogonal to it, and one difference serves all cases of a program. `kernels`: the inference and the training step compiled, against the interpreter. --sample takes 1 of PART cases.
"""
import argparse
import os
import random
import re
import subprocess
import sys

from builtin_cases import SIZES, TABLE, cases
from tensor_file import load, save

# What gives f32 whatever it is called with.
ALWAYS_F32 = re.compile(r"f32|f16|tensor\(|zeros\(|ones\(|full\(|random|one_hot|accuracy|embedding")
# Steps of differences and limits. Truncation is a sixth of the squared step times the third derivative; rounding 1e-16 by the step.
# Constants of a f32 program that rules multiply by, such as 1 / count, are off by up to 6e-8. Where a corner of a function is nearer than
# the first step, the second decides, which rounding disturbs more.
STEPS = ((1e-5, 1e-6), (1e-7, 1e-5))
# Of the largest number of a tensor. A sum of a few hundred float32 products errs by about 5 units of its last place, whatever the order;
# a case says how many times more its call may, and why.
ROUNDINGS = {"f32": 16 * 2 ** -23, "f64": 64 * 2 ** -52}
# Of results and of gradients of sums: what is smaller has come of a difference of larger ones.
LEAST = 0.02
PER_PROGRAM = 24


def spread(shape, low, high, key):
    """Numbers at equal distances in random order, rounded to float32, so that none is near another."""
    count, draw = 1, random.Random(key)
    for n in shape:
        count *= n
    numbers = [low + (high - low) * (i + draw.uniform(0.2, 0.8)) / count for i in range(count)]
    draw.shuffle(numbers)
    return numbers


class Program:
    """The cases of a program; number k has inputs ak, bk, ..., the result yk, weights vk of its elements, layers named ck."""

    def __init__(self, number, chosen, options):
        self.number, self.cases, self.options = number, chosen, options
        self.batch = (3, 2, 4, 5)[number % 4]
        self.tensors, self.weights = {}, {}

    def shape(self, sizes, whole=False):
        return [self.batch if n == "N" else n for n in (sizes if whole else ["N", *sizes])]

    def type(self, sizes, dtype, whole=False):
        dtype = self.options.type if dtype == "f32" else dtype
        return f"{dtype}[{', '.join(map(str, sizes if whole else ['N', *sizes]))}]"

    def text(self):
        fields, lines, results, losses, metrics = [], [], [], [], []
        for k, case in enumerate(self.cases):
            names = {}
            for letter, given in zip("abcd", case.inputs):
                name = names[letter] = f"{letter}{k}"
                fields.append(f"{name}: {self.type(given.shape, given.dtype, given.whole)}")
                shape, key = self.shape(given.shape, given.whole), f"{self.options.seed} {case.label} {letter}"
                numbers = spread(shape, given.low, given.high, key)
                self.tensors[name] = (shape, [int(n // 1) for n in numbers], "I32") if given.dtype == "i32" else (shape, numbers)
            lines += [line for line in [case.lines.format(k=k)] if line]
            lines.append(f"y{k} = " + case.text.format(k=k, **names))
            results.append(f"y{k}: {self.type(case.shape, case.dtype, case.whole)}")
            if case.slope:
                self.weigh(k, case, losses, metrics)
        inputs = [f"{field}\n  " for field in fields]
        calls = ", ".join(f"y{k}" for k in range(len(self.cases)))
        arguments = ", ".join(field.split(":")[0] for field in fields)
        weights = "".join(f"v{k}: {self.options.type}[{', '.join(['N', *map(str, shape[1:])])}]\n  " for k, shape in self.weights.items())
        used = ", ".join(f"y{k}" if k in self.weights else "_" for k in range(len(self.cases)))
        step = f"""train Cases {{
  {''.join(inputs)}{weights}{used} = Cases({arguments})
  optimizer = sgd(learning_rate=0.1)
  batch = {self.batch}
  step learn updates Cases {{
    {(chr(10) + '    ').join(metrics)}
    loss = {' + '.join(losses)}
  }}
}}
"""
        body = "\n  ".join(lines)
        return f"""model Cases({', '.join(fields)}) -> ({', '.join(results)}) {{
  {body}
  return {calls}
}}
{step if losses else ''}infer Cases {{
  batch = {self.batch}
}}
"""

    def weigh(self, k, case, losses, metrics):
        """A sum of results and their squares, by weights that begin with the batch."""
        result = self.type(case.shape, "f32", case.whole)
        sizes, y = (list(case.shape) if case.whole else ["N", *case.shape]), f"{self.options.type}(y{k})"
        if "N" in sizes and sizes[0] != "N":
            at = sizes.index("N")
            order = [at, *(i for i in range(len(sizes)) if i != at)]
            y, sizes = f"transpose({y}, ({', '.join(map(str, order))}))", [sizes[i] for i in order]
        elif "N" not in sizes:
            sizes = ["N", *sizes]
        shape = [self.batch, *sizes[1:]]
        count = 1
        for n in shape:
            count *= n
        # A mean of nothing is none.
        if not count:
            return
        self.weights[k] = shape
        self.tensors[f"v{k}"] = (shape, spread(shape, 0.5, 1.5, f"v {case.label}"))
        metrics.append(f"z{k} = {y}\n    m{k} = mean((z{k} + 0.1 * square(z{k})) * v{k})\n    metric l{k} = m{k}")
        losses.append(f"m{k}")


class Failed(Exception):
    pass


def run(*command, into=None):
    made = subprocess.run(command, capture_output=True, text=True)
    if made.returncode != 0:
        raise Failed(f"{' '.join(command)}: {made.stderr[:2000]}")
    if into:
        with open(into, "w") as file:
            file.write(made.stdout)


def owner(name):
    """The case that an input or a parameter belongs to."""
    return int(re.match(r"[a-z](\d+)", name)[1])


def distance(a, b, least):
    """The largest difference, by the largest number of b or, where all are smaller, by `least`; what is not a number is nowhere else."""
    if len(a) != len(b):
        return float("inf")
    scale = max([least, *(abs(v) for v in b if abs(v) < float("inf"))])
    return max((0.0 if x == y or (x != x and y != y) else abs(x - y) / scale if abs(x - y) >= 0 else float("inf") for x, y in zip(a, b)), default=0.0)


class Check:
    def __init__(self, program, folder, options):
        self.program, self.options, self.name = program, options, f"{folder}/{program.number}"
        self.errors, self.worst = [], {}
        with open(f"{self.name}.dl", "w") as file:
            file.write(program.text())
        self.gradients = ["--weight-gradients", "--input-gradients"] if program.weights else []
        run("dlc", f"{self.name}.dl", "--emit=dl", *self.gradients, into=f"{self.name}.mlir")
        run("dlc", f"{self.name}.dl", "--emit=dl-train", *self.gradients, into=f"{self.name}.train.mlir")
        # Before it is differentiated the interpreter takes dl.gradient for differences of its own.
        differentiated = any("gradient(" in case.text for case in program.cases)
        self.before = f"{self.name}.train.mlir" if differentiated else f"{self.name}.mlir"
        self.variables = {}
        variable = r"dl\.variable @([\w.]+) : tensor<((?:\d+x)*)(f\d+)> role<(?:parameter|statistic)>"
        for name, sizes, dtype in re.findall(variable, open(f"{self.name}.mlir").read()):
            shape, low = [int(n) for n in sizes.split("x")[:-1]], 0.5 if name.endswith("running_var") else -1
            self.variables[name] = (shape, spread(shape, low, 1, f"{program.number} {name}"), dtype.upper())
        kind = self.options.type.upper()
        given = {name: tensor if len(tensor) == 3 else (*tensor, kind) for name, tensor in program.tensors.items()}
        save(f"{self.name}.in", given)
        save(f"{self.name}.infer", {name: tensor for name, tensor in given.items() if name[0] != "v"})
        save(f"{self.name}.variables", self.variables)
        self.tensors = ["--tensors", f"{self.name}.in", "--tensors", f"{self.name}.variables"]
        # What float32 makes of these numbers.
        self.given = load(f"{self.name}.in") | load(f"{self.name}.variables")

    def interpret(self, module, entry, *flags):
        run("dl-interpret", module, "--entry", entry, *self.tensors, *flags, "--save", f"{self.name}.out")
        return load(f"{self.name}.out")

    def wrong(self, k, text):
        case = self.program.cases[k]
        self.errors.append(f"{case.label}: y{k} = {case.text} {[i.shape for i in case.inputs]}: {text} ({self.name}.dl)")

    def count(self, k):
        count = 1
        for n in self.program.weights.get(k, ()):
            count *= n
        return count

    def check_gradients(self):
        found = self.interpret(f"{self.name}.train.mlir", "learn")
        plain = self.interpret(self.before, "learn")
        slopes = {name.removeprefix("gradient."): numbers for name, numbers in found.items() if name.startswith("gradient.")}
        draw = random.Random(self.program.number)
        along = {name: [draw.choice((-1, 1)) * draw.uniform(0.5, 1) for _ in numbers] for name, numbers in slopes.items() if name[0] != "v"}
        shapes = {name: tensor[0] for name, tensor in (self.program.tensors | self.variables).items()}
        save(f"{self.name}.along", {name: (shapes[name], numbers, "F64") for name, numbers in along.items()})
        pending = {}
        for k in self.program.weights:
            products = [g * self.count(k) * d for name in along if owner(name) == k for g, d in zip(slopes[name], along[name])]
            pending[k] = (sum(products), sum(map(abs, products)) + 1e-3 * abs(plain[f"l{k}.sum"][0]) + 1e-6)
        for step, limit in STEPS:
            last = step == STEPS[-1][0]
            if pending:
                differences = self.interpret(self.before, "learn", "--along", f"{self.name}.along", "--step", str(step))
            pending = {k: both for k, both in pending.items() if not self.agrees(k, *both, differences[f"l{k}.sum"][0], limit, last)}
        for k in self.program.weights:
            # A composite's formula against its decomposition.
            error = distance(found[f"l{k}.sum"], plain[f"l{k}.sum"], LEAST)
            if not error <= 1e-6:
                self.wrong(k, f"the formula gives {plain[f'l{k}.sum'][0]}, decomposed {found[f'l{k}.sum'][0]}")

    def agrees(self, k, rule, scale, difference, limit, last):
        error, case = abs(rule - difference) / scale, self.program.cases[k]
        if error <= limit:
            self.note(case, error / limit)
        elif last:
            self.wrong(k, f"the gradient along a direction is {rule}, central differences give {difference}")
        return error <= limit

    def note(self, case, share):
        self.worst[case.label.split()[0]] = max(self.worst.get(case.label.split()[0], 0), share)

    def check_kernels(self):
        device = ["--device", "simt"] if self.options.simt else []
        target = ["--target=cuda:simt"] if self.options.simt else []
        module = f"{self.name}.so"
        run("dlc", f"{self.name}.dl", "-o", module, *target, *self.gradients, *self.options.flags)
        run("dlc-run", "infer", module, *device, "--inputs", f"{self.name}.infer", "--checkpoint", f"{self.name}.variables", "--save", f"{self.name}.made")
        expected, found = self.interpret(self.before, f"infer_n{self.program.batch}", "--tensors", self.valid()), load(f"{self.name}.made")
        for k in range(len(self.program.cases)):
            self.compare(k, f"y{k}", found[f"y{k}"], expected[f"y{k}"], LEAST, ROUNDINGS[self.options.type])
        if not self.program.weights:
            return
        expected = self.interpret(f"{self.name}.train.mlir", "learn")
        run("dlc-run", "step", module, *device, "--inputs", f"{self.name}.in", "--parameters", f"{self.name}.variables", "--save", f"{self.name}.made")
        found = load(f"{self.name}.made")
        for name, numbers in expected.items():
            if name.startswith("gradient."):
                k = owner(name.removeprefix("gradient."))
                self.compare(k, name, found[name], numbers, LEAST / self.count(k), ROUNDINGS[self.options.type])

    def valid(self):
        save(f"{self.name}.valid", {"valid": ([], [self.program.batch], "I32")})
        return f"{self.name}.valid"

    def compare(self, k, name, found, expected, least, roundings):
        case = self.program.cases[k]
        error, limit = distance(found, expected, least), roundings * case.limit
        self.note(case, error / limit)
        if not error <= limit:
            at = max(range(len(found)), key=lambda i: abs(found[i] - expected[i]) if found[i] == found[i] else float("inf")) if found else 0
            self.wrong(k, f"{name} is off by {error:.3g} of its largest number, the limit is {limit:.3g}; [{at}] is {found[at:at + 1]} "
                          f"for {expected[at:at + 1]}")


def check(kind, program, folder, options):
    try:
        some = Check(program, folder, options)
        if kind == "gradients":
            if program.weights:
                some.check_gradients()
        else:
            some.check_kernels()
        return some.errors, some.worst
    except Failed as error:
        return [str(error)], {}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=("gradients", "kernels"))
    parser.add_argument("folder")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sample", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=list(TABLE))
    parser.add_argument("--type", choices=("f32", "f64"), default="f32")
    parser.add_argument("--simt", action="store_true")
    parser.add_argument("--flags", nargs="*", default=[])
    parser.add_argument("--per-program", type=int, default=PER_PROGRAM)
    parser.add_argument("--worst", action="store_true", help="shares of the limits by built-in")
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    chosen = [case for builtin in options.only for name in SIZES for case in cases(builtin, name, options.seed)]
    chosen = chosen[options.seed % options.sample::options.sample]
    if options.type == "f64":
        chosen = [case for case in chosen if not ALWAYS_F32.search(case.text + case.lines)]
    programs = [Program(i, chosen[at:at + options.per_program], options) for i, at in enumerate(range(0, len(chosen), options.per_program))]
    failed, worst = 0, {}
    for program in programs:
        errors, shares = check(options.kind, program, options.folder, options)
        failed += len(errors)
        for text in errors:
            print(text, flush=True)
        for builtin, share in shares.items():
            worst[builtin] = max(worst.get(builtin, 0), share)
    if options.worst:
        for builtin, share in sorted(worst.items(), key=lambda item: -item[1]):
            print(f"{builtin}: {share:.3g}")
    print(f"{len(options.only)} built-ins, {len(chosen)} cases, {failed} failed")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
