"""Runs `dlc-run launch --restarts 2` with an mpirun that fails each time, on hosts of which some do not answer at the first restart, and prints
what mpirun was told of ranks and hosts and what launch says: with as many ranks each time, with fewer, and where nobody answers. The addresses
are kept for documentation (RFC 5737), so that no machine has them.

usage: silent_host.py FOLDER      FOLDER: for the programs
"""
import os
import re
import subprocess
import sys

FOLDER = sys.argv[1]
MPIRUN = """#!/bin/bash
[[ $1 != --version ]] || { echo 'mpirun (Open MPI) 4.1.4'; exit; }
printf '%s ' "$@" | sed 's/ --oversub.* --host/ --host/; s/ [^ ]*dlc-run .*/\\n/' >&2
echo 'error: failed' >&2
exit 1
"""
# .6 always answers, .7 from the second time on, .8 never.
AGENT = """#!/bin/bash
case $1 in
  *.6) exit 0 ;;
  *.7) [[ -e $0.asked ]] && exit 0; touch "$0.asked"; exit 255 ;;
  *) exit 255 ;;
esac
"""


def write(name, text):
    with open(f"{FOLDER}/{name}", "w") as file:
        file.write(text)
    os.chmod(f"{FOLDER}/{name}", 0o755)


def launch(ranks, hosts, *flags):
    if os.path.exists(f"{FOLDER}/agent.asked"):
        os.remove(f"{FOLDER}/agent.asked")
    command = ["dlc-run", "launch", "-n", str(ranks), "--bind", "none", "--hosts", hosts, "--restarts", "2", *flags, "--", "train", "m.so", "--data",
               "idx:d", "--checkpoint", f"{FOLDER}/c"]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True,
                          env={**os.environ, "PATH": f"{FOLDER}:{os.environ['PATH']}", "OMPI_MCA_plm_rsh_agent": f"{FOLDER}/agent : rsh"})
    assert done.returncode == 1, done
    print(re.sub("error: failed\n", "", done.stderr), end="")


os.makedirs(FOLDER, exist_ok=True)
write("mpirun", MPIRUN)
write("agent", AGENT)
launch(6, "localhost:2,192.0.2.6:2,192.0.2.7:2")
print("fewer")
launch(6, "localhost:2,192.0.2.6:2,192.0.2.7:2", "--min-ranks", "2")
print("nobody")
launch(4, "192.0.2.7:2,192.0.2.8:2")
