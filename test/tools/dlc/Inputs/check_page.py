"""Compares the page of a report with its text. usage: check_page.py PAGE.html REPORT.txt [BENCH.json]

The page is well-formed, fetches nothing, has each id once and leads to none that is not there. Of each entry the table of layers has the
text's numbers; all layers of the forward pass stand in the picture; as much memory is in use at most as the text says; and each column is
in the legend.
"""
import html.parser
import json
import re
import sys

VOID = {"meta"}


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.ids, self.links, self.tables, self.titles, self.text, self.boxes, self.section = [], [], [], [], [], [], [], ""

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        assert len(values) == len(attributes), (tag, attributes)
        if "id" in values:
            self.ids.append(values["id"])
        if "href" in values:
            self.links.append(values["href"])
        assert "src" not in values and "xlink:href" not in values, attributes
        if tag not in VOID:
            self.open.append(tag)
        if tag in ("h2", "h3"):
            self.section = values.get("id", self.section)
        if tag == "table":
            self.tables.append((self.section, []))
        if tag == "svg":
            self.boxes.append([])
        if tag == "rect" and "class" not in values:
            self.boxes[-1].append([float(values[key]) for key in ("x", "y", "width", "height")])
        if tag == "tr":
            self.tables[-1][1].append([])
        if tag in ("td", "th"):
            self.tables[-1][1][-1].append("")

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, f"</{tag}> closes nothing in line {self.getpos()[0]}"

    def handle_data(self, data):
        if "td" in self.open or "th" in self.open:
            self.tables[-1][1][-1][-1] += data
        if "title" in self.open:
            self.titles.append(data)
        self.text.append(data)


def text_tables(text):
    """Of each entry: its head, and the rows of what it costs by layer, and the layers of its forward pass."""
    entries = []
    for part in re.split(r"\n(?=\w+, batch \d+: )", text)[1:]:
        name = part.split(",")[0]
        by_layer = re.search(r"\n\w+ by layer\n.*\n((?:  .*\n)+)", part)[1]
        rows = [re.split(r"  +", row.strip()) for row in by_layer.splitlines()]
        forward = {row.split()[0] for row in part.split("\n\n")[0].splitlines()[2:] if re.match(r"  \S+ +forward ", row)}
        live = re.search(r"for (\S+ \S+) live at once", part)[1]
        entries.append((name, rows, forward, live, "  backward" in part))
    return entries


page_file, report_file, *bench = sys.argv[1:]
source = open(page_file, encoding="utf-8").read()
assert not re.search(r"https?://|@import|url\(", source)
page = Page()
page.feed(source)
page.close()
assert not page.open, page.open
assert len(set(page.ids)) == len(page.ids), [it for it in page.ids if page.ids.count(it) > 1][:3]
for link in page.links:
    assert link.startswith("#") and link[1:] in set(page.ids), link

for boxes in page.boxes:
    for number, (x, y, width, height) in enumerate(boxes):
        assert x >= 0 and y >= 0, (x, y)
        for other_x, other_y, other_width, other_height in boxes[:number]:
            assert x + width <= other_x or other_x + other_width <= x or y + height <= other_y or other_y + other_height <= y

entries = text_tables(open(report_file, encoding="utf-8").read())
assert entries
for number, (name, rows, forward, live, trains) in enumerate(entries):
    (heads, *layers, total), = [table for section, table in page.tables if section == f"layers-{number}"]
    assert heads[:7] == ["layer", "kernels", "parameters", "FLOP", "share", "bytes", "activations"], heads
    assert [row[:7] for row in layers] == rows, (name, [pair for pair in zip(layers, rows) if pair[0][:7] != pair[1]][:1])
    kernels = [table for section, table in page.tables if section == f"bytes-{number}"][-1]
    assert sum(int(row[1]) for row in layers) == len(kernels) - 1, name
    assert not trains or f"graph-{number}" in page.ids, name
    if trains:
        drawn = {title.split("\n")[0] for title in page.titles}
        assert forward <= drawn, forward - drawn
    most = re.search(rf'id="memory-{number}">.*?Most in use: ([^,]*),', source, re.S)
    assert most is None and live == "0 B" or most[1] == live, (name, live, most)
words = set(re.findall(r"<dt id=\"term-\w+\">([^<]*)</dt>", source))
for _, (heads, *_) in page.tables:
    assert set(heads) <= words, set(heads) - words
for path in bench:
    line = json.loads(open(path).read())
    number = [name for name, *_ in entries].index(line["entry"])
    (heads, *layers, total), = [table for section, table in page.tables if section == f"layers-{number}"]
    for row in layers:
        measured = sum(it["ms"] for it in line["layers"] if it["name"].split("/")[0] == row[0])
        assert abs(float(row[-1].removesuffix(" ms")) - measured) < 0.00051, row
    assert abs(float(total[-1].removesuffix(" ms")) - sum(it["ms"] for it in line["layers"])) < 0.001
print(f"{len(entries)} entries, {len(page.tables)} tables")
