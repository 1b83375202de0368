"""Fails where ResNet-50's training step at a batch of 16 has an arena in bf16 of more than 0.6 times float32's; prints both for each target.

usage: check_half_memory.py EXAMPLES TARGET...
"""
import pathlib
import re
import subprocess
import sys

wrong = 0
for target in sys.argv[2:]:
    sizes = []
    for precision in ("f32", "bf16"):
        plan = subprocess.run(["dlc", "--emit=exec", f"--target={target}", f"--precision={precision}", "-D", "N=16",
                               pathlib.Path(sys.argv[1]) / "resnet50/resnet50.dl"], capture_output=True, text=True)
        if plan.returncode != 0:
            sys.exit(plan.stderr)
        sizes.append(int(re.search(r"exec\.program @train_step attributes \{.*\barena_bytes = (\d+)", plan.stdout)[1]))
    single, half = sizes
    print(target, single, half, f"{half / single:.3f}")
    wrong += half > 0.6 * single
sys.exit(f"{wrong} targets take too much memory in bf16" if wrong else 0)
