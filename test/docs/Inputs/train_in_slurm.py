"""Submits the job script of docs/clusters.md to a Slurm of one machine, as the page does, and sends it the signal that comes before its time is
over: it is queued again, and ends with the bits of the same training without Slurm and without an end. So does the script without PMIx.

usage: train_in_slurm.py PAGE WORK UNPACKED      UNPACKED: what scripts/install-deps.sh --slurm makes
"""
import os
import re
import subprocess
import sys

import slurm_of_one

PAGE, WORK, UNPACKED = sys.argv[1:]
NAME, LOG, CHECKPOINT = "train.sbatch", "lenet.log", "lenet.safetensors"
# Of the model.
EPOCHS = 2
# As the page says: in the place of the first stands the second.
WITHOUT_PMIX = {'srun --mpi=pmix --cpus-per-task="$SLURM_CPUS_PER_TASK" dlc-run': 'dlc-run launch -n "$SLURM_NTASKS" --',
                'scancel --signal=TERM "$SLURM_JOB_ID"': "kill $!"}


def lines_of(path, process):
    """The lines of a file as they are written, until a process ends."""
    follower = subprocess.Popen(["tail", "-n", "+1", "-F", f"--pid={process}", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        yield from follower.stdout
    finally:
        follower.kill()
        follower.wait()


def read(path):
    with open(path, "rb") as file:
        return file.read()


def wait_for(slurm, job, state):
    """What Slurm says of a job that is about to come into a state. Each question takes Slurm some milliseconds."""
    for _ in range(10000):
        described = slurm.run("scontrol", "show", "job", job).stdout
        if f"JobState={state}" in described:
            return described
    sys.exit(f"job {job} is not {state}: {described}{slurm.said()}")


def prepare():
    """Makes data and module by the page's commands; its script."""
    with open(PAGE, encoding="utf-8") as file:
        text = file.read()
    commands = re.search(r"^```sh\n(make-digits .*?)^```", text, re.M | re.S)[1]
    subprocess.run(["bash", "-euc", commands], cwd=WORK, check=True, stdout=subprocess.DEVNULL)
    script = re.search(r"^```bash\n(#!/bin/bash\n.*?)^```", text, re.M | re.S)[1]
    assert len(script.splitlines()) == 10 and f"\nsbatch {NAME}\n" in text, script
    return script


def train(slurm, script, folder):
    os.mkdir(folder)
    for name in ("digits", "lenet.so"):
        os.symlink(f"{WORK}/{name}", f"{folder}/{name}")
    with open(f"{folder}/{NAME}", "w") as file:
        file.write(script)
    # It lives as long as the job and some seconds.
    submitted = subprocess.Popen(["sbatch", "--parsable", "--wait", NAME], cwd=folder, env=slurm.environment, text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    job, stopped = submitted.stdout.readline().strip(), False
    for line in lines_of(f"{folder}/{LOG}", submitted.pid):
        if line.startswith("epoch 1 "):
            slurm.run("scancel", "--batch", "--signal=TERM", job, check=True)
        if "note: stopped after step" in line:
            stopped = True
            # A job that is queued again waits two minutes, so that what ended it may pass.
            wait_for(slurm, job, "PENDING")
            slurm.run("scontrol", "update", f"JobId={job}", "StartTime=now", check=True)
        if "note: done after" in line:
            break
        assert not line.startswith("error"), line + slurm.said()
    described = wait_for(slurm, job, "COMPLETED")
    submitted.kill()
    submitted.wait()
    log = read(f"{folder}/{LOG}").decode()
    assert stopped and "Restarts=1" in described and "ExitCode=0:0" in described, described + log
    assert [int(number) for number in re.findall(r"^epoch (\d+) ", log, re.M)] == list(range(1, EPOCHS + 1)), log


def main():
    os.makedirs(WORK)
    os.symlink(f"{os.path.dirname(os.path.dirname(os.path.abspath(PAGE)))}/examples", f"{WORK}/examples")
    try:
        with slurm_of_one.Slurm(UNPACKED, processors=2) as slurm:
            script = prepare()
            train(slurm, script, f"{WORK}/srun")
            for old, new in WITHOUT_PMIX.items():
                assert old in script, script
                script = script.replace(old, new)
            train(slurm, script, f"{WORK}/launch")
    except slurm_of_one.Missing as reason:
        print(f"left out: {reason}")
        return
    words = re.search(r"^run=\((.*)\)$", script, re.M)[1].split()
    assert CHECKPOINT in words, words
    subprocess.run(["dlc-run", "launch", "-n", "2", "--", *words], cwd=WORK, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for folder in ("srun", "launch"):
        assert read(f"{WORK}/{folder}/{CHECKPOINT}") == read(f"{WORK}/{CHECKPOINT}"), folder
    print("trained, stopped and queued again, with the bits of one run, by srun and by launch")


main()
