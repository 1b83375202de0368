"""Draws two logs of equal runs, in JSON and CSV, and compares the pictures with the logs. usage: check_plot.py LOG.jsonl LOG.csv"""
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as tree

SVG = "{http://www.w3.org/2000/svg}"
json_log, csv_log = sys.argv[1:]


def draw(*words):
    out = json_log + ".svg"
    subprocess.run(["dlc-run", "plot", *words, "-o", out], check=True)
    return tree.parse(out).getroot()


def number(text):
    value, _, factor = text.partition(" ")
    return float(value) * {"": 1, "k": 1e3, "M": 1e6}[factor]


def scale(panel, places, texts):
    """From places to numbers, by the first and last tick of an axis."""
    (first, low), (last, high) = sorted(zip(places, map(number, texts)))[:: len(places) - 1]
    return lambda place: low + (place - first) / (last - first) * (high - low)


def panels(picture):
    """By title: the curves as lists of points, in the numbers of the axes, and the texts."""
    found = {}
    for panel in picture.findall(SVG + "g"):
        texts = [(it.get("class"), float(it.get("x")), float(it.get("y")), it.text) for it in panel.iter(SVG + "text")]
        title = next(it[3] for it in texts if it[0] == "title")
        bottom = max(it[2] for it in texts if it[0] == "mid" and re.match(r"[\d.]+( [kM])?$", it[3]))
        below = [it for it in texts if it[0] == "mid" and it[2] == bottom]
        beside = [it for it in texts if it[0] == "end" and it[1] == 62]
        x = scale(panel, [it[1] for it in below], [it[3] for it in below])
        y = scale(panel, [it[2] - 4 for it in beside], [it[3] for it in beside])
        curves = [[(x(float(a)), y(float(b))) for a, b in (it.split(",") for it in line.get("points").split())] for line in panel.iter(SVG + "polyline")]
        found[title] = curves, [it[3] for it in texts]
    return found


def compare(curve, expected):
    assert len(curve) == len(expected), (len(curve), len(expected))
    spread = max(y for _, y in expected) - min(y for _, y in expected)
    for (x, y), (known_x, known_y) in zip(curve, expected):
        assert abs(x - known_x) < 0.1 and abs(y - known_y) < 0.01 * spread, ((x, y), (known_x, known_y))


lines = [json.loads(line) for line in open(json_log)]
steps = [line for line in lines if line["report"] == "step"]
tests = {line["step"]: line for line in lines if "test_loss" in line}
picture = panels(draw(json_log))
assert list(picture) == ["loss", "accuracy", "learning rate"], list(picture)
for name in ("loss", "accuracy"):
    training, evaluation = picture[name][0]
    compare(training, [(it["step"], it[name]) for it in steps])
    compare(evaluation, sorted((step, it["test_" + name]) for step, it in tests.items()))
    best = (min if name == "loss" else max)(it["test_" + name] for it in tests.values())
    assert any(text.startswith(f"best {best:.4g}, step ") for text in picture[name][1]), (best, picture[name][1])
compare(picture["learning rate"][0][0], [(it["step"], it["learning_rates"]["optimizer.learning_rate"]) for it in steps])

# Means of three steps, over epochs; the steps themselves stay behind them.
faint, means, _ = panels(draw(json_log, "--smooth", "3", "--x", "epoch", "--metrics", "loss"))["loss"][0]
losses = [it["loss"] for it in steps]
compare(faint, [(it["step"] / 10, it["loss"]) for it in steps])
windows = [losses[max(0, i - 2):i + 1] for i in range(len(losses))]
compare(means, [(it["step"] / 10, sum(w) / len(w)) for it, w in zip(steps, windows)])

# Of equal runs in both formats the curves are the same but for colours; the key names both.
both = draw(json_log, csv_log)
for name, (curves, _) in panels(both).items():
    assert curves[:len(curves) // 2] == curves[len(curves) // 2:], name
words = [it.text for it in both.findall(SVG + "text")]
assert "2 runs" in words and json_log in words and csv_log in words, words
print("checked")
