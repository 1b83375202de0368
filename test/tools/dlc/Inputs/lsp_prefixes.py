"""Sends each beginning of a file to `dlc lsp` and asks everything at its end. usage: lsp_prefixes.py FILE WORK"""
import os
import sys

sys.path.insert(0, os.path.dirname(__file__))
from lsp_client import Client  # pylint: disable=wrong-import-position

REQUESTS = ("hover", "definition", "references", "prepareRename", "rename", "completion", "signatureHelp", "documentSymbol", "formatting")


def main():
    os.makedirs(sys.argv[2], exist_ok=True)
    text = open(sys.argv[1], encoding="utf-8").read()
    uri = f"file://{os.path.abspath(sys.argv[2])}/text.dl"
    client, answers = Client(), 0
    client.request("initialize", {"capabilities": {}})
    client.notify("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "dl", "version": 0, "text": ""}})
    client.receive()
    ends = range(0, len(text) + 1, 3)
    for end in ends:
        before = text[:end]
        client.notify("textDocument/didChange", {"textDocument": {"uri": uri, "version": end}, "contentChanges": [{"text": before}]})
        client.receive()
        position = {"line": before.count("\n"), "character": end - before.rfind("\n") - 1}
        params = {"textDocument": {"uri": uri}, "position": position, "newName": "other_name"}
        for request in REQUESTS:
            answer = client.request("textDocument/" + request, params)
            assert "result" in answer or answer["error"]["code"] == -32803, (before, request, answer)
            answers += 1
    client.request("shutdown")
    client.notify("exit", {})
    assert client.process.wait() == 0
    print(f"{len(ends)} beginnings, {answers} answers")


if __name__ == "__main__":
    main()
