"""Runs what the documentation shows: every line of a ```sh block; every ```python block, where there is no NumPy or Pillow with the few
functions of them in Inputs; every ```dl block through dlc, and those that can be trained as it says, with data that make-digits makes, for
two steps. A block that begins with a comment of its file's name, as `// NAME.cpp`, is a file beside them.

usage: run_commands.py ROOT WORK FILE...
Left out: lines that start with scripts/, cmake or pip, because they would build and run these very tests, or fetch NVIDIA's packages;
quick-start.test runs the quick start, test/scripts runs scripts/install-deps.sh --cuda with small packages; and sbatch, for train_in_slurm.py. Prints each command; exits 1 with its output at the first that fails.
"""
import importlib.util
import os
import re
import subprocess
import sys

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.M | re.S)
NAMED = re.compile(r"(?://|!|#) (\w+\.(?:cpp|c|f90|py|dl))\n")
SKIPPED = ("scripts/", "cmake ", "pip ", "sbatch ")


def run(command, work):
    print("$", command, flush=True)
    done = subprocess.run(["bash", "-euc", command], cwd=work, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{done.stdout}{done.stderr}\nfailed with {done.returncode}: {command}")


def main():
    root, files = sys.argv[1], sys.argv[3:]
    lacking = [f"{root}/test/docs/Inputs/{name}" for name in ("numpy", "PIL") if not importlib.util.find_spec(name)]
    if lacking:
        os.environ["PYTHONPATH"] = os.pathsep.join(lacking)
    count = 0
    for place, file in enumerate(files):  # each in a folder of its own
        work = os.path.join(sys.argv[2], str(place))
        os.makedirs(work, exist_ok=True)
        if not os.path.exists(f"{work}/examples"):
            os.symlink(f"{root}/examples", f"{work}/examples")
        for number, (language, text) in enumerate(BLOCK.findall(open(file, encoding="utf-8").read())):
            if named := language in ("cpp", "c", "fortran", "python", "dl") and NAMED.match(text):
                open(f"{work}/{named[1]}", "w", encoding="utf-8").write(text)
                continue
            if language == "dl":
                open(f"{work}/block{number}.dl", "w", encoding="utf-8").write(text)
                trained = re.search("^train ", text, re.M)
                text = f"dlc block{number}.dl -o block{number}.so\n"
                if trained:
                    text += "[ -d few ] || make-digits few --train 96 --test 32\n"
                    text += f"dlc-run train block{number}.so --data idx:few --steps 2\n"
            elif language == "python":
                open(f"{work}/block{number}.py", "w", encoding="utf-8").write(text)
                text = f"{sys.executable} block{number}.py"
            elif language != "sh":
                continue
            for line in text.splitlines():
                if line.strip() and not line.startswith(SKIPPED):
                    run(line, work)
                    count += 1
    print(f"{count} commands ran")


if __name__ == "__main__":
    main()
