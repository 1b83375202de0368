"""Kills, terminates and starves a training run of disk space again and again, and checks that nothing is lost.

usage: attack_training.py FOLDER [ROUNDS]      FOLDER: what make-small-module wrote; 200 rounds by default

Each round continues the run from its checkpoint and attacks it after a random number of steps:
  kill        SIGKILL: the checkpoint is the one before the last that was due, which may still be written, or a newer one
  terminate   SIGTERM, SIGINT or SIGHUP: the checkpoint holds the last step that was reported
  unheard     standard output is closed: the same, and exit code 1
  full        no room for checkpoints, for a while or until a SIGKILL: the run goes on, with a warning and exit code 1 for each
              that was due in that time
The disk is a tmpfs in a namespace of its own where that is allowed, which a file fills; else a limit on the size of files.
The run keeps its last three checkpoints, and the best: each file is whole at any time, and holds the step that its name says.
In the end they have the bits of those of a run that nobody disturbed, and no temporary file is left.
"""
import collections
import errno
import json
import os
import random
import resource
import shutil
import signal
import struct
import subprocess
import sys

EVERY = 3  # steps between checkpoints


def fail(text):
    sys.exit(f"attack_training.py: {text}")


def stored_step(path):
    """The step of a checkpoint; 0 if there is none yet."""
    if not os.path.exists(path):
        return 0
    content = open(path, "rb").read()
    size = struct.unpack("<Q", content[:8])[0]
    return int(json.loads(content[8:8 + size])["__metadata__"]["step"])


