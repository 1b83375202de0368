"""Fails where an entry of an example has an arena of more than 1.05 times its live bytes; prints both for all.

usage: check_memory.py EXAMPLES TARGET [FLAG...]
"""
import pathlib
import re
import subprocess
import sys

wrong = 0
for model in sorted(pathlib.Path(sys.argv[1]).glob("*/*.dl")):
    plan = subprocess.run(["dlc", "--emit=exec", f"--target={sys.argv[2]}", *sys.argv[3:], model], capture_output=True, text=True)
    if plan.returncode != 0 and "is not available yet" in plan.stderr:
        continue
    if plan.returncode != 0:
        sys.exit(plan.stderr)
    for name, attributes in re.findall(r"exec\.program @(\w+) attributes \{(.*)\} \{", plan.stdout):
        sizes = [re.search(rf"\b{key} = (\d+)", attributes) for key in ("arena_bytes", "live_bytes")]
        if sizes == [None, None]:  # nothing of its own: what it computes are variables
            continue
        arena, live = (int(size[1]) for size in sizes)
        print(model.stem, name, arena, live, f"{arena / live:.3f}")
        wrong += arena > 1.05 * live
sys.exit(f"{wrong} arenas are too large" if wrong else 0)
