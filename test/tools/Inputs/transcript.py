"""Runs the commands of a transcript and compares what they print, to the letter. usage: transcript.py TEST FOLDER

A line "$ COMMAND" is run by a shell in FOLDER; the lines below it, up to an empty line, are all that it prints on both streams.
An exit code other than 0 stands in the last of them: "[2]"; "[...]" in a line is any text. All that differ are shown, and end this with 1.
"""
import os
import re
import subprocess
import sys


def cases(path):
    text = open(path, encoding="utf-8").read()
    for block in re.split(r"\n\s*\n", text):
        lines = block.strip("\n").split("\n")
        while lines and not lines[0].startswith("$ "):
            lines.pop(0)
        if lines:
            yield lines[0][2:], lines[1:]


def run(command, folder):
    done = subprocess.run(command, shell=True, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=300, check=False)
    lines = done.stdout.decode(errors="replace").rstrip("\n").split("\n")
    return [line for line in lines if line] + ([f"[{done.returncode}]"] if done.returncode else [])


def same(found, expected):
    return len(found) == len(expected) and all(
        re.fullmatch(".*".join(re.escape(part) for part in line.split("[...]")), other) for line, other in zip(expected, found))


def main():
    path, folder = sys.argv[1], sys.argv[2]
    os.makedirs(folder, exist_ok=True)
    all_cases, bad = list(cases(path)), 0
    for command, expected in all_cases:
        found = run(command, folder)
        if not same(found, expected):
            bad += 1
            print(f"$ {command}", "expected:", *expected, "found:", *found, "", sep="\n")
    assert all_cases, "no case in " + path
    print(f"{len(all_cases) - bad} of {len(all_cases)} cases as expected")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
