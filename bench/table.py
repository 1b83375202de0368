#!/usr/bin/env python3
"""Makes the tables of docs/performance.md from records that compare.py, scaling.py, sizes.py and ablation.py left in bench/results.

usage: table.py bench/results/DATE-compare.json             prints the tables
       table.py --write RECORD... docs/performance.md       puts them between the page's marks for that kind of record, each case once
       table.py --check docs/performance.md                 fails if any are not those of the records that the page names
"""
import argparse
import json
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BEGIN, END = "<!-- {} tables of {} -->", "<!-- end of tables -->"
MARKED = re.compile(r"<!-- (\w+) tables of (.*?) -->\n(.*?)" + re.escape(END), re.DOTALL)
NETWORKS = {"alexnet": "AlexNet", "lenet": "LeNet", "mlp": "MLP", "resnet50": "ResNet-50", "vgg16": "VGG16"}


def row(*cells):
    return "| " + " | ".join(cells) + " |"


def header(text, *numbers):
    """The names of columns of text, to the left, and of numbers, to the right."""
    return [row(*text, *numbers), row(*["---"] * len(text), *["---:"] * len(numbers))]


def origin(record, *more):
    host = record["host"]["model name"]
    return ", ".join([record["date"], host, *more, f"commit {record['versions']['commit'][:7]}"])


def memory(it):
    if "peak_mib" not in it:  # a record of before it was measured right
        return "-"
    return f"{it['peak_mib']:.0f} ({it['rivals']['eager']['peak_mib']:.0f} eager)"


def compiling(it):
    return f"{it['compile_s']:.1f}" + (f" ({it['cached_compile_s']:.1f} cached)" if "cached_compile_s" in it else "")


def variant(it):
    """That of PyTorch which was the fastest, as far as there were others."""
    best = it["rivals"][it["best_rival"]]
    return ", ".join([it["best_rival"], *(best[key].replace("_", " ") for key in ("layout", "settings") if key in best)])


def compare_table(title, figures, modes):
    strict, tried = (any(key in it for it in figures) for key in ("strict", "variants"))
    lines = [f"**{title}**", "", *header(["network"], "batch", "dlc ms", *(["strict ms"] if strict else []), *(f"{mode} ms" for mode in modes),
                                         *(["the best"] if tried else []), "speed-up over the best", "range", *(["strict", "range"] if strict else []),
                                         "compile s", "first step ms", "memory MiB")]
    gain = lambda it: (f"{it['speedup']:.2f}", f"{it['speedup_min']:.2f} - {it['speedup_max']:.2f}") if it else ("-", "-")
    for it in figures:
        careful = it.get("strict")
        lines.append(row(it["net"], str(it["batch"]), f"{it['dlc_ms']:.4g}", *([f"{careful['ms']:.4g}" if careful else "-"] if strict else []),
                         *(f"{it['rivals'][mode]['ms']:.4g}" if mode in it["rivals"] else "-" for mode in modes),
                         *([variant(it)] if tried else []), *gain(it["rivals"][it["best_rival"]]), *(gain(careful) if strict else ()),
                         compiling(it), f"{it['load_to_first_step_ms']:.0f}", memory(it)))
    return lines + [""]


def compare_tables(record):
    figures = record["figures"]
    steps, calls = ([it for it in figures if it["entry"].startswith("infer") == infer] for infer in (False, True))
    versions = {mode: it["rivals"][mode]["version"] for it in figures for mode in it["rivals"]}
    lines = [origin(record, f"{figures[0]['threads']} threads", "float32") + "; "
             + ", ".join(f"{mode} {version}" for mode, version in versions.items() if mode != "compile") + ".", ""]
    left_out = {settings: missing for it in figures for settings, missing in it.get("left_out", {}).items()}
    if left_out:
        lines += ["PyTorch was not tried with " + ", ".join(f"{settings}, for want of {missing}" for settings, missing in left_out.items()) + ".", ""]
    if steps:
        lines += compare_table("Training step", steps, ["eager", "compile"])
    if calls:
        lines += compare_table("Inference", calls, ["eager", "compile", "onnxruntime", "openvino"])
    return lines


def rate_text(rate):
    return rate.replace("mbit", " Mb/s").replace("gbit", " Gb/s")


def scaling_tables(record):
    """A row a network, way of scaling and link; of each variant with sums beside kernels what dlc simulates in brackets. Records of before each
    was divided by the time of one rank of its own kind have no efficiency."""
    groups = {}
    for it in record["figures"]:
        groups.setdefault((it["case"], it["mode"], it["rate"], it.get("delay_us", 0)), {})[it["variant"]] = it
    overlapped = [name for name in ("buckets", "bf16") if any(name in variants for variants in groups.values())]
    whole = any("whole" in variants for variants in groups.values())
    own = any("efficiency" in it for it in record["figures"])
    efficient = ["efficiency"] if own else []
    columns = [column for name in overlapped for column in ({"buckets": "in buckets ms"}.get(name, f"{name} ms"), *efficient,
                                                            "communication beside backward", "hidden")]
    lines = [origin(record, f"{record['figures'][0]['ranks']} ranks of one core") + ".", "",
             *header(["network, batch", "scaling", "link"], "one rank ms", *(["sum at the end ms", *efficient] if whole else []), *columns,
                     *(["DDP, one rank ms"] if own else []), "DDP ms", *efficient)]
    simulated = lambda it: f"{it['median_ms']:.1f} ({it['predicted_ms']:.1f})"
    efficiency = lambda it: [f"{100 * it['efficiency']:.0f}%"] if own else []
    for (case, mode, rate, delay), variants in groups.items():
        net, batch = case.split("/")
        link = rate_text(rate) + (f", {delay / 1000:g} ms away" if delay else "")
        ours, ddp = next((it for name, it in variants.items() if name != "ddp" or not own), None), variants.get("ddp")
        cells = [f"{NETWORKS.get(net, net)}, {batch}", mode, link, f"{ours['one_rank_ms']:.1f}" if ours else "-"]
        if whole:
            cells += [simulated(variants["whole"]), *efficiency(variants["whole"])] if "whole" in variants else ["-"] * (1 + len(efficient))
        for name in overlapped:
            it = variants.get(name)
            cells += ([simulated(it), *efficiency(it), f"{it['communication_ms'] / it['backward_ms']:.2f}", f"{100 * it['overlap']:.1f}%"]
                      if it else ["-"] * (3 + len(efficient)))
        if own:
            cells.append(f"{ddp['one_rank_ms']:.1f}" if ddp else "-")
        lines.append(row(*cells, *([f"{ddp['median_ms']:.1f}", *efficiency(ddp)] if ddp else ["-"] * (1 + len(efficient)))))
    return lines + [""]


