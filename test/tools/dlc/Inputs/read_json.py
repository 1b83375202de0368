"""Prints a list of diagnostics of `dlc check --json`, one line each."""
import json
import os
import sys

diagnostics = json.load(open(sys.argv[1], encoding="utf-8"))
for each in diagnostics:
    place = f"{each['line']}:{each['column']}-{each['endLine']}:{each['endColumn']}"
    hint = f" | {each['hint']}" if "hint" in each else ""
    print(each["severity"], os.path.basename(each["file"]), place, each["message"] + hint)
    for note in each.get("notes", []):
        print("  note", note["line"], note["message"])
print(len(diagnostics), "diagnostics")
