#!/usr/bin/env python3
"""Makes pictures as CIFAR-10 has them from MNIST's digits, where no photographs are at hand. Needs NumPy.

usage: coloured_digits.py IDX_FOLDER FOLDER [--training 20000] [--test 4000] [--seed 1]
A picture of 32x32 pixels in three colours shows a digit in one colour on a background of smooth colours, shifted, between pieces of other
digits and under noise. The files are those of CIFAR-10's binary version.
"""
import argparse
import gzip
import os

import numpy as np


def read(folder, name):
    with gzip.open(os.path.join(folder, name + "-ubyte.gz")) as file:
        content = file.read()
    shape = np.frombuffer(content, ">u4", content[3], 4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * len(shape)).reshape(shape)


def smooth(generator, count):
    """Fields of 32x32 pixels in three colours, between those of 4x4 points."""
    points, at = generator.random((count, 3, 5, 5)), np.arange(32) / 8
    low, part = at.astype(int), at % 1
    rows = points[:, :, low] * (1 - part)[:, None] + points[:, :, low + 1] * part[:, None]
    return rows[..., low] * (1 - part) + rows[..., low + 1] * part


def pictures(generator, digits, labels, count):
    chosen = generator.integers(len(digits), size=count)
    made = 0.7 * smooth(generator, count)

    def draw(which, clip, strength):
        colours = generator.random((count, 3, 1, 1))
        across, down = generator.integers(0, 5, size=(2, count))
        for i in range(count):
            mask = np.zeros((32, 32))
            mask[down[i]:down[i] + 28, across[i]:across[i] + 28] = digits[which[i]] / 255.0
            mask[clip[i]] = 0
            made[i] += strength * mask * (colours[i] - made[i])

    draw(generator.integers(len(digits), size=count), [slice(6, 26)] * count, 0.8)  # above and below the middle
    draw(chosen, [slice(0, 0)] * count, 0.8)
    made += generator.normal(0, 0.08, made.shape)
    images = (255 * np.clip(made, 0, 1)).astype(np.uint8).reshape(count, -1)
    return np.concatenate([labels[chosen].astype(np.uint8)[:, None], images], axis=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("idx")
    parser.add_argument("folder")
    parser.add_argument("--training", type=int, default=20000)
    parser.add_argument("--test", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    generator = np.random.default_rng(arguments.seed)
    os.makedirs(arguments.folder, exist_ok=True)
    batches = [f"data_batch_{number}.bin" for number in range(1, 6)]
    for names, prefix, count in ((batches, "train", arguments.training), (["test_batch.bin"], "t10k", arguments.test)):
        records = pictures(generator, read(arguments.idx, prefix + "-images-idx3"), read(arguments.idx, prefix + "-labels-idx1"), count)
        for name, part in zip(names, np.array_split(records, len(names))):
            part.tofile(os.path.join(arguments.folder, name))


if __name__ == "__main__":
    main()
