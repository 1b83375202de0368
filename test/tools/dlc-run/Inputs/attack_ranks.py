"""Trains on three ranks and each time kills, stops or asks one of them to end. What must hold: all processes end, and not with success
(but where one was asked to end: then all stop together, well); the survivors say which rank it was and in which step, and that it ended,
where its connection did, or is silent; no process is left; the checkpoint is whole. How long it takes is printed, and proves nothing: the
machine may be busy with other tests.

Every second attack comes while the ranks start, at any time of it. Who has not joined yet has no step, and whether a request to end is heard
is chance.

usage: attack_ranks.py FOLDER RUNS      FOLDER is what make-small-module FOLDER wrote
"""
import glob
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

RANKS = 3
# Seconds after which a rank that is silent has failed, and after which this test has.
TIMEOUT, PATIENCE = 4, 600


class Listener(threading.Thread):
    """The lines of a stream, with the time at which each came."""

    def __init__(self, stream):
        super().__init__(daemon=True)
        self.stream, self.lines = stream, []
        self.start()

    def run(self):
        for line in self.stream:
            self.lines.append((time.monotonic(), line.decode(errors="replace")))

    def text(self):
        return "".join(line for _, line in self.lines)

    def first(self, pattern):
        """When a line came that has it; never is infinity."""
        return min((when for when, line in self.lines if re.search(pattern, line)), default=float("inf"))


def stacks(pid):
    """Where the threads of a process are: by gdb, else what the kernel says."""
    if shutil.which("gdb"):
        return subprocess.run(["gdb", "-batch", "-p", str(pid), "-ex", "thread apply all bt"], capture_output=True, text=True).stdout
    found = []
    for name in glob.glob(f"/proc/{pid}/task/*/wchan") + glob.glob(f"/proc/{pid}/task/*/stack"):
        try:
            found.append(f"{name}: {open(name).read()}")
        except OSError as error:
            found.append(str(error))
    return "\n".join(found)


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


def attack(folder, number, how, early):
    checkpoint = f"{folder}/ranks{number}.safetensors"
    if os.path.exists(checkpoint):
        os.remove(checkpoint)
    process = subprocess.Popen(
        ["dlc-run", "launch", "-n", str(RANKS), "--", "train", f"{folder}/parallel.so", "--data", f"idx:{folder}/data", "--epochs",
         "1000000", "--checkpoint", checkpoint, "--timeout", str(TIMEOUT), "--json"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    heard = Listener(process.stderr)
    ranks = {}
    while process.poll() is None and (len(ranks) < RANKS if early else not os.path.exists(checkpoint)):
        time.sleep(0.01)
        ranks = ranks_of(process.pid)
    ranks = ranks_of(process.pid)
    time.sleep(random.random() * 0.3)
    assert len(ranks) == RANKS, f"found ranks {ranks}; {heard.text()}"
    victim = random.randrange(RANKS)
    start = time.monotonic()
    os.kill(ranks[victim], how)
    try:
        process.wait(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        for rank, pid in ranks.items():
            if is_there(pid):
                print(f"rank {rank} is still there:\n{stacks(pid)}", file=sys.stderr)
        raise AssertionError(f"{how.name} of rank {victim}: no end; {heard.text()}")
    finally:
        process.kill()
    took = time.monotonic() - start
    heard.join(timeout=5)
    said = heard.text()
    left = [pid for pid in ranks.values() if is_there(pid)]
    assert not left, f"{how.name}: processes are left: {left}"
    if os.path.exists(checkpoint):
        whole = subprocess.run(["dlc-run", "eval", f"{folder}/parallel.so", "--data", f"idx:{folder}/data", "--checkpoint", checkpoint],
                               capture_output=True, text=True)
        assert whole.returncode == 0, f"{how.name}: the checkpoint: {whole.stderr}"
    figures = {"attack": how.name, "rank": victim, "while_starting": early, "exit_code": process.returncode, "seconds": round(took, 2)}
    if how == signal.SIGTERM and process.returncode == 0:
        print(json.dumps(figures))
        return
    assert process.returncode == 1, f"{how.name} of rank {victim}: exit code {process.returncode}: {said}"
    assert how != signal.SIGTERM or early, f"asked to end, exit code {process.returncode}: {said}"
    what = f"rank {victim} " + (f"has not been heard of for {TIMEOUT} s" if how == signal.SIGSTOP else "ended") + " in step [1-9]"
    if early:
        what = rf"rank {victim} ended by signal|rank {victim} .* in step \d|not all ranks have started"
    noticed = heard.first(what) - start
    assert noticed < float("inf"), f"{how.name} of rank {victim}: {said}"
    print(json.dumps({**figures, "noticed_after": round(noticed, 2)}))


def main():
    folder, runs = sys.argv[1], int(sys.argv[2])
    random.seed(runs)
    kinds = [signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP, signal.SIGABRT]
    for number in range(runs):
        attack(folder, number, kinds[number % len(kinds)], early=(number + number // len(kinds)) % 2 == 1)
    print(f"{runs} runs, nothing left and nothing lost")


if __name__ == "__main__":
    main()
