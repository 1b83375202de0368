"""The draws of random.dl, by Philox4x32-10 as dl.random states it.

usage: check_random.py write FILE | check OUTPUTS PROGRAM SEED STEP    PROGRAM: what dlc --emit=dl printed
"""
import math
import re
import sys

from tensor_file import load, save

N = 8


def philox(key, counter):
    k0, k1 = key & 0xFFFFFFFF, key >> 32
    for _ in range(10):
        p0, p1 = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = (p1 >> 32 ^ counter[1] ^ k0, p1 & 0xFFFFFFFF, p0 >> 32 ^ counter[3] ^ k1, p0 & 0xFFFFFFFF)
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return counter


def main():
    if sys.argv[1] == "write":
        return save(sys.argv[2], {"x": ([N, 40], [1.0] * 40 * N)})
    found, seed, step = load(sys.argv[2]), int(sys.argv[4]), int(sys.argv[5])
    paths = [int(p) & 0xFFFFFFFF for p in re.findall(r"dl\.random .* path = (-?\d+)", open(sys.argv[3]).read().split("@infer")[0])]
    names = ["kept", "merged", "uniform", "normal", "coin", "shared"]
    assert len(set(paths)) == len(names), paths
    path = dict(zip(names, paths))

    def fraction(name, sample, element):
        return (philox(seed, (element // 4, sample, step, path[name]))[element % 4] >> 8) / 2 ** 24

    def uniform(name, elements):
        return [fraction(name, sample, element) for sample in range(N) for element in range(elements)]

    def normal(sample, element):
        pair = element & ~1
        radius = math.sqrt(-2 * math.log(fraction("normal", sample, pair) + 2 ** -24))
        angle = 2 * math.pi * fraction("normal", sample, pair + 1)
        return 2 + 0.5 * radius * (math.sin(angle) if element % 2 else math.cos(angle))

    kept = [float(v >= 0.25) / 0.75 for v in uniform("kept", 40)]
    wanted = {"kept": kept, "gradient.w": [sum(kept[i::40]) for i in range(40)],
              "merged": [2.0 * (fraction("merged", s, 20 * half + i) >= 0.5) for half in range(2) for s in range(N) for i in range(20)],
              "uniform": [2 * v - 1 for v in uniform("uniform", 35)], "coin": [float(v < 0.3) for v in uniform("coin", 8)],
              "normal": [normal(s, i) for s in range(N) for i in range(30)], "shared": [fraction("shared", 0, i) for i in range(6)]}
    for name, values in wanted.items():
        assert len(found[name]) == len(values), name
        # Normal draws: float32's logarithm, root and cosine.
        limit = 2e-6 if name in ("normal", "gradient.w") else 1e-7
        for i, (a, b) in enumerate(zip(found[name], values)):
            assert abs(a - b) <= limit * max(1, abs(b)), f"{name}[{i}]: {a}, expected {b}"
    print(len(wanted), "tensors agree")


if __name__ == "__main__":
    main()
