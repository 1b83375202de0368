"""Checks that each op of a dialect has a summary, an example that names it, and says what its gradient is.

usage: check_documentation.py ROOT      prints one line an omission, exits 1 if there is one
"""
import re
import subprocess
import sys

SECTION = re.compile(r"^### `(\S+)` \(.*?\)\n(.*?)(?=^### |\Z)", re.M | re.S)
CODE = re.compile(r"```.*?```|`[^`]*`", re.S)


def make_page(root):
    include = subprocess.run(["llvm-config", "--includedir"], check=True, capture_output=True, text=True).stdout.strip()
    command = ["mlir-tblgen", "-gen-op-doc", "-dialect=dl", "-I", root, "-I", include, f"{root}/dialects/DL/DLOps.td"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def omissions(name, text):
    text = text.split("\nTraits:")[0].split("\n#### ")[0]
    description = re.sub(r"Syntax:\s*```.*?```", "", text, flags=re.S)
    if not re.match(r"\s*_.+_", text):
        yield "no summary"
    if not any(re.search(re.escape(name) + r"[ (]", code) for code in CODE.findall(description)):
        yield "no example"
    if not re.search(r"Gradient|[Nn]ot\s+differentiable|No\s+gradient", description):
        yield "does not say what its gradient is"


def main():
    sections = SECTION.findall(make_page(sys.argv[1]))
    found = [f"{name}: {what}" for name, text in sections for what in omissions(name, text)]
    print(*found, sep="\n")
    print(f"{len(sections)} ops, {len(found)} omissions")
    return 1 if found or not sections else 0


if __name__ == "__main__":
    sys.exit(main())
