"""Each picture that a page shows is there, an SVG of a size that a repository bears; and each that is there is shown.

usage: check_images.py ROOT PAGE...
"""
import os
import re
import sys
import xml.etree.ElementTree as tree

MOST_BYTES = 64 << 10
root, pages = sys.argv[1], sys.argv[2:]
shown = set()
for page in pages:
    with open(page, encoding="utf-8") as file:
        for link in re.findall(r"!\[[^\]]*\]\(([^)\s]+)\)", file.read()):
            path = os.path.normpath(os.path.join(os.path.dirname(page), link))
            if not os.path.isfile(path):
                sys.exit(f"{page}: there is no picture {link}")
            if not tree.parse(path).getroot().tag.endswith("svg") or os.path.getsize(path) > MOST_BYTES:
                sys.exit(f"{page}: {link} is no SVG of at most {MOST_BYTES} bytes")
            shown.add(path)
folder = os.path.join(root, "docs/images")
for name in sorted(os.listdir(folder)):
    if os.path.normpath(os.path.join(folder, name)) not in shown:
        sys.exit(f"docs/images/{name}: no page shows it")
print(f"{len(shown)} pictures")
