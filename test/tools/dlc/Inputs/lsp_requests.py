"""Asks `dlc lsp` about texts with marks in them. usage: lsp_requests.py FILE WORK

FILE holds cases: a line "=== REQUEST [ARGUMENT]", then a text in which a | between two ^ signs (^|^) is the cursor. A case without a
text takes that of the case before, and its cursor, if the line names no other: "=== REQUEST @ LINE:COLUMN [ARGUMENT]". What the server
answers is printed in short lines, places as LINE:COLUMN from 0 in UTF-16 units.
"""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(__file__))
from lsp_client import Client, text_range  # pylint: disable=wrong-import-position

MARK = "^|^"


def location(where, uri):
    name = "" if where["uri"] == uri else "/".join(where["uri"].split("/")[-2:]) + " "
    return name + text_range(where["range"])


def completion(items, wanted):
    labels = [item["label"] for item in items]
    assert sorted(items, key=lambda item: item["sortText"]) == items
    if not wanted:
        return "first: " + " | ".join(labels[:6])
    return " ".join(f"{w} {'yes' if w in labels or w + '=' in labels or w + ' = ' in labels else 'no'};" for w in wanted)


def signature(result):
    call = result["signatures"][0]
    label, number = call["label"], result["activeParameter"]
    params = [label[slice(*p["label"])] for p in call.get("parameters", [])]
    return f"{label} / {params[number] if number < len(params) else 'none'} / {call.get('documentation', '')}"


def outline(symbols, depth=0):
    for s in symbols:
        yield "  " * depth + f"{s['name']} ({s['kind']}) {text_range(s['range'])} {s.get('detail', '')}".rstrip()
        yield from outline(s.get("children", []), depth + 1)


def apply(text, edits):
    lines = text.split("\n")
    for edit in sorted(edits, key=lambda e: (e["range"]["start"]["line"], e["range"]["start"]["character"]), reverse=True):
        r = edit["range"]
        if r["start"]["line"] != r["end"]["line"]:
            return edit["newText"]
        line = lines[r["start"]["line"]].encode("utf-16-le")
        new = line[: 2 * r["start"]["character"]] + edit["newText"].encode("utf-16-le") + line[2 * r["end"]["character"] :]
        lines[r["start"]["line"]] = new.decode("utf-16-le")
    return "\n".join(lines)


def ask(client, uri, text, position, request, arguments):
    params = {"textDocument": {"uri": uri}, "position": position}
    if request == "rename":
        params["newName"] = " ".join(arguments)
    if request == "references":
        params["context"] = {"includeDeclaration": "declared" in arguments}
    answer = client.request("textDocument/" + request, params)
    if "error" in answer:
        return f"error {answer['error']['code']}: {answer['error']['message']}"
    result = answer["result"]
    if result is None or result == []:
        return "nothing"
    if request == "hover":
        return " / ".join(line for line in result["contents"]["value"].splitlines() if line and not line.startswith("```"))
    if request == "definition":
        return location(result, uri)
    if request == "references":
        return ", ".join(location(each, uri) for each in result)
    if request == "prepareRename":
        return text_range(result)
    if request == "rename":
        return apply(text, result["changes"][uri])
    if request == "formatting":
        return apply(text, result)
    if request == "signatureHelp":
        return signature(result)
    if request == "documentSymbol":
        return "\n".join(outline(result))
    return completion(result, arguments)


def main():
    os.makedirs(sys.argv[2], exist_ok=True)
    uri = f"file://{os.path.abspath(sys.argv[2])}/text.dl"
    client = Client()
    client.request("initialize", {"capabilities": {}})
    text, version, position = "", 0, {}
    for head, body in re.findall(r"^=== (.*)\n((?:(?!===).*\n)*)", open(sys.argv[1], encoding="utf-8").read(), re.M):
        request, *arguments = head.split()
        if body.strip():
            before, _, after = body.partition(MARK)
            text = before + after
            line = before.count("\n")
            position = {"line": line, "character": len(before[before.rfind("\n") + 1 :].encode("utf-16-le")) // 2}
            version += 1
            document = {"uri": uri, "languageId": "dl", "version": version, "text": text}
            method = "didOpen" if version == 1 else "didChange"
            client.notify("textDocument/" + method, {"textDocument": document, "contentChanges": [{"text": text}]})
            client.receive()
        if arguments[:1] == ["@"]:
            position = dict(zip(("line", "character"), map(int, arguments[1].split(":"))))
            arguments = arguments[2:]
        print(f"{head}: {ask(client, uri, text, position, request, arguments)}")
    client.request("shutdown")
    client.notify("exit", {})
    assert client.process.wait() == 0


if __name__ == "__main__":
    main()
