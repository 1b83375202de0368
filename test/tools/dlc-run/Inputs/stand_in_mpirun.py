"""Runs `dlc-run launch` with programs in mpirun's place that end as mpirun has been seen to. What must hold: exit code 1 and one line of what
has happened, output that is lost is a failure, and no process is left.

usage: stand_in_mpirun.py FOLDER      FOLDER: for the programs
"""
import os
import re
import signal
import subprocess
import sys

FOLDER = sys.argv[1]
PARAGRAPH = "-" * 74


def start(program, **options):
    with open(f"{FOLDER}/mpirun", "w") as file:
        file.write(f"#!/bin/bash\n[[ $1 != --version ]] || {{ echo 'mpirun (Open MPI) 4.1.4'; exit; }}\n{program}\n")
    os.chmod(f"{FOLDER}/mpirun", 0o755)
    return subprocess.Popen(["dlc-run", "launch", "-n", "2", "--", "link"], text=True, stderr=subprocess.PIPE,
                            env={**os.environ, "PATH": f"{FOLDER}:{os.environ['PATH']}"}, **{"stdout": subprocess.PIPE, **options})


def expect(process, code, said):
    found = process.stderr.read()
    assert process.wait() == code and re.fullmatch(said, found), f"exit code {process.returncode}: {found}"


def check_ends():
    expect(start("echo note >&2"), 0, "note\n")
    expect(start("kill -KILL $$"), 1, r"error: launch: mpirun ended by signal 9 \(Killed\)\n")
    expect(start("exit 15"), 1, "error: launch: mpirun ended with exit code 15\n")
    expect(start("exit 2"), 1, "error: launch: mpirun ended with exit code 2\n")
    expect(start("echo error: no data >&2; exit 1"), 1, "error: no data\n")
    words = f"{PARAGRAPH}\nmpirun noticed that process rank 1 with PID 0 on node vm exited on signal 9 (Killed).\n{PARAGRAPH}"
    expect(start(f"echo '{words}' >&2; exit 137"), 1, r"error: rank 1 ended by signal 9 \(Killed\)\n")
    # The survivors know more: the step.
    expect(start(f"echo 'error: rank 1 ended in step 3' >&2; echo '{words}' >&2; exit 137"), 1, "error: rank 1 ended in step 3\n")
    # A crash of mpirun itself, behind its ranks.
    crash = "echo error: no data >&2; printf '[vm:%05d] *** Process received signal ***\\n' $$ >&2; kill -SEGV $$"
    expect(start(crash), 1, "error: no data\n")


def check_output():
    with open("/dev/full", "w") as full:
        expect(start("echo line; echo line", stdout=full), 1, "error: cannot write to standard output: No space left on device\n")
    # Without an end of its own: it is asked to stop when the reader has gone.
    process = start("trap 'echo note: stopped >&2; exit 0' USR2\nwhile echo line; do :; done")
    assert process.stdout.readline() == "line\n"
    process.stdout.close()
    expect(process, 1, "note: stopped\nerror: cannot write to standard output: Broken pipe\n")


def check_no_process_is_left():
    """All that are started hold `held`, so reading from the other end of the pipe ends with the last of them."""
    for killed in ["mpirun", "launch"]:
        watched, held = os.pipe()
        rank = "(trap '' TERM HUP; kill -STOP $BASHPID; while :; do read -t 9 <> <(:); done) & echo $!"
        process = start(f"trap '' TERM HUP\n{rank}\n" + ("kill -KILL $$" if killed == "mpirun" else "while :; do wait; done"),
                        pass_fds=[held])
        os.close(held)
        process.stdout.readline()
        if killed == "launch":
            process.send_signal(signal.SIGKILL)
        assert os.read(watched, 1) == b""
        process.wait()
        os.close(watched)


os.makedirs(FOLDER, exist_ok=True)
check_ends()
check_output()
check_no_process_is_left()
print("one line and exit code 1 each time, and nothing left")
