"""The inner loops of micro-kernels, in the assembly that dlc --emit=asm prints for ARM: an FMA multiplies a whole vector by one lane of
a register, sums stay in registers, nothing reads or writes the stack, and more than a third of the instructions are FMAs.

usage: read_micro_kernels.py FILE: a line a kernel, and exits 1 where one is not so
"""
import re
import sys


def functions(text):
    """(name, lines) of each micro-kernel, in order."""
    for match in re.finditer(r"^(micro_kernel\w*):\n(.*?)^\t\.size\t\1,", text, re.M | re.S):
        yield match[1], match[2].splitlines()


def loops(lines):
    """The lines of each loop that has no other in it."""
    labels = {}
    for number, line in enumerate(lines):
        if match := re.match(r"(\.LBB\w+):", line):
            labels[match[1]] = number
        elif (match := re.match(r"\t(?:b\.\w+|cbn?z\t\w+,|tbn?z\t\w+, #\d+,)\s*(\.LBB\w+)$", line)) and match[1] in labels:
            yield lines[labels[match[1]] + 1 : number + 1]


def main():
    failed = kernels = 0
    for name, lines in functions(open(sys.argv[1], encoding="utf-8").read()):
        for loop in loops(lines):
            code = [line.split("//")[0].strip() for line in loop]
            code = [line for line in code if line and not line.startswith((".", "//"))]
            fmas = [line for line in code if line.startswith("fmla")]
            if not fmas:
                continue
            kernels += 1
            lanes = sum(bool(re.search(r"\.[sd]\[\d\]$", line)) for line in fmas)
            sums = {re.match(r"fmla\s+(v\d+)", line)[1] for line in fmas}
            stack = [line for line in code if re.search(r"\bsp\b", line)]
            other = [line for line in code if re.match(r"(fmul|fadd|dup|mov)\s+v", line)]
            good = not stack and not other and 3 * len(fmas) > len(code)
            failed += not good
            print(f"{name}: {len(fmas)} fmla, {lanes} of them by lane, of {len(code)} instructions, {len(sums)} sums in registers"
                  + ("" if good else f": WRONG {stack + other}"))
    print(f"{kernels} micro-kernels, {failed} wrong")
    sys.exit(bool(failed) or not kernels)


main()
