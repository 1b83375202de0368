"""check_untried.py ROOT: each page that promises something of CUDA says once that it has never run on a GPU, until bench/results has a
record of scripts/gpu-check.sh: gpu-check*.json."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
pages = ["README.md", "docs/runtime.md", "docs/performance.md", "docs/tuning.md", "docs/clusters.md", "docs/architecture.md", "docs/embed-cpp.md"]
wanted = 0 if list((root / "bench/results").glob("*gpu-check*.json")) else 1
wrong = []
for page in pages:
    text = re.sub(r"\s+", " ", (root / page).read_text())
    found = len(re.findall(r"(CUDA target|CUDA\*\*) has never run on a GPU", text))
    if found != wanted:
        wrong.append(f"{page}: says {found} times that CUDA has never run on a GPU, expected {wanted}")
print("\n".join(wrong), end="")
sys.exit(bool(wrong))
