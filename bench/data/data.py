#!/usr/bin/env python3
"""Times how pictures become batches: decoding beside others on the same files, in turns, and what a training step waits for them.

usage: data.py decode [--threads N] [--rounds N] [--files N]    needs torchvision, Pillow and libturbojpeg.so.0
       data.py wait [--threads N] [--rounds N]                  ResNet-56 from a folder of 32 x 32 JPEG files; a line of JSON for each
The files are made: smooth noise of many scales, 500 x 375 pixels as JPEG of quality 92, about the bytes of ImageNet's.
"""
import argparse
import concurrent.futures
import ctypes
import glob
import json
import os
import statistics
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["decode", "wait"])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--files", type=int, default=400)
    given = parser.parse_args()
    {"decode": decode, "wait": wait}[given.what](given)


main()
