"""Talks to `dlc lsp` as an editor does and prints what it hears. usage: lsp_client.py ROOT WORK"""
import json
import os
import subprocess
import sys

GOOD = """from "std/resnet.dl" import Bottleneck
block Head(x, classes) { return x |> flatten |> linear(classes) }
/// A model.
model Net(image: f32[N, 1, 28, 28], deep=false) -> f32[N, 10] {
  // conv2d
  extra = 3
  x = image |> conv2d(20, 5)
  if deep { x = Bottleneck(x, 8) }
  return Head(x, 7 + extra)
}
train Net {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 64
}
"""


class Client:
    def __init__(self):
        self.process = subprocess.Popen(["dlc", "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.next = 0

    def send(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def receive(self):
        length = 0
        while (line := self.process.stdout.readline().strip()):
            name, value = line.split(b":")
            if name.lower() == b"content-length":
                length = int(value)
        return json.loads(self.process.stdout.read(length))

    def request(self, method, params=None):
        self.next += 1
        self.send({"id": self.next, "method": method, "params": params or {}})
        answer = self.receive()
        assert answer["id"] == self.next
        return answer

    def notify(self, method, params):
        self.send({"method": method, "params": params})


def place(uri, text, word, offset=0, nth=0):
    at = -1
    for _ in range(nth + 1):
        at = text.index(word, at + 1)
    before = text[: at + offset]
    line = before.count("\n")
    return {"textDocument": {"uri": uri}, "position": {"line": line, "character": len(before) - before.rfind("\n") - 1}}


def text_range(r):
    return f"{r['start']['line']}:{r['start']['character']}-{r['end']['line']}:{r['end']['character']}"


def main():
    work = sys.argv[2]
    os.makedirs(work, exist_ok=True)
    uri = f"file://{work}/net.dl"
    client = Client()
    capabilities = client.request("initialize", {"capabilities": {}})["result"]["capabilities"]
    print("initialized:", *sorted(capabilities))
    client.notify("initialized", {})

    def opened(name, method, text):
        if method == "didOpen":
            client.notify("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "dl", "version": 1, "text": text}})
        else:
            client.notify("textDocument/didChange", {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"text": text}]})
        answer = client.receive()
        assert answer["method"] == "textDocument/publishDiagnostics" and answer["params"]["uri"] == uri
        return answer["params"]["diagnostics"]

    print(f"good: {len(opened('good', 'didOpen', GOOD))} diagnostics")

    def hover(word, nth=0):
        result = client.request("textDocument/hover", place(uri, GOOD, word, 1 if len(word) > 1 else 0, nth))["result"]
        if not result:
            return "nothing"
        lines = [line for line in result["contents"]["value"].splitlines() if line and not line.startswith("```")]
        return " / ".join(lines)

    print("hover conv2d:", hover("conv2d", 1))
    print("hover image:", hover("image", 1))
    print("hover x:", hover("x = image"))
    print("hover Head:", hover("Head", 1))
    print("hover on a comment:", hover("conv2d"))

    def definition(word, nth=0):
        result = client.request("textDocument/definition", place(uri, GOOD, word, 0, nth))["result"]
        if not result:
            return "nothing"
        if result["uri"] != uri:
            return "/".join(result["uri"].split("/")[-2:])
        return f"line {result['range']['start']['line']}"

    print("definition of x:", definition("x, 7"))
    print("definition of Head:", definition("Head", 1))
    print("definition of Bottleneck:", bottleneck(client, uri, opened))
    print("definition of conv2d:", definition("conv2d", 1))

    def completion(word, offset, nth=0):
        items = client.request("textDocument/completion", place(uri, GOOD, word, offset, nth))["result"]
        return [item["label"] for item in items]

    arguments = completion("conv2d(20", 7)
    print("completion in conv2d:", *[a for a in arguments if a in ("channels=", "kernel=", "padding=", "name=")])
    names = completion("x = image", 4)
    print("completion of names:", *[n for n in ("Head", "image", "conv2d", "repeat") if n in names])

    found = opened("changed", "didChange", GOOD.replace("conv2d(20", "cnov2d(20"))
    print(f"changed: {len(found)} diagnostics; {text_range(found[0]['range'])}", found[0]["message"].splitlines()[0])
    print(f"half typed: {len(opened('half', 'didChange', GOOD[: GOOD.index('20, 5')]))} diagnostics")
    # Columns are UTF-16 units: the sign before the mistake takes two.
    found = opened("umlauts", "didChange", 'model M(x: f32[N]) -> f32[N] {\n  // ä\n  assert "\U0001f600ä" == wrong\n  return x\n}\ninfer M { batch = 1 }\n')
    print("umlauts:", text_range(found[0]["range"]))
    client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    print(f"closed: {len(client.receive()['params']['diagnostics'])} diagnostics")
    print("unknown method:", client.request("textDocument/fly")["error"]["code"])
    client.request("shutdown")
    client.notify("exit", {})
    print("exit code", client.process.wait())


def bottleneck(client, uri, opened):
    """A block of the library is defined there."""
    text = GOOD.replace("deep=false", "deep=true")
    opened("deep", "didChange", text)
    result = client.request("textDocument/definition", place(uri, text, "Bottleneck(x", 0))["result"]
    opened("good", "didChange", GOOD)
    return "/".join(result["uri"].split("/")[-2:])


if __name__ == "__main__":
    main()
