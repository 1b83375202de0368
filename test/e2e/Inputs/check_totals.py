"""Metrics that are finished after all batches have been added up, by their definitions: the area under a curve as the share of pairs
of a yes and a no in which the yes has the higher score, a table as counts of pairs, perplexity as the power of a mean.

usage: check_totals.py make FILE              scores, labels and findings: 96 samples to train with, 100 to test
       check_totals.py compare FILE JSON...   the last line of each file of JSON lines; exits 1 if a metric is another
"""
import json
import math
import random
import sys

from tensor_file import load, save

CHANNELS = 4


def make(path):
    random.seed(7)
    tensors = {}
    for prefix, count in (("", 96), ("test.", 100)):
        scores, findings = [], []
        while len(scores) < CHANNELS * count:
            score = random.gauss(0, 2)
            # A bin is the same in f32 as in f64 where the score is not at its border.
            if abs(bin_of(score, 1000, round) - bin_of(score, 1000, float)) < 0.45:
                # The last channel has no yes: it has no curve.
                findings.append(float(random.random() < 1 / (1 + math.exp(-score))) if len(scores) % CHANNELS < 3 else 0.0)
                scores.append(score)
        tensors[prefix + "score"] = ([count, CHANNELS], scores)
        tensors[prefix + "label"] = ([count], [random.randrange(CHANNELS) for _ in range(count)], "I32")
        tensors[prefix + "finding"] = ([count, CHANNELS], findings)
    save(path, tensors)


def bin_of(score, bins, kind=int):
    return kind(bins / (1 + math.exp(-score)))


def area(scores, findings, bins=1000):
    """None without a pair."""
    yes = [bin_of(s, bins) for s, f in zip(scores, findings) if f > 0.5]
    no = [bin_of(s, bins) for s, f in zip(scores, findings) if f <= 0.5]
    won = sum((y > n) + (y == n) / 2 for y in yes for n in no)
    return won / (len(yes) * len(no)) if yes and no else None


def mean(areas):
    known = [a for a in areas if a is not None]
    return sum(known) / len(known) if known else 0.5


def table(scores, labels, ignored=None):
    counts = [[0] * CHANNELS for _ in range(CHANNELS)]
    for i, label in enumerate(labels):
        row = scores[CHANNELS * i:CHANNELS * (i + 1)]
        if label != ignored:
            counts[label][row.index(max(row))] += 1
    return counts


def perplexity(scores, labels, ignored):
    rows = [(scores[CHANNELS * i:CHANNELS * (i + 1)], label) for i, label in enumerate(labels) if label != ignored]
    return math.exp(sum(math.log(sum(map(math.exp, row))) - row[label] for row, label in rows) / len(rows))


def expected(tensors, prefix):
    scores, labels, findings = (tensors[prefix + name] for name in ("score", "label", "finding"))
    channels = [(scores[c::CHANNELS], findings[c::CHANNELS]) for c in range(CHANNELS)]
    return {"auroc": mean([area(*c) for c in channels]),
            "coarse": mean([area(*c, bins=4) for c in channels]),
            "single": area(*channels[0]),
            "empty": mean([area(*channels[3])]),
            "perplexity": perplexity(scores, labels, ignored=2),
            "confusion": table(scores, labels),
            "known": table(scores, labels, ignored=2)}


def same(name, a, b):
    # Counts are whole numbers; two orders of a division and a sum differ in the last bits of f64. Cross entropy is computed in f32.
    return abs(a - b) < (1e-5 * b if name == "perplexity" else 1e-12) if isinstance(b, float) else a == b


def main(what, data, *files):
    if what == "make":
        return make(data)
    tensors = load(data)
    for file in files:
        found = json.loads(open(file).readlines()[-1])
        for prefix, key in (("", ""), ("test.", "test_")):
            for name, value in expected(tensors, prefix).items():
                if key + name not in found:
                    continue
                good = same(name, found[key + name], value)
                print(f"{'same' if good else 'differs'} {key + name} {found[key + name]}" + ("" if good else f" expected {value}"))
                if not good:
                    sys.exit(1)


main(*sys.argv[1:])
