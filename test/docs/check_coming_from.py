"""Checks that the page for people from elsewhere names what the language has: every function it calls is a built-in.

usage: check_coming_from.py PAGE TABLES
"""
import re
import sys

page, tables = open(sys.argv[1], encoding="utf-8").read(), open(sys.argv[2], encoding="utf-8").read()
known = set(re.findall(r"^\| `(\w+)\(", tables, re.M))
# Left out below: words of the language, and what a reader calls his own layer, block and model.
called = set()
for row in re.findall(r"^\|(.*)\|$", page, re.M):
    here = re.split(r"(?<!\\)\|", row)[-1]
    for code in re.findall(r"`([^`]+)`", here):
        called |= set(re.findall(r"(\w+)\(", code)) | set(re.findall(r"^\w+$", code))
unknown = sorted(called - known - {"N", "f", "Name", "Net", "block", "for", "repeat"})
print(f"{len(called & known)} built-ins named; unknown: {' '.join(unknown) or 'none'}")
