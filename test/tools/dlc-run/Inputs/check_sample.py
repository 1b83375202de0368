"""Checks what dlc-run sample --json has drawn, on standard input.
usage: check_sample.py lstm CHECKPOINT LETTERS PROMPT        the likeliest letters, by an LSTM in Python
       check_sample.py bigrams CHECKPOINT LETTERS T K        how often each letter follows each, by softmax(row / T) of the K largest
       check_sample.py window MODULE CHECKPOINT LETTERS PROMPT INPUT STEPS WORK    the likeliest, by dlc-run infer once a letter
LETTERS are those of the text in their order, or @FILE with them."""
import json
import math
import struct
import subprocess
import sys

drawn = [json.loads(line) for line in sys.stdin]
summary = drawn.pop()
numbers = [line["token"] for line in drawn]
mode, arguments = sys.argv[1], sys.argv[2:]


def read(path):
    """The float tensors of a safetensors file as lists, and their shapes."""
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    found = {}
    for name, tensor in header.items():
        if name != "__metadata__" and tensor["dtype"] == "F32":
            begin, end = tensor["data_offsets"]
            values = struct.unpack(f"<{(end - begin) // 4}f", data[begin:end])
            width = tensor["shape"][-1] if tensor["shape"] else 1
            found[name] = [values[i:i + width] for i in range(0, len(values), width)] if len(tensor["shape"]) == 2 else values
    return found


def product(matrix, vector):
    return [sum(a * b for a, b in zip(row, vector)) for row in matrix]


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def largest(scores):
    return max(range(len(scores)), key=lambda i: (scores[i], -i))


def lstm(checkpoint, letters, prompt):
    weights = read(checkpoint)
    h = c = [0.0] * 8
    expected, given = [], [letters.index(letter) for letter in prompt]
    while len(expected) < len(numbers):
        for number in given:
            sums = [a + b + d + e for a, b, d, e in zip(product(weights["lstm1.weight_ih_l0"], weights["embedding1.weight"][number]),
                                                        weights["lstm1.bias_ih_l0"], product(weights["lstm1.weight_hh_l0"], h),
                                                        weights["lstm1.bias_hh_l0"])]
            i, f, g, o = (sums[k * 8:k * 8 + 8] for k in range(4))
            c = [sigmoid(f[k]) * c[k] + sigmoid(i[k]) * math.tanh(g[k]) for k in range(8)]
            h = [sigmoid(o[k]) * math.tanh(c[k]) for k in range(8)]
        given = [largest([a + b for a, b in zip(product(weights["linear1.weight"], h), weights["linear1.bias"])])]
        expected += given
    assert numbers == expected, (numbers, expected)


def bigrams(checkpoint, letters, temperature, k):
    rows = read(checkpoint)["embedding1.weight"]
    before = 0
    counts = [[0] * len(letters) for _ in letters]
    for line in drawn:
        row = rows[before][:len(letters)]
        kept = sorted(range(len(row)), key=lambda i: (-row[i], i))[:int(k)]
        odds = {i: math.exp((row[i] - max(row)) / float(temperature)) for i in kept}
        assert line["token"] in odds, (before, line)
        assert abs(line["probability"] - odds[line["token"]] / sum(odds.values())) < 1e-5, (before, line)
        counts[before][line["token"]] += 1
        before = line["token"]
    for before, row in enumerate(counts):
        kept = sorted(range(len(letters)), key=lambda i: (-rows[before][i], i))[:int(k)]
        odds = {i: math.exp(rows[before][i] / float(temperature)) for i in kept}
        for i in kept:
            share = odds[i] / sum(odds.values())
            # Five standard deviations.
            allowed = 5 * math.sqrt(share * (1 - share) * sum(row)) + 1
            assert abs(row[i] - share * sum(row)) < allowed, (before, i, row, share)


def window(module, checkpoint, letters, prompt, name, steps, work):
    letters = open(letters[1:], newline="").read() if letters.startswith("@") else letters
    before = [letters.index(letter) for letter in prompt]
    for number in numbers:
        seen = before[-int(steps):]
        values = seen + [0] * (int(steps) - len(seen))
        header = json.dumps({name: {"dtype": "I32", "shape": [1, len(values)], "data_offsets": [0, 4 * len(values)]}}).encode()
        header += b" " * (-len(header) % 8)
        with open(work, "wb") as file:
            file.write(struct.pack("<Q", len(header)) + header + struct.pack(f"<{len(values)}i", *values))
        said = subprocess.run(["dlc-run", "infer", module, "--inputs", work, "--json", *(["--checkpoint", checkpoint] if checkpoint else [])],
                              check=True, stdout=subprocess.PIPE, text=True).stdout
        output = next(iter(json.loads(said).values()))
        classes = output["shape"][-1]
        at = (len(seen) - 1) * classes
        expected = largest(output["values"][at:at + classes][:len(letters)])
        assert number == expected, (before, number, expected)
        before.append(number)


{"lstm": lstm, "bigrams": bigrams, "window": window}[mode](*arguments)
assert summary["summary"] and summary["tokens"] == len(drawn), summary
assert summary["text"].endswith("".join(line["text"] for line in drawn)), summary
