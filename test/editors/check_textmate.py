"""Compares the words of the TextMate grammar with those that the lexer prints, and tries its patterns on samples.

usage: check_textmate.py GRAMMAR WORDS
"""
import json
import re
import sys

SAMPLES = [  # a text, what is to be found in it, and its scope
    ("model Net(x: f32[N]) -> f32[N] {", "Net", "entity.name.function.dl"),
    ("x = y |> relu // not |> tanh", "relu", "entity.name.function.dl"),
    ("x = y |> relu // not |> tanh", "// not |> tanh", "comment.line.double-slash.dl"),
    ("x = conv2d(y, 8, 3, padding=1)", "padding", "variable.parameter.dl"),
    ("  step critic updates Critic {", "step", "keyword.declaration.dl"),
    ("y = step(epochs=30)", "step", "entity.name.function.dl"),
    ("rate = 1e-3", "1e-3", "constant.numeric.dl"),
    ("scale = format1", None, "constant.numeric.dl"),
]


def patterns(grammar):
    """Name and expression of every simple pattern, in order; a capture gives (name, expression, group)."""
    for part in grammar["patterns"]:
        rule = grammar["repository"][part["include"][1:]]
        for each in rule.get("patterns", [rule]):
            if "match" not in each:
                continue
            if "name" in each:
                yield each["name"], each["match"], 0
            for group, capture in each.get("captures", {}).items():
                yield capture["name"], each["match"], int(group)


def words(grammar, *names):
    found = []
    for part in grammar["repository"].values():
        for each in part.get("patterns", [part]):
            if each.get("name") in names:
                found += re.search(r"\(([a-z0-9|]+)\)", each["match"]).group(1).split("|")
    return sorted(found)


def main():
    grammar = json.load(open(sys.argv[1], encoding="utf-8"))
    kinds = {}
    for line in open(sys.argv[2], encoding="utf-8"):
        kind, word = line.split()
        kinds.setdefault(kind, []).append(word)
    keywords = words(grammar, "keyword.declaration.dl", "keyword.control.dl", "keyword.operator.word.dl", "constant.language.dl")
    statement = sorted(re.search(r"\(([a-z|]+)\)", grammar["repository"]["word"]["match"]).group(1).split("|"))
    assert keywords == sorted(kinds["keyword"]), (keywords, kinds["keyword"])
    assert words(grammar, "storage.type.dl") == sorted(kinds["dtype"])
    assert statement == sorted(kinds["word"]), (statement, kinds["word"])
    for text, expected, scope in SAMPLES:
        found = [m.group(group) for name, expression, group in patterns(grammar) if name == scope
                 for m in re.finditer(expression, text) if m.group(group)]
        assert (expected in found) if expected else not found, (text, expected, found)
    print(f"{len(keywords)} keywords, {len(kinds['dtype'])} dtypes, {len(statement)} words at the start of a statement")


if __name__ == "__main__":
    main()
