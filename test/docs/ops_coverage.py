"""The page docs/ops-coverage.md: each op of the dl dialect, each built-in that is a formula of them, and the tests that name it.

usage: ops_coverage.py ROOT [--check]

Ops, and whether they are differentiable or become a formula, are the dialect's own (mlir-tblgen), built-ins those of docs/language.md; a
cell says which tests name the op or call the built-in, so a test that goes takes its cell along. --check fails if the page is another.
"""
import glob
import os
import re
import sys

sys.path += [os.path.join(os.path.dirname(__file__), "..", *folder) for folder in (("dialects", "DL"), ("e2e", "Inputs"))]
from builtin_cases import SIZES, TABLE, TOTALS, draws
from check_documentation import SECTION, make_page

# Ops of programs, not of values: entries, variables, what passes build.
STRUCTURE = {"entry", "return", "variable", "read", "assign", "scalar", "fused", "multi_tensor", "yield", "gradient", "convert_layout",
             "all_reduce"}
# Built-ins that are one op under another name, or several of one: their row is that of the op.
NAMES = {"conv1d": "convolution", "conv2d": "convolution", "conv3d": "convolution", "conv_transpose1d": "convolution_backward_data",
         "conv_transpose2d": "convolution_backward_data", "conv_transpose3d": "convolution_backward_data", "linear": "matmul",
         "embedding": "gather", "pow": "power", "square": "multiply", "sum": "reduce", "mean": "reduce", "max": "reduce", "min": "reduce",
         "global_average_pool": "reduce", "global_max_pool": "reduce", "flatten": "reshape", "tensor": "constant", "zeros": "constant",
         "ones": "constant", "full": "constant", "random_normal": "random", "random_uniform": "random", "random_bernoulli": "random",
         **dict.fromkeys(("f32", "f64", "bf16", "f16", "i32", "i64", "u8", "bool"), "cast")}
# These choose at compile time, and compute nothing.
CHOICES = {"by_phase", "gradient"}
# Their result is a count, a place or a truth value: its slope is 0 wherever there is one.
STEPS = {"sign", "logical_and", "logical_or", "logical_not", "argmax", "argsort", "one_hot", "top_k_accuracy", "auroc", "perplexity",
         "confusion"}
HEAD = """# Ops and their tests

Made by `test/docs/ops_coverage.py` from the dialect's definition and the tests; a test holds it to them. `value`: the interpreter's
own formula, the oracle of the others. `gradient`: central differences in float64 of the op; `of the gradient`: of its gradient; "none"
where it is not differentiable, "by its formula" where no case names it and the ops of its formula have cases. `CPU` and `CUDA` (on the
SIMT device): the tests of generated kernels that name the op; "formula": it has no kernel of its own, its formula in primitives is
compiled. `golden`: PyTorch's values.

| op | value | gradient | of the gradient | CPU | CUDA | golden |
|---|---|---|---|---|---|---|
"""
FORMULAS = """
## Built-ins that are formulas

The frontend writes them in the ops above. `value`: the tests in `test/e2e` that compare what is compiled for the CPU with the
definition, written once more in Python; `CUDA`: those of them, and the goldens, that do so on the SIMT device. `gradient` and `of the
gradient`: central differences in float64, compiled (`slopes`), or another test of the value that has the gradient in it; "none" of what
counts or decides, and of metrics.

| built-in | value | gradient | of the gradient | CUDA | golden |
|---|---|---|---|---|---|
"""

CROSSED = """
## Built-ins crossed with shapes

`test/e2e/every-builtin.test` crosses each built-in with classes of shapes (all axes of 1; one axis an odd number, a prime, a multiple of a
vector's width, more than a tile, nothing) and with its attributes, so that each value of each attribute occurs with each class. All cases
are checked by central differences in float64, and each twelfth is compiled for the CPU and compared with the interpreter; a run by hand
compiles all, also in float64 and for the SIMT device. Behind an attribute stands how many values of it are tried, `text` is how a call is
written; `slices` is an index, `drawn` and `drawn_loss` are the formulas of random programs. Metrics that are finished over a whole epoch stand
in `totals.test`.

| built-in | cases | without elements | attributes |
|---|---|---|---|
"""


def camel(name):
    return "".join(part.capitalize() for part in name.split("_"))


def read(root, pattern):
    return {os.path.splitext(os.path.basename(path))[0]: open(path, encoding="utf-8").read()
            for path in sorted(glob.glob(os.path.join(root, pattern), recursive=True))}


def naming(tests, name):
    """The tests whose text has the op: in the dialect's syntax, as its class, or as a word of a table."""
    wanted = re.compile(rf'dl\.{name}\b|dl::{camel(name)}Op\b|"{name}"')
    return [test for test, text in tests.items() if wanted.search(text)]


def orders(root):
    """Orders of derivatives that every case of the gradient tests is checked in: 1, 2."""
    text = open(f"{root}/test/gradients/GradientsTest.cpp", encoding="utf-8").read()
    return {int(order) for order in re.findall(r"^TEST_P\(GradientsTest, \w+\) \{ checkOrder\((\d)\); \}", text, re.M)}


