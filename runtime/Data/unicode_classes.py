"""Writes the table of UnicodeClasses.cpp: where letters and numbers begin and end among Unicode's code points, by Python's unicodedata.
Usage: unicode_classes.py OUTPUT"""
import sys
import unicodedata

KINDS = {"L": 1, "N": 2}

before = 0
entries = []
for code in range(0x80, 0x110000):
    kind = KINDS.get(unicodedata.category(chr(code))[0], 0)
    if kind != before:
        entries.append(f"{code << 2 | kind:#x},\n")
        before = kind
with open(sys.argv[1], "w") as file:
    file.write(f"// Of Unicode {unicodedata.unidata_version}: CODE << 2 | CLASS where a class begins.\n")
    file.writelines(entries)
