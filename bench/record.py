#!/usr/bin/env python3
"""Runs a benchmark that prints JSON lines and keeps what it printed, with the machine and the versions, in bench/results.

usage: record.py [--out FOLDER] NAME COMMAND...      for example: record.py kernels build/release/bin/bench-kernels --json
Writes FOLDER/DATE-NAME.json, FOLDER being bench/results: date, command, host, versions, and `figures`, the JSON lines as they were printed. A
command that ends with an error leaves those it has printed, beside its `status`, and record.py ends with it, too.
"""
import argparse
import datetime
import json
import os
import platform
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def first_line(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout.splitlines()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return None


def cpu():
    fields = dict(line.split(":", 1) for line in open("/proc/cpuinfo").read().split("\n\n")[0].splitlines())
    return {key.strip(): value.strip() for key, value in fields.items() if key.strip() in ("model name", "cpu MHz", "cache size", "flags")}


def without_folders(part):
    """An absolute path, also behind `idx:` or `--flag=`, as from the repository; of one that lies elsewhere the last name, as for another machine."""
    found = re.fullmatch(r"([\w-]+[:=])?(/.*)", part)
    if not found:
        return part
    before, path = found[1] or "", found[2]
    return before + (os.path.relpath(path, ROOT) if path.startswith(ROOT) else os.path.basename(path))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", default=os.path.join(ROOT, "bench/results"))
    parser.add_argument("name")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    command = arguments.command
    if not command:
        parser.error("no command")
    load = os.getloadavg()[0]  # of others, before the command makes its own
    out = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    today = datetime.date.today().isoformat()
    record = {
        "date": today,
        "command": [without_folders(part) for part in command],
        "host": {**cpu(), "cores": os.cpu_count(), "load": load, "system": platform.platform()},
        "versions": {"commit": first_line("git", "rev-parse", "HEAD"), "dlc": first_line("build/release/bin/dlc", "--version"),
                     "clang": first_line("clang-22", "--version"), "onednn": first_line("dpkg-query", "-Wf", "${Version}", "libdnnl-dev")},
        "figures": [json.loads(line) for line in out.stdout.splitlines() if line.startswith("{")],
    }
    failed = f"record: {command[0]} ended with status {out.returncode}"
    if out.returncode != 0:
        record["status"] = out.returncode
        if not record["figures"]:
            sys.exit(failed + "; nothing was written")
    os.makedirs(arguments.out, exist_ok=True)
    path = os.path.join(arguments.out, f"{today}-{arguments.name}.json")
    with open(path, "w") as file:
        file.write(json.dumps(record, indent=1) + "\n")
    print(f"{len(record['figures'])} figures in {os.path.relpath(path)}")
    if out.returncode != 0:
        sys.exit(failed)


if __name__ == "__main__":
    main()
