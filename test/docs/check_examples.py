"""Checks that commands which ran compiled and trained every example.

usage: check_examples.py ROOT COMMANDS    COMMANDS: what run_commands.py printed
Each .dl file of examples/ is compiled to a module that a later command trains. Names those that are not.
"""
import glob
import os
import re
import sys

root, commands = sys.argv[1:]
models = {os.path.relpath(path, root) for path in glob.glob(f"{root}/examples/*/*.dl")}
compiled, trained = {}, set()
for line in open(commands, encoding="utf-8"):
    if made := re.match(r"\$ dlc (examples/\S+\.dl) .*-o (\S+)", line):
        compiled[made[2]] = made[1]
    elif run := re.match(r"\$ dlc-run train (\S+) --data ", line):
        trained.add(compiled[run[1]])
if models != trained:
    sys.exit("no page compiles and trains " + ", ".join(sorted(models - trained)))
print(f"{len(models)} models learn")
