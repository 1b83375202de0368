"""The page docs/ops-coverage.md: each op of the dl dialect and the tests that name it.

usage: ops_coverage.py ROOT [--check]

Ops, and whether they are differentiable or become a formula, are the dialect's own (mlir-tblgen); a cell says which tests name the
op, so a test that goes takes its cell along. --check fails if the page is another.
"""
import glob
import os
import re
import sys

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "dialects", "DL"))
from check_documentation import SECTION, make_page

# Ops of programs, not of values: entries, variables, what passes build.
STRUCTURE = {"entry", "return", "variable", "read", "assign", "scalar", "fused", "multi_tensor", "yield", "gradient", "convert_layout",
             "all_reduce"}
HEAD = """# Ops and their tests

Made by `test/docs/ops_coverage.py` from the dialect's definition and the tests; a test holds it to them. `value`: the interpreter's
own formula, the oracle of the others. `gradient`: central differences in float64, of the op and of its gradient; "none" where it is
not differentiable. `CPU` and `CUDA` (on the SIMT device): the tests of generated kernels that name the op; "formula": it has no
kernel of its own, its formula in primitives is compiled. `golden`: PyTorch's values.

| op | value | gradient | of the gradient | CPU | CUDA | golden |
|---|---|---|---|---|---|---|
"""


def camel(name):
    return "".join(part.capitalize() for part in name.split("_"))


def read(root, pattern):
    return {os.path.splitext(os.path.basename(path))[0]: open(path, encoding="utf-8").read()
            for path in sorted(glob.glob(os.path.join(root, pattern)))}


def naming(tests, name):
    """The tests whose text has the op: in the dialect's syntax, as its class, or as a word of a table."""
    wanted = re.compile(rf'dl\.{name}\b|dl::{camel(name)}Op\b|"{name}"')
    return [test for test, text in tests.items() if wanted.search(text)]


def page(root):
    interpreter, cases = read(root, "test/lib/Interpreter/*.cpp"), read(root, "test/gradients/Cases.cpp")
    golden = read(root, "test/gradients/GoldenCases.cpp") | read(root, "test/e2e/OperationCases.cpp")
    rows = set(re.findall(r'^      \{"(\w+)",', interpreter["ElementwiseTable"], re.M))
    kernels = [read(root, f"test/codegen/{target}/*Test.cpp") for target in ("CPU", "CUDA")]
    lines = []
    for title, text in SECTION.findall(make_page(root)):
        name = title.removeprefix("dl.")
        if name in STRUCTURE:
            continue
        interfaces = " ".join(re.findall(r"^Interfaces: (.*)", text, re.M))
        is_formula, has_rule = "Decomposable" in interfaces, "Differentiable" in interfaces
        has_gradient = has_rule or (is_formula and not re.search(r"[Nn]ot\s+differentiable", text))
        checked = name in rows or naming(cases, name)
        gradient = "none" if not has_gradient else "checked" if checked else "by its formula" if is_formula else "-"
        targets = []
        for tests in kernels:
            found = naming(tests, name)
            if name in rows and any("blockOfAllElementwise" in text for text in tests.values()):
                found = sorted({*found, "MapTest"})
            targets.append(", ".join(found) or ("formula" if is_formula else "-"))
        value = "yes" if name in rows or naming(interpreter, name) else "-"
        lines.append(f"| `{name}` | {value} | {gradient} | {gradient} | {' | '.join(targets)} | {'yes' if naming(golden, name) else '-'} |")
    return HEAD + "\n".join(lines) + "\n"


def main():
    root = sys.argv[1]
    path, wanted = os.path.join(root, "docs", "ops-coverage.md"), page(root)
    if "--check" not in sys.argv:
        open(path, "w", encoding="utf-8").write(wanted)
    elif open(path, encoding="utf-8").read() != wanted:
        sys.exit(f"{path} is not what the tests say: ops_coverage.py {root}")
    print(wanted.count("\n| `"), "ops")


if __name__ == "__main__":
    main()