def op_rows(root):
    interpreter, cases = read(root, "test/lib/Interpreter/*.cpp"), read(root, "test/gradients/Cases.cpp")
    golden = read(root, "test/gradients/GoldenCases.cpp") | read(root, "test/e2e/OperationCases.cpp")
    # Those that can be differentiated once are checked once.
    twice = {test: re.sub(r"push_back\(\{(?:(?!push_back).)*?/\*orders=\*/1\}\);", "", text, flags=re.S) for test, text in cases.items()}
    rows = set(re.findall(r'^      \{"(\w+)",', interpreter["ElementwiseTable"], re.M))
    kernels = [read(root, f"test/codegen/{target}/**/*Test.cpp") for target in ("CPU", "CUDA")]
    lines = {}
    for title, text in SECTION.findall(make_page(root)):
        name = title.removeprefix("dl.")
        if name in STRUCTURE:
            continue
        interfaces = " ".join(re.findall(r"^Interfaces: (.*)", text, re.M))
        is_formula, has_rule = "Decomposable" in interfaces, "Differentiable" in interfaces
        has_gradient = has_rule or (is_formula and not re.search(r"[Nn]ot\s+differentiable", text))
        checked = {order for order in orders(root) if name in rows or naming(cases if order == 1 else twice, name)}
        slopes = ["none" if not has_gradient else "checked" if order in checked else "by its formula" if is_formula else "-"
                  for order in (1, 2)]
        targets = []
        for tests in kernels:
            found = naming(tests, name)
            if name in rows and any("blockOfAllElementwise" in text for text in tests.values()):
                found = sorted({*found, "MapTest"})
            targets.append(", ".join(found) or ("formula" if is_formula else "-"))
        value = "yes" if name in rows or naming(interpreter, name) else "-"
        lines[name] = f"| `{name}` | {value} | {' | '.join(slopes)} | {' | '.join(targets)} | {'yes' if naming(golden, name) else '-'} |"
    return lines


def builtins(root):
    """Those that compute with tensors."""
    text = open(f"{root}/docs/language.md", encoding="utf-8").read()
    sections = re.findall(r"^### (?:Layers|Functions of tensors|Losses|Metrics)\n(.*?)(?=^### )", text, re.M | re.S)
    return re.findall(r"^\| `(\w+)\(", "".join(sections), re.M)


def calling(programs, name):
    return [program for program, text in programs.items() if re.search(rf"(?<!\w){name}\(|\|> *{name}\b", text)]


def formula_rows(root, ops):
    checks = {stem.removeprefix("check_"): text for stem, text in read(root, "test/e2e/Inputs/check_*.py").items()}
    programs = {stem: text for stem, text in read(root, "test/e2e/Inputs/*.dl").items() if stem in checks}
    tests = read(root, "test/e2e/*.test")
    simulated = {stem for stem in programs if re.search(rf"Inputs/{stem}\.dl\b.*--target=cuda:simt", tests.get(stem, ""))}
    slopes = programs.pop("slopes")
    results = {"slopes": re.sub(r"^.*?model Slopes", "", slopes, flags=re.S).split("values = []")[0]}
    twice = "curve" in slopes and '"curve"' in checks["slopes"]
    golden = read(root, "test/e2e/OperationCases.cpp")
    goldens_simulated = "--operations '*'" in tests["goldens-simt"]
    for name in builtins(root):
        if name in ops or name in CHOICES or NAMES.get(name) in ops:
            continue
        values = calling(programs, name)
        is_golden = bool(naming(golden, name))
        others = [stem for stem in values if "gradient." in checks[stem]]
        first = "none" if name in STEPS else "slopes" if calling(results, name) else ", ".join(others) or "-"
        second = "none" if name in STEPS else "slopes" if first == "slopes" and twice else "-"
        cuda = [stem for stem in values if stem in simulated] + ["goldens-simt"] * (is_golden and goldens_simulated)
        yield f"| `{name}` | {', '.join(values) or '-'} | {first} | {second} | {', '.join(cuda) or '-'} | {'yes' if is_golden else '-'} |"


def crossed_rows(root):
    lacking = set(builtins(root)) - set(TABLE) - set(TOTALS)
    if lacking:
        sys.exit(f"test/e2e/Inputs/builtin_cases.py lacks {', '.join(sorted(lacking))}")
    for name in TABLE:
        found = [(size, draw) for size in SIZES for _, draw in draws(name, size, 1)]
        asked = {}
        for _, draw in found:
            for attribute, count in draw.asked.items():
                asked[attribute] = max(count, asked.get(attribute, 0))
        empty = "yes" if any(size == "zero" for size, _ in found) else "-"
        yield f"| `{name}` | {len(found)} | {empty} | {', '.join(f'{attribute} {count}' for attribute, count in asked.items()) or '-'} |"


def page(root):
    ops = op_rows(root)
    names = [f"- `{op}`: " + ", ".join(f"`{name}`" for name in NAMES if NAMES[name] == op) for op in sorted(set(NAMES.values()) & set(ops))]
    return (HEAD + "\n".join(ops.values()) + "\n" + FORMULAS + "\n".join(formula_rows(root, ops)) +
            "\n\nOthers are an op under another name:\n\n" + "\n".join(names) + "\n" + CROSSED + "\n".join(crossed_rows(root)) + "\n")


def main():
    root = sys.argv[1]
    path, wanted = os.path.join(root, "docs", "ops-coverage.md"), page(root)
    if "--check" not in sys.argv:
        open(path, "w", encoding="utf-8").write(wanted)
    elif open(path, encoding="utf-8").read() != wanted:
        sys.exit(f"{path} is not what the tests say: ops_coverage.py {root}")
    ops, rest = wanted.split(FORMULAS)
    formulas, crossed = rest.split(CROSSED)
    print(ops.count("\n| `"), "ops,", formulas.count("| `"), "formulas,", crossed.count("| `"), "crossed with shapes")


if __name__ == "__main__":
    main()