def sizes_tables(record):
    """A row a network and link, with the part of perfect scaling of each number of ranks; another with what the most of them do together."""
    groups = {}
    for it in record["figures"]:
        groups.setdefault((it["simulated"], it["rate"]), {})[it["ranks"]] = it
    ranks = sorted({it["ranks"] for it in record["figures"]})
    most = ranks[-1]
    lines = [origin(record) + ".", "",
             *header(["network, batch", "link"], *(f"{count:,} ranks" if count > 1 else "one rank ms" for count in ranks), f"{most:,}: step ms",
                     "metrics ms", "watch", "start ms", "checkpoint ms")]
    for (case, rate), of_case in groups.items():
        net, batch = case.split("/")
        last = of_case[most]
        lines.append(row(f"{NETWORKS.get(net, net)}, {batch}", rate_text(rate),
                         *(f"{100 * of_case[count]['efficiency']:.1f}%" if count > 1 else f"{of_case[count]['step_ms']:.1f}" for count in ranks),
                         f"{last['step_ms']:.1f}", f"{last['metrics_ms']:.2f}", f"{100 * last['watch_share']:.2f}%", f"{last['start_ms']:.0f}",
                         f"{last['checkpoint_ms']:.1f}"))
    return lines + [""]


def ablation_tables(record):
    lines = [origin(record, f"{record['figures'][0]['threads']} threads", f"medians of {record['figures'][0]['rounds']} rounds") + ".", ""]
    for case in dict.fromkeys(it["case"] for it in record["figures"]):
        net, batch = case.split("/")
        lines += [f"**{NETWORKS.get(net, net)}, batch {batch}**", "", *header(["variant"], "ms", "of the default", "range", "arena MiB")]
        of_case = [it for it in record["figures"] if it["case"] == case]
        lines += [row(it["variant"], f"{it['ms']:.1f}", f"{it['ratio']:.2f}", f"{it['ratio_min']:.2f} - {it['ratio_max']:.2f}", f"{it['arena_mib']:.0f}")
                  for it in of_case if "not_timed" not in it]
        reasons = {}
        for it in of_case:
            if "not_timed" in it:
                reasons.setdefault(it["not_timed"], []).append(it["variant"])
        lines += ["", *(f"Not timed, {reason}: {', '.join(names)}." for reason, names in reasons.items()), ""]
    return lines


# By a field of its figures that the kinds behind it lack.
KINDS = {"rivals": ("compare", compare_tables), "one_rank_ms": ("scaling", scaling_tables), "simulated": ("sizes", sizes_tables), "variant": ("ablation", ablation_tables)}


def load(path, seen=None):
    """The kind of a record, and its tables. What compare.py has timed stands once on a page, in the tables of the first record that has it."""
    with open(os.path.join(ROOT, path)) as file:
        record = json.load(file)
    for field, (kind, tables) in KINDS.items():
        if record["figures"] and field in record["figures"][0]:
            if kind == "compare" and seen is not None:
                case = lambda it: (it["net"], it["batch"], it["entry"])
                record["figures"] = [it for it in record["figures"] if case(it) not in seen]
                seen.update(map(case, record["figures"]))
            return kind, "\n".join(tables(record)) if record["figures"] else ""
    sys.exit(f"table: {path}: expected figures of compare.py, scaling.py, sizes.py or ablation.py")


def content(records):
    seen = set()
    return "".join(load(record, seen)[1] + "\n" for record in records)


def write(page, text, records):
    kind = load(records[0])[0]
    found = next((each for each in MARKED.finditer(text) if each[1] == kind), None)
    if not found:
        sys.exit(f"table: {page}: expected the lines '{BEGIN.format(kind, 'RECORD')}' and '{END}'")
    with open(page, "w") as file:
        file.write(text[:found.start()] + BEGIN.format(kind, " ".join(records)) + "\n" + content(records) + END + text[found.end():])


def check(page, text):
    marked = list(MARKED.finditer(text))
    if not marked:
        sys.exit(f"table: {page}: expected the lines '{BEGIN.format('KIND', 'RECORD')}' and '{END}'")
    for _, named, found in (each.groups() for each in marked):
        if found != content(named.split()):
            sys.exit(f"table: {page} does not hold the tables of {named}: run bench/table.py --write {named} {page}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    if arguments.write != (len(arguments.files) > 1):
        parser.error("expected one file, with --write records and a page")
    if not arguments.write and not arguments.check:
        print(load(arguments.files[0])[1])
        return
    page = arguments.files[-1]
    with open(page) as file:
        text = file.read()
    write(page, text, arguments.files[:-1]) if arguments.write else check(page, text)


if __name__ == "__main__":
    main()