class Disk:
    """A place for the checkpoint that can be made full."""

    def __init__(self, folder):
        self.folder = os.path.join(folder, "disk")
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        self.is_mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", self.folder],
                                         stderr=subprocess.DEVNULL).returncode == 0
        self.ballast = os.path.join(self.folder, "ballast")

    def fill(self, process):
        if not self.is_mounted:
            return self.limit(process, 0)
        with open(self.ballast, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise

    def clear(self, process):
        if not self.is_mounted:
            self.limit(process, resource.RLIM_INFINITY)
        elif os.path.exists(self.ballast):
            os.remove(self.ballast)

    @staticmethod
    def limit(process, size):
        if process.poll() is None:
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


class Attack:
    def __init__(self, folder, rounds):
        self.folder, self.rounds, self.random = folder, rounds, random.Random(7)
        self.disk = Disk(folder)
        self.checkpoint = os.path.join(self.disk.folder, "c.safetensors")
        self.target = rounds * 80  # steps in all, more than the rounds can take
        self.counts, self.warnings = collections.Counter(), 0

    def start(self, checkpoint, steps):
        resume = ["--resume"] if stored_step(checkpoint) else []
        return subprocess.Popen(
            ["dlc-run", "train", f"{self.folder}/small.so", "--data", f"idx:{self.folder}/data", "--epochs", "100000", "--json",
             "--threads", "1", "--steps", str(steps), "--checkpoint", checkpoint, "--checkpoint-every", str(EVERY), "--keep", "3",
             "--save-best", "loss"] + resume,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, pipesize=4096)  # so that it does not run far ahead of us

    def read_steps(self, process, count):
        """Reads so many reports of steps, or to the end; the last step."""
        step = 0
        while count > 0 and (line := process.stdout.readline()):
            report = json.loads(line)
            if "seconds" in report and "summary" not in report:
                step, count = report["step"], count - 1
        return step

    def finish(self, process, expected):
        """Reads the rest; the last step that was reported, 0 if none was."""
        step = self.read_steps(process, sys.maxsize)
        errors = "".join(line for line in process.stderr.read().decode().splitlines(keepends=True) if not line.startswith("note: "))
        code = process.wait()
        self.warnings += errors.count("warning: ")
        if code not in expected or (code == 0) != (errors == "") and code >= 0:
            fail(f"round {self.round}: exit code {code}, expected {expected}: {errors}")
        return step

    def kill(self, process, seen):
        process.kill()
        seen = max(seen, self.finish(process, (-signal.SIGKILL,)))
        # A step is reported before it is saved, and saving waits for the checkpoint before.
        return max(self.before, (seen - 1) // EVERY * EVERY - EVERY)

    def terminate(self, process, seen):
        process.send_signal(self.random.choice([signal.SIGTERM, signal.SIGINT, signal.SIGHUP]))
        return max(seen, self.finish(process, (0,)))

    def unheard(self, process, seen):
        process.stdout.close()
        errors = process.stderr.read().decode()
        if process.wait() != 1 or "cannot write to standard output" not in errors:
            fail(f"round {self.round}: exit code {process.returncode} without output: {errors}")
        return seen

    def full(self, process, seen):
        self.disk.fill(process)
        before = stored_step(self.checkpoint)
        seen = max(seen, self.read_steps(process, 2 * EVERY))
        if self.random.random() < 0.5:
            process.kill()
            self.finish(process, (-signal.SIGKILL,))
            self.disk.clear(process)
            return before
        self.disk.clear(process)
        process.send_signal(signal.SIGTERM)
        return max(seen, self.finish(process, (0, 1)))

    def check_kept(self):
        for name in os.listdir(self.disk.folder):
            _, mark, step = name.partition(".step-")
            held = stored_step(os.path.join(self.disk.folder, name)) if name.startswith("c.") and not name.endswith(".tmp") else 0
            if mark and held != int(step):
                fail(f"round {self.round}: {name} holds step {held}")

    def run(self):
        place = os.path.join(self.folder, "undisturbed")
        shutil.rmtree(place, ignore_errors=True)
        os.makedirs(place)
        undisturbed = os.path.join(place, "c.safetensors")
        self.round = 0
        self.finish(self.start(undisturbed, self.target), (0,))
        attacks = [self.kill, self.terminate, self.unheard, self.full]
        for self.round in range(1, self.rounds + 1):
            self.before = stored_step(self.checkpoint)
            process = self.start(self.checkpoint, self.target - self.before)
            seen = self.read_steps(process, self.random.randrange(0, 6))
            # The first step waits for a reader at most, so that the signals' handlers are there.
            seen = seen or self.read_steps(process, 1)
            attack = self.random.choice(attacks)
            least = attack(process, seen)
            self.counts[attack.__name__] += 1
            self.check_kept()
            if not least <= stored_step(self.checkpoint):
                fail(f"round {self.round}: {attack.__name__}: the checkpoint holds step {stored_step(self.checkpoint)}, "
                     f"expected {least} or more")
        reached = stored_step(self.checkpoint)
        if reached >= self.target:
            fail("the rounds took all steps")
        self.finish(self.start(self.checkpoint, self.target - reached), (0,))
        if sorted(os.listdir(self.disk.folder)) != sorted(os.listdir(place)):
            fail(f"there are {os.listdir(self.disk.folder)}, of the undisturbed run {os.listdir(place)}")
        for name in os.listdir(place):
            if open(os.path.join(place, name), "rb").read() != open(os.path.join(self.disk.folder, name), "rb").read():
                fail(f"{name} has other bits than that of the undisturbed run")
        if self.counts["full"] and not self.warnings:
            fail("no checkpoint met a full disk")
        print(f"{self.rounds} attacks ({', '.join(f'{name} {count}' for name, count in sorted(self.counts.items()))}) on "
              f"{self.target} steps, {'tmpfs' if self.disk.is_mounted else 'limited files'}, {self.warnings} "
              f"checkpoints without room: nothing lost, the same bits")


def main():
    if "DLC_ATTACK_INSIDE" not in os.environ and shutil.which("unshare"):
        inside = dict(os.environ, DLC_ATTACK_INSIDE="1")
        if subprocess.run(["unshare", "-rm", "true"], stderr=subprocess.DEVNULL).returncode == 0:
            return subprocess.run(["unshare", "-rm", sys.executable] + sys.argv, env=inside).returncode
    for ignored in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):  # by whoever started us; dlc-run would follow
        signal.signal(ignored, signal.SIG_DFL)
    Attack(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 200).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
