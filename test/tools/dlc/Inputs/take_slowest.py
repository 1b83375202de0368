"""PLAN RESULT: a plan that takes the slowest candidate of each kernel; prints "layer<TAB>candidate" of those.
--check LINES REPORT: each of those candidates is among the schedules of the report."""
import json
import sys

if sys.argv[1] == "--check":
    report = open(sys.argv[3]).read()
    lines = open(sys.argv[2]).read().splitlines()
    missing = [line for line in lines if line.split("\t")[1] not in report]
    sys.exit(f"not in the report: {missing}" if missing or not lines else 0)
plan = json.load(open(sys.argv[1]))
for kernel in plan["kernels"]:
    others = kernel["others"]
    if "chosen_prepared" in kernel:
        others.append(kernel.pop("chosen_prepared"))
    others.sort(key=lambda one: one["seconds"])
    kernel["chosen"], others[-1] = others[-1], kernel["chosen"]
    for layer in kernel["layers"]:
        print(layer, f"{kernel['chosen']['generator']}: {kernel['chosen']['schedule']}", sep="\t")
json.dump(plan, open(sys.argv[2], "w"))
