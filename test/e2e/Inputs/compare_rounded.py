"""Holds the gradients of a compressed step to those of the plain one, rounded. usage: compare_rounded.py PLAIN COMPRESSED bf16|f16

Momentum after the first step is the gradient. Rounding to the nearest, ties to even, is exact; gradients below 4,096 elements are as they were."""
import struct
import sys

from tensor_file import load


def bf16(x):
    bits = struct.unpack("<I", struct.pack("<f", x))[0]
    return struct.unpack("<f", struct.pack("<I", (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000))[0]


def f16(x):
    return struct.unpack("<e", struct.pack("<e", x))[0]


plain, compressed = load(sys.argv[1]), load(sys.argv[2])
narrow = {"bf16": bf16, "f16": f16}[sys.argv[3]]
for name in sorted(plain):
    if not name.endswith(".momentum"):
        continue
    large = len(plain[name]) >= 4096
    assert any(plain[name]), name
    wanted = [narrow(x) for x in plain[name]] if large else list(plain[name])
    assert list(compressed[name]) == wanted, (name, [pair for pair in zip(plain[name], compressed[name], wanted) if pair[1] != pair[2]][:5])
    print("rounded" if large else "the same", name)
