"""Fails if the help of a command is longer than LINES of 100 characters. usage: one_screen.py LINES COMMAND..."""
import subprocess
import sys

for command in sys.argv[2:]:
    lines = subprocess.run([*command.split(), "--help"], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    wide = [line for line in lines if len(line) > 100]
    assert len(lines) <= int(sys.argv[1]) and not wide, f"{command}: {len(lines)} lines, too wide: {wide}"
