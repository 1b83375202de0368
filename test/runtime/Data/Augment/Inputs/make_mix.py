"""Prints what is drawn for batches that are mixed, for MixTest: Philox4x32-10 and the formulas of mixup and CutMix (torchvision's box)
in numpy.

usage: /usr/bin/python3 make_mix.py

A line: list, number of the batch, the share of the own sample, and top, bottom, left and right of CutMix's box in images of 6 x 9.
"""
import numpy as np

NAME = 4253422794  # XXH3 of "mix", its lower half
SEED, EPOCH, HEIGHT, WIDTH = 5, 2, 6, 9
MASK = 0xffffffff


def philox(key, counter):
    k0, k1 = key & MASK, key >> 32
    c = list(counter)
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [p1 >> 32 ^ c[1] ^ k0, p1 & MASK, p0 >> 32 ^ c[3] ^ k1, p0 & MASK]
        k0, k1 = k0 + 0x9E3779B9 & MASK, k1 + 0xBB67AE85 & MASK
    return c


def beta(alpha, first, second):
    """Of Student's t with 2 alpha degrees of freedom, from a point in the circle as Bailey has it."""
    freedom = 2 * alpha
    u, angle = (first + 0.5) / 2 ** 32, 2 * np.pi * (second + 0.5) / 2 ** 32
    t = np.sqrt(freedom * (u ** (-2 / freedom) - 1)) * np.cos(angle)
    return 0.5 + 0.5 * t / np.sqrt(freedom + t * t)


def box(share, first, second):
    r = 0.5 * np.sqrt(1 - share)
    x, y = first * WIDTH >> 32, second * HEIGHT >> 32
    w, h = int(r * WIDTH), int(r * HEIGHT)
    return max(y - h, 0), min(y + h, HEIGHT), max(x - w, 0), min(x + w, WIDTH)


for text in ("mixup:0.2", "cutmix:1", "mixup:0.4,cutmix:1"):
    for batch in range(6):
        words = philox(SEED, (batch, 0, EPOCH, NAME))
        parts = text.split(",")
        kind, alpha = parts[words[2] * len(parts) >> 32].split(":")
        share, cut = beta(float(alpha), *words[:2]), (0, 0, 0, 0)
        if kind == "cutmix":
            cut = box(share, *philox(SEED, (batch, 1, EPOCH, NAME))[:2])
            share = 1 - (cut[1] - cut[0]) * (cut[3] - cut[2]) / (HEIGHT * WIDTH)
        print('      {"%s", %d, %.9g, %s, %s},' % (text, batch, share, str(kind == "cutmix").lower(), ", ".join(map(str, cut))))
