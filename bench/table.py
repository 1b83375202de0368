#!/usr/bin/env python3
"""Makes the tables of docs/performance.md from the records that compare.py left in bench/results.

usage: table.py bench/results/DATE-compare.json             prints the tables
       table.py --write RECORD... docs/performance.md       puts them between the page's marks
       table.py --check docs/performance.md                 fails if they are not those of the records that the page names
"""
import argparse
import json
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BEGIN, END = "<!-- tables of {} -->", "<!-- end of tables -->"


def row(*cells):
    return "| " + " | ".join(cells) + " |"


def memory(it):
    if "peak_mib" not in it:  # a record of before it was measured right
        return "-"
    return f"{it['peak_mib']:.0f} ({it['rivals']['eager']['peak_mib']:.0f} eager)"


def table(title, figures, modes):
    lines = [f"**{title}**", "", row("network", "batch", "dlc ms", *(f"{mode} ms" for mode in modes), "speed-up over the best", "range", "compile s", "first step ms", "memory MiB"),
             row("---", *["---:"] * (len(modes) + 7))]
    for it in figures:
        best = it["rivals"][it["best_rival"]]
        lines.append(row(it["net"], str(it["batch"]), f"{it['dlc_ms']:.4g}", *(f"{it['rivals'][mode]['ms']:.4g}" if mode in it["rivals"] else "-" for mode in modes),
                         f"{best['speedup']:.2f}", f"{best['speedup_min']:.2f} - {best['speedup_max']:.2f}",
                         f"{it['compile_s']:.1f}", f"{it['load_to_first_step_ms']:.0f}", memory(it)))
    return lines + [""]


def tables(record):
    figures = record["figures"]
    steps, calls = ([it for it in figures if it["entry"].startswith("infer") == infer] for infer in (False, True))
    versions = {mode: it["rivals"][mode]["version"] for it in figures for mode in it["rivals"]}
    lines = [f"{record['date']}, {record['host']['model name']}, {figures[0]['threads']} threads, float32, commit {record['versions']['commit'][:7]}; "
             + ", ".join(f"{mode} {version}" for mode, version in versions.items() if mode != "compile") + ".", ""]
    if steps:
        lines += table("Training step", steps, ["eager", "compile"])
    if calls:
        lines += table("Inference", calls, ["eager", "compile", "onnxruntime", "openvino"])
    return "\n".join(lines)


def load(path):
    with open(os.path.join(ROOT, path)) as file:
        return json.load(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    if arguments.write != (len(arguments.files) > 1):
        parser.error("expected one file, with --write records and a page")
    if not arguments.write and not arguments.check:
        print(tables(load(arguments.files[0])))
        return
    page = arguments.files[-1]
    text = open(page).read()
    found = re.search(re.escape(BEGIN).replace(r"\{\}", "(.*?)") + "\n(.*?)" + re.escape(END), text, re.DOTALL)
    if not found:
        sys.exit(f"table: {page}: expected the lines '{BEGIN.format('RECORD')}' and '{END}'")
    records = arguments.files[:-1] if arguments.write else found[1].split()
    content = "".join(tables(load(record)) + "\n" for record in records)
    named = " ".join(records)
    if arguments.write:
        open(page, "w").write(text[:found.start()] + BEGIN.format(named) + "\n" + content + END + text[found.end():])
    elif found[2] != content:
        sys.exit(f"table: {page} does not hold the tables of {named}: run bench/compare/table.py --write {named} {page}")


if __name__ == "__main__":
    main()
