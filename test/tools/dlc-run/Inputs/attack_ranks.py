"""Trains on three ranks and each time kills, stops or asks one of them to end. What must hold: all processes end, in time and not with
success (but where one was asked to end: then all stop together, well); the survivors say which rank it was and in which step; no process
is left; the checkpoint is whole.

usage: attack_ranks.py FOLDER RUNS      FOLDER is what make-small-module FOLDER wrote
"""
import os
import random
import re
import signal
import subprocess
import sys
import time

RANKS = 3
# What the survivors may take: a rank that is gone is seen at once, one that is silent after --timeout; then mpirun takes two seconds.
# A machine that is busy with other tests takes longer.
TIMEOUT, PATIENCE = 4, 15


def ranks_of(launcher):
    """Process ids by rank of all that `launcher` started."""
    found, family = {}, {launcher}
    for _ in range(3):
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                parent = int(open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[1])
                if parent not in family:
                    continue
                family.add(int(pid))
                environment = open(f"/proc/{pid}/environ", "rb").read().decode(errors="replace")
            except OSError:
                continue
            if match := re.search(r"OMPI_COMM_WORLD_RANK=(\d+)", environment):
                found[int(match[1])] = int(pid)
    return found


def is_there(pid):
    try:
        return open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def attack(folder, number, how):
    checkpoint = f"{folder}/ranks{number}.safetensors"
    if os.path.exists(checkpoint):
        os.remove(checkpoint)
    process = subprocess.Popen(
        ["dlc-run", "launch", "-n", str(RANKS), "--", "train", f"{folder}/parallel.so", "--data", f"idx:{folder}/data", "--epochs",
         "1000000", "--checkpoint", checkpoint, "--timeout", str(TIMEOUT), "--json"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    deadline = time.time() + 60
    while not os.path.exists(checkpoint) and time.time() < deadline and process.poll() is None:
        time.sleep(0.02)
    ranks = ranks_of(process.pid)
    time.sleep(random.random() * 0.3)
    assert len(ranks) == RANKS, f"found ranks {ranks}; {process.stderr.read() if process.poll() is not None else ''}"
    victim = random.randrange(RANKS)
    start = time.time()
    os.kill(ranks[victim], how)
    try:
        said = process.communicate(timeout=PATIENCE + TIMEOUT + 30)[1].decode()
    finally:
        process.kill()
    took = time.time() - start
    left = [pid for pid in ranks.values() if is_there(pid)]
    assert not left, f"{how.name}: processes are left: {left}"
    whole = subprocess.run(["dlc-run", "eval", f"{folder}/parallel.so", "--data", f"idx:{folder}/data", "--checkpoint", checkpoint],
                           capture_output=True, text=True)
    assert whole.returncode == 0, f"{how.name}: the checkpoint: {whole.stderr}"
    limit = PATIENCE + (TIMEOUT if how == signal.SIGSTOP else 0)
    assert took < limit, f"{how.name} of rank {victim} took {took:.1f} s: {said}"
    if how == signal.SIGTERM:
        assert process.returncode == 0, f"asked to end, exit code {process.returncode}: {said}"
    else:
        assert process.returncode != 0, f"{how.name} of rank {victim} went unnoticed: {said}"
        assert re.search(rf"rank {victim} .* in step [1-9]", said), f"{how.name} of rank {victim}: {said}"
    print(f"{how.name} of rank {victim}: {took:.1f} s")


def main():
    folder, runs = sys.argv[1], int(sys.argv[2])
    random.seed(runs)
    kinds = [signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP, signal.SIGABRT]
    for number in range(runs):
        attack(folder, number, kinds[number % len(kinds)])
    print(f"{runs} runs, nothing left and nothing lost")


if __name__ == "__main__":
    main()
