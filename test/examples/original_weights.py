"""Weights as the original of an example stores them: the names and shapes of torchvision's state_dict(), of GPT-2 those of OpenAI's
published file, with random numbers; beside them FILE.in, an input of the example. Written from the originals, not from dlc's names.

usage: original_weights.py NETWORK FILE             writes a safetensors file
       original_weights.py compare FILE CHECKPOINT  fails unless the checkpoint holds each f32 tensor of FILE, bit by bit
"""
import json
import math
import random
import struct
import sys


def weight(name, *shape, bias=True, outputs=None):
    yield f"{name}.weight", shape
    if bias:
        yield f"{name}.bias", (outputs or shape[0],)


def norm(name, channels):
    yield from weight(name, channels)
    yield f"{name}.running_mean", (channels,)
    yield f"{name}.running_var", (channels,)
    yield f"{name}.num_batches_tracked", ()


def conv_norm(conv, bn, *shape):
    yield from weight(conv, *shape, bias=False)
    yield from norm(bn, shape[0])


def vgg16():
    numbers = (0, 2, 5, 7, 10, 12, 14, 17, 19, 21, 24, 26, 28)
    widths = (64, 64, 128, 128, 256, 256, 256, 512, 512, 512, 512, 512, 512)
    for number, before, width in zip(numbers, (3,) + widths, widths):
        yield from weight(f"features.{number}", width, before, 3, 3)
    yield from weight("classifier.0", 4096, 25088)
    yield from weight("classifier.3", 4096, 4096)
    yield from weight("classifier.6", 1000, 4096)


def resnet50():
    yield from conv_norm("conv1", "bn1", 64, 3, 7, 7)
    before = 64
    for stage, depth in ((1, 3), (2, 4), (3, 6), (4, 3)):
        width = 32 * 2**stage
        for i in range(depth):
            block = f"layer{stage}.{i}"
            yield from conv_norm(f"{block}.conv1", f"{block}.bn1", width, before, 1, 1)
            yield from conv_norm(f"{block}.conv2", f"{block}.bn2", width, width, 3, 3)
            yield from conv_norm(f"{block}.conv3", f"{block}.bn3", 4 * width, width, 1, 1)
            if i == 0:
                yield from conv_norm(f"{block}.downsample.0", f"{block}.downsample.1", 4 * width, before, 1, 1)
            before = 4 * width
    yield from weight("fc", 1000, 2048)


def densenet121():
    yield from conv_norm("features.conv0", "features.norm0", 64, 3, 7, 7)
    channels = 64
    for stage, depth in ((1, 6), (2, 12), (3, 24), (4, 16)):
        for i in range(depth):
            layer = f"features.denseblock{stage}.denselayer{i + 1}"
            yield from norm(f"{layer}.norm1", channels + 32 * i)
            yield from conv_norm(f"{layer}.conv1", f"{layer}.norm2", 128, channels + 32 * i, 1, 1)
            yield from weight(f"{layer}.conv2", 32, 128, 3, 3, bias=False)
        channels += 32 * depth
        if stage < 4:
            yield from norm(f"features.transition{stage}.norm", channels)
            yield from weight(f"features.transition{stage}.conv", channels // 2, channels, 1, 1, bias=False)
            channels //= 2
    yield from norm("features.norm5", channels)
    yield from weight("classifier", 1000, channels)


def mobilenet_v2():
    yield from conv_norm("features.0.0", "features.0.1", 32, 3, 3, 3)
    number, before = 1, 32
    for expand, width, depth in ((1, 16, 1), (6, 24, 2), (6, 32, 3), (6, 64, 4), (6, 96, 3), (6, 160, 3), (6, 320, 1)):
        for _ in range(depth):
            block, wide, at = f"features.{number}.conv", expand * before, 0
            if expand > 1:
                yield from conv_norm(f"{block}.0.0", f"{block}.0.1", wide, before, 1, 1)
                at = 1
            yield from conv_norm(f"{block}.{at}.0", f"{block}.{at}.1", wide, 1, 3, 3)
            yield from conv_norm(f"{block}.{at + 1}", f"{block}.{at + 2}", width, wide, 1, 1)
            number, before = number + 1, width
    yield from conv_norm("features.18.0", "features.18.1", 1280, 320, 1, 1)
    yield from weight("classifier.1", 1000, 1280)


def squeezenet():
    yield from weight("features.0", 64, 3, 3, 3)
    before = 64
    for number, squeeze, expand in ((3, 16, 64), (4, 16, 64), (6, 32, 128), (7, 32, 128), (9, 48, 192), (10, 48, 192), (11, 64, 256),
                                    (12, 64, 256)):
        yield from weight(f"features.{number}.squeeze", squeeze, before, 1, 1)
        yield from weight(f"features.{number}.expand1x1", expand, squeeze, 1, 1)
        yield from weight(f"features.{number}.expand3x3", expand, squeeze, 3, 3)
        before = 2 * expand
    yield from weight("classifier.1", 1000, 512, 1, 1)


def gpt():
    yield "wte.weight", (50257, 768)
    yield "wpe.weight", (1024, 768)
    for i in range(12):
        yield from weight(f"h.{i}.ln_1", 768)
        yield f"h.{i}.attn.bias", (1, 1, 1024, 1024)
        yield from weight(f"h.{i}.attn.c_attn", 768, 2304, outputs=2304)
        yield from weight(f"h.{i}.attn.c_proj", 768, 768)
        yield from weight(f"h.{i}.ln_2", 768)
        yield from weight(f"h.{i}.mlp.c_fc", 768, 3072, outputs=3072)
        yield from weight(f"h.{i}.mlp.c_proj", 3072, 768, outputs=768)
    yield from weight("ln_f", 768)


INPUTS = {"densenet121": ("image", "U8", (1, 3, 224, 224)), "gpt": ("token", "I32", (1, 8))}
DRAW = random.Random(0)
NUMBERS, POSITIVE = (struct.pack("<65536f", *(DRAW.uniform(*ends) for _ in range(1 << 16))) for ends in ((-0.05, 0.05), (0.5, 1.5)))


def content(name, dtype, count):
    if dtype != "F32":
        return bytes({"U8": 1, "I32": 4, "I64": 8}[dtype] * count)
    start = 4 * (sum(name.encode()) % 1024)
    drawn = POSITIVE if name.endswith("running_var") else NUMBERS
    return (drawn * (4 * count // len(drawn) + 2))[start:start + 4 * count]


def write(path, tensors):
    header, at = {}, 0
    for name, dtype, shape in tensors:
        size = math.prod(shape) * {"F32": 4, "I32": 4, "I64": 8, "U8": 1}[dtype]
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": (at, at + size)}
        at += size
    text = json.dumps({"__metadata__": {"format": "pt"}, **header}).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name, dtype, shape in tensors:
            file.write(content(name, dtype, math.prod(shape)))


def read(path):
    data = open(path, "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    return {name: data[8 + size + tensor["data_offsets"][0]:8 + size + tensor["data_offsets"][1]]
            for name, tensor in header.items() if tensor.get("dtype") == "F32"}


def main():
    if sys.argv[1] == "compare":
        original, ours = read(sys.argv[2]), read(sys.argv[3])
        different = [name for name in original if ours.get(name) != original[name]]
        sys.exit(f"different: {different}" if different or not original else None)
    network, path = sys.argv[1:]
    write(path, [(name, "I64" if name.endswith("num_batches_tracked") else "F32", shape) for name, shape in globals()[network]()])
    write(path + ".in", [INPUTS.get(network, ("image", "F32", (1, 3, 224, 224)))])


main()
