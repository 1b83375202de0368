#!/usr/bin/env python3
"""Times how pictures become batches: decoding beside others on the same files, in turns, what a training step waits for them, and opening; and
what a checkpoint costs.

usage: data.py decode [--threads N] [--rounds N] [--files N]    needs torchvision, Pillow and libturbojpeg.so.0
       data.py wait [--threads N] [--rounds N]                  ResNet-56 from a folder of 32 x 32 JPEG files; a line of JSON for each
       data.py open [--rounds N] [--files N]                    as many samples as ImageNet has, by bench-open; a line of JSON for each format
       data.py checkpoint [--threads N] [--rounds N]            1.45 GB, Adam's, behind every 10 of 20 steps; needs 5 GB of disk
The files are made: smooth noise of many scales, 500 x 375 pixels as JPEG of quality 92, about the bytes of ImageNet's. What is only opened has
holes for pictures, so that 141 GB of them take a few hundred MB of disk.
"""
import argparse
import concurrent.futures
import ctypes
import glob
import json
import os
import statistics
import struct
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOLS = os.path.join(ROOT, "build/release/bin")
sys.path.insert(0, os.path.join(ROOT, "bench"))
from turns import turns  # noqa: E402

MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def picture(random, width, height):
    """Noise whose power falls as that of photographs does, and a little of the camera's."""
    import numpy
    from PIL import Image

    sum = numpy.zeros((height, width, 3), numpy.float32)
    for step in (1, 2, 4, 8, 16, 32, 64):
        size = (max(2, width // step), max(2, height // step))
        noise = random.normal(0, 5 * step ** 0.6, (size[1], size[0], 3)).astype(numpy.float32)
        sum += numpy.stack([numpy.asarray(Image.fromarray(noise[..., c]).resize((width, height), Image.BICUBIC)) for c in range(3)], -1)
    return Image.fromarray(numpy.clip(sum + 128, 0, 255).astype(numpy.uint8))


def make_folder(folder, files, width, height, classes, quality):
    import numpy

    random = numpy.random.default_rng(0)
    for split, count in (("train", files), ("val", classes)):
        for i in range(count):
            place = os.path.join(folder, split, f"{i % classes:03}")
            os.makedirs(place, exist_ok=True)
            picture(random, width, height).save(os.path.join(place, f"{i:05}.jpg"), quality=quality)


def dlc(folder, threads):
    out = subprocess.run([os.path.join(TOOLS, "dlc-run"), "data", f"images:{folder}", "--split", "train", "--speed", "--json", "--workers", str(threads),
                          "--augment", f"random-resized-crop:224,flip,normalise:mean={'/'.join(map(str, MEAN))}:std={'/'.join(map(str, DEVIATION))}"],
                         check=True, capture_output=True, text=True).stdout
    figures = [json.loads(line) for line in out.splitlines() if '"samples_per_second"' in line]
    return next(each["samples_per_second"] for each in figures if each["threads"] == threads)


def torchvision(folder, threads, jpeg):
    """Samples a second of a DataLoader with `threads` workers, by Pillow or by torchvision's own libjpeg."""
    import torch
    from torch.utils.data import DataLoader
    from torchvision import datasets, io as pictures, transforms
    from torchvision.transforms import v2

    if jpeg:
        steps = v2.Compose([v2.RandomResizedCrop(224, antialias=True), v2.RandomHorizontalFlip(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, DEVIATION)])
        data = datasets.ImageFolder(os.path.join(folder, "train"), steps, loader=lambda path: pictures.decode_jpeg(pictures.read_file(path), pictures.ImageReadMode.RGB))
    else:
        steps = transforms.Compose([transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.ToTensor(), transforms.Normalize(MEAN, DEVIATION)])
        data = datasets.ImageFolder(os.path.join(folder, "train"), steps)
    loader = DataLoader(data, batch_size=32, shuffle=True, num_workers=threads, persistent_workers=True, prefetch_factor=4)
    for _ in loader:  # workers have begun, the files are in memory
        pass
    start, count = time.perf_counter(), 0
    while time.perf_counter() - start < 2:
        count += sum(len(images) for images, _ in loader)
    return count / (time.perf_counter() - start)


def turbojpeg(folder, threads):
    """What libjpeg-turbo alone makes of the files: whole pictures, nothing cut or scaled."""
    library = ctypes.CDLL("libturbojpeg.so.0")
    library.tjInitDecompress.restype = ctypes.c_void_p
    files = [open(name, "rb").read() for name in sorted(glob.glob(os.path.join(folder, "train/*/*.jpg")))]

    def decode(part):
        handle, room = ctypes.c_void_p(library.tjInitDecompress()), ctypes.create_string_buffer(500 * 375 * 3)
        for each in part:
            if library.tjDecompress2(handle, each, ctypes.c_ulong(len(each)), room, 500, 0, 375, 0, 0) != 0:
                raise RuntimeError("tjDecompress2 failed")
        library.tjDestroy(handle)

    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        start, count = time.perf_counter(), 0
        while time.perf_counter() - start < 1:
            list(pool.map(decode, [files[i::threads] for i in range(threads)]))
            count += len(files)
        return count / (time.perf_counter() - start)


def decode(given):
    programs = {"dlc": dlc, "torchvision_pillow": lambda *of: torchvision(*of, jpeg=False), "torchvision_jpeg": lambda *of: torchvision(*of, jpeg=True),
                "turbojpeg_alone": turbojpeg}
    rates = {name: [] for name in programs}
    with tempfile.TemporaryDirectory() as folder:
        make_folder(folder, given.files, 500, 375, 4, 92)
        bytes_each = statistics.mean(map(os.path.getsize, glob.glob(os.path.join(folder, "train/*/*.jpg"))))
        for turn in range(given.rounds):
            for name in turns(list(programs), turn):
                rates[name].append(programs[name](folder, given.threads))
    medians = {name: statistics.median(each) for name, each in rates.items()}
    ratios = {f"beside_{name}": round(statistics.median(ours / other for ours, other in zip(rates["dlc"], rates[name])), 3) for name in programs if name != "dlc"}
    print(json.dumps({"kind": "decode", "threads": given.threads, "files": given.files, "bytes_each": round(bytes_each),
                      "samples_per_second": {name: round(rate, 1) for name, rate in medians.items()}, **ratios,
                      "all": {name: [round(rate, 1) for rate in each] for name, each in rates.items()}}))


def wait(given):
    """The part of a step that waits for its batch: of all steps but the first, in each round."""
    parts = []
    with tempfile.TemporaryDirectory() as folder:
        make_folder(os.path.join(folder, "data"), 2560, 32, 32, 10, 92)
        module, trace = os.path.join(folder, "resnet56.so"), os.path.join(folder, "trace.json")
        subprocess.run([os.path.join(TOOLS, "dlc"), os.path.join(ROOT, "examples/cifar/resnet_cifar.dl"), "-D", "N=128", "-o", module], check=True)
        for _ in range(given.rounds):
            subprocess.run([os.path.join(TOOLS, "dlc-run"), "train", module, "--data", f"images:{folder}/data", "--steps", "20", "--threads", str(given.threads),
                            "--augment", "crop:4,flip", "--trace", trace], check=True, capture_output=True)
            events = json.load(open(trace))["traceEvents"]
            of = lambda name: sum(each["dur"] for each in events if each.get("ph") == "X" and each["name"].startswith(name) and each["args"].get("step", 0) > 1)  # noqa: E731
            waited, steps = of("wait for data"), of("step ")
            parts.append(waited / (waited + steps))
    print(json.dumps({"kind": "wait", "network": "resnet56", "batch": 128, "threads": given.threads, "part": round(statistics.median(parts), 5),
                      "all": [round(each, 5) for each in parts]}))


PICTURE_BYTES = 110000


def name_of(i):
    return f"n{10000000 + i % 1000}/n{10000000 + i % 1000}_{i}"


def make_list(folder, samples):
    with open(os.path.join(folder, "train.txt"), "w") as file:
        file.writelines(f"{name_of(i)}.JPEG {i % 1000}\n" for i in range(samples))


def make_names(folder, samples):
    for label in range(1000):
        os.makedirs(os.path.join(folder, "train", f"n{10000000 + label}"))
    for i in range(samples):
        open(os.path.join(folder, "train", name_of(i) + ".JPEG"), "x").close()


def make_shards(folder, samples):
    """Shards of 8,192, with the index that dlc-run's --convert writes."""
    picture_blocks = -(-PICTURE_BYTES // 512)
    for first in range(0, samples, 8192):
        numbers = range(first, min(first + 8192, samples))
        each, path = (picture_blocks + 3) * 512, os.path.join(folder, f"train-{first // 8192:06}")
        size = len(numbers) * each + 1024
        with open(path + ".tar", "wb") as file:
            file.truncate(size)
        with open(path + ".idx", "w") as file:
            file.write(f"v1.2 {len(numbers)}\n")
            for at, i in enumerate(numbers):
                label = at * each + (picture_blocks + 2) * 512
                file.write(f"jpg {at * each + 512} {PICTURE_BYTES} {name_of(i)}.jpg cls {label} 3 {name_of(i)}.cls\n")
            file.write(f"dlc {size} {' '.join(str(i % 1000) for i in numbers)}\n")


def make_database(folder, samples):
    """Of LMDB's format: a value has pages of its own behind the leaf with its key, as they are when records are added in their order."""
    PAGE, BRANCH, LEAF, OVERFLOW, META, OWN_PAGES = 4096, 1, 2, 4, 8, 1
    length = bytes([PICTURE_BYTES & 127 | 128, PICTURE_BYTES >> 7 & 127 | 128, PICTURE_BYTES >> 14])
    value = b"\x22" + length + bytes(PICTURE_BYTES) + b"\x28\x01\x38\x01"  # a Datum: data, label 1, encoded
    pages_each = -(-(len(value) + 16) // PAGE)
    next_page = 2

    def write(file, number, flags, nodes):
        page = bytearray(PAGE)
        upper, places = PAGE, []
        for node in nodes:
            upper -= len(node) + len(node) % 2
            page[upper:upper + len(node)] = node
            places.append(upper)
        struct.pack_into(f"<QHHHH{len(nodes)}H", page, 0, number, 0, flags, 16 + 2 * len(nodes), upper, *places)
        file.seek(number * PAGE)
        file.write(page)

    with open(os.path.join(folder, "data.mdb"), "wb") as file:
        level, counts, depth = [], {BRANCH: 0, LEAF: 0}, 1
        each = (PAGE - 16) // (8 + len(f"{0:010}_{name_of(samples)}.JPEG") + 1 + 8 + 2)
        for first in range(0, samples, each):
            page, next_page, nodes = next_page, next_page + 1, []
            for i in range(first, min(first + each, samples)):
                key = f"{i:010}_{name_of(i)}.JPEG".encode()
                nodes.append(struct.pack("<HHHH", len(value) & 0xffff, len(value) >> 16, OWN_PAGES, len(key)) + key + struct.pack("<Q", next_page))
                if i == 0:  # the kind of all is that of the first
                    file.seek(next_page * PAGE)
                    file.write(struct.pack("<QHHI", next_page, 0, OVERFLOW, pages_each) + value)
                next_page += pages_each
            write(file, page, LEAF, nodes)
            level.append((nodes[0][8:-8], page))
            counts[LEAF] += 1
        while len(level) > 1:
            above = []
            for part in (level[i:i + 64] for i in range(0, len(level), 64)):
                nodes = [struct.pack("<HHHH", page & 0xffff, page >> 16 & 0xffff, page >> 32, len(key)) + key for key, page in part]
                nodes[0] = nodes[0][:6] + bytes(2)  # the first of a branch needs no key
                write(file, next_page, BRANCH, nodes)
                above.append((part[0][0], next_page))
                next_page += 1
                counts[BRANCH] += 1
            level, depth = above, depth + 1
        database = struct.pack("<HHQQQQQ", 0, depth, counts[BRANCH], counts[LEAF], samples * pages_each, samples, level[0][1])
        for meta in range(2):
            file.seek(meta * PAGE)
            file.write(struct.pack("<QHHHH", meta, 0, META, 0, 0) + struct.pack("<IIQQ", 0xbeefc0de, 1, 0, next_page * PAGE))
            file.write(struct.pack("<IHHQQQQQ", PAGE, 8, 0, 0, 0, 0, 0, 2**64 - 1))  # free pages: none
            file.write(struct.pack("<I", 0) + database + struct.pack("<QQ", next_page - 1, 1 + meta))
        file.truncate(next_page * PAGE)


def open_all(given):
    makers = {"list": make_list, "images": make_names, "tar": make_shards, "lmdb": make_database}
    for name, make in makers.items():
        with tempfile.TemporaryDirectory() as folder:
            make(folder, given.files)
            figures = [json.loads(subprocess.run([os.path.join(TOOLS, "bench-open"), f"{name}:{folder}"], check=True, capture_output=True, text=True).stdout)
                       for _ in range(given.rounds)]
        if figures[0]["samples"] != given.files:
            sys.exit(f"data.py: {name} has {figures[0]['samples']} samples, expected {given.files}")
        seconds = [each["seconds"] for each in figures]
        print(json.dumps({"kind": "open", "format": name, "samples": given.files, "seconds": statistics.median(seconds),
                          "peak_mib": statistics.median(each["peak_mib"] for each in figures), "all": seconds}), flush=True)


BIG = """
model Big(x: f32[N, 11000]) -> f32[N, 10] { return x |> linear(11000) |> relu |> linear(10) }
train Big { label: i32[N]  loss = softmax_cross_entropy(output, label)  optimizer = adam(learning_rate=0.001)  batch = 64 }
"""


def median(numbers, digits):
    """Of those that are there; None if there are none."""
    there = [each for each in numbers if each is not None]
    return round(statistics.median(there), digits) if there else None


def checkpoint(given):
    """For how long training stands still, beside a plain copy of as many bytes, and a step beside the thread that writes, beside one alone: null where none
    ended before the file was written."""
    import numpy

    figures = {"first_ms": [], "second_ms": [], "copy_ms": [], "step_ms": [], "step_beside_ms": []}
    with tempfile.TemporaryDirectory() as folder:
        place = lambda name: os.path.join(folder, name)  # noqa: E731
        with open(place("big.dl"), "w") as file:
            file.write(BIG)
        random = numpy.random.default_rng(0)
        numpy.savez(place("train.npz"), x=random.standard_normal((1280, 11000), numpy.float32), label=random.integers(0, 10, 1280, numpy.int32))
        subprocess.run([os.path.join(TOOLS, "dlc"), place("big.dl"), "-o", place("big.so")], check=True)
        for _ in range(given.rounds):
            subprocess.run([os.path.join(TOOLS, "dlc-run"), "train", place("big.so"), "--data", f"npz:{place('train.npz')}", "--steps", "20", "--threads",
                            str(given.threads), "--checkpoint", place("big.safetensors"), "--checkpoint-every", "10", "--overwrite", "--trace",
                            place("trace.json")], check=True, capture_output=True)
            spans = [each for each in json.load(open(place("trace.json")))["traceEvents"] if each.get("ph") == "X"]
            of = lambda name: [(each["ts"], each["ts"] + each["dur"]) for each in spans if each["name"].startswith(name)]  # noqa: E731
            copies, writes, steps = of("checkpoint"), of("write checkpoint"), of("step ")
            for name, (begin, end) in zip(("first_ms", "second_ms"), copies):
                figures[name].append((end - begin) / 1e3)
            alone = [end - begin for begin, end in steps[1:9]]
            beside = [end - begin for begin, end in steps[10:] if end < writes[0][1]]
            figures["step_ms"].append(statistics.median(alone) / 1e3)
            figures["step_beside_ms"].append(statistics.median(beside) / 1e3 if beside else None)
            size = os.path.getsize(place("big.safetensors"))
            source, target = numpy.ones(size, numpy.uint8), numpy.ones(size, numpy.uint8)
            start = time.perf_counter()
            numpy.copyto(target, source)
            figures["copy_ms"].append((time.perf_counter() - start) * 1e3)
            del source, target
    medians = {name: median(each, 1) for name, each in figures.items()}
    print(json.dumps({"kind": "checkpoint", "bytes": size, "threads": given.threads, **medians,
                      "step_beside": median([a and a / b for a, b in zip(figures["step_beside_ms"], figures["step_ms"])], 3),
                      "all": {name: [one and round(one, 1) for one in each] for name, each in figures.items()}}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["decode", "wait", "open", "checkpoint"])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--files", type=int, help="400; 1,281,167 to open")
    given = parser.parse_args()
    given.files = given.files or (1281167 if given.what == "open" else 400)
    {"decode": decode, "wait": wait, "open": open_all, "checkpoint": checkpoint}[given.what](given)


if __name__ == "__main__":
    main()
