"""A second signal ends a run at once; one that the parent ignores is ignored.

usage: signals.py FOLDER      FOLDER: what make-small-module wrote
"""
import array
import fcntl
import os
import signal
import subprocess
import sys
import termios

for ignored in (signal.SIGHUP, signal.SIGTERM):  # by whoever started us; dlc-run would follow
    signal.signal(ignored, signal.SIG_DFL)
folder = sys.argv[1]
command = ["dlc-run", "train", f"{folder}/small.so", "--data", f"idx:{folder}/data", "--epochs", "1000", "--json"]


def catches(process, number):
    """Whether a process has a handler for a signal; the first signal takes it away."""
    for line in open(f"/proc/{process}/status", encoding="utf-8"):
        if line.startswith("SigCgt:"):
            return int(line.split()[1], 16) >> (number - 1) & 1
    return 0


# The run waits for a reader of its reports, so the first signal has no effect yet when the second comes.
read, write = os.pipe()
size = fcntl.fcntl(write, 1031, 4096)  # F_SETPIPE_SZ
process = subprocess.Popen(command, stdout=write)
waiting = array.array("i", [0])
while waiting[0] < size - 200:
    if process.poll() is not None:
        sys.exit(f"dlc-run ended with {process.returncode} before it waited for a reader")
    fcntl.ioctl(read, termios.FIONREAD, waiting)
process.send_signal(signal.SIGTERM)
while catches(process.pid, signal.SIGTERM):  # until the first one has arrived: two that wait are one
    pass
process.send_signal(signal.SIGTERM)
try:
    print("second signal:", process.wait(timeout=120))
finally:
    process.kill()

# As nohup does.
process = subprocess.Popen(command + ["--steps", "20"], stdout=subprocess.PIPE,
                           preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
process.stdout.readline()
process.send_signal(signal.SIGHUP)
lines = process.stdout.read().splitlines()
print("ignored signal:", process.wait(), b'"steps":20' in lines[-1])
