#!/usr/bin/env python3
"""Everything that needs a real GPU, in runs of less than ten minutes: which library calls the machine takes, values of every kernel
and library path against the CPU, LeNet trained on digits, times of steps and layers beside PyTorch's, compute-sanitizer.

usage: scripts/gpu-check.sh [--device cuda|simt] [--run N,...] [--only WORD]... [--out DIR]   packs what the build made, and runs it
       scripts/gpu-check.sh --pack FOLDER [--device cuda|simt] [--only WORD]...               packs only: on a machine without a GPU
       FOLDER/gpu-check.sh [--device cuda|simt] [--run N,...] [--only WORD]... [--out DIR]    runs the packed checks: needs python3

Run 1 is what is right: versions, what the libraries say to each call, values, training, accesses and races. Run 2 is how fast it
is: steps, PyTorch's steps, layers, and a table of each network's convolutions by the algorithm that ran them. --only takes the
checks, or packs the models, whose name has the word, or one of the words.
--device simt rehearses it all on the CPU. The record, in bench/results or --out, is a line of JSON for each thing as soon as it is
known: a run that is cut off at any point leaves a valid record.
"""
import argparse
import datetime
import json
import lzma
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

here = pathlib.Path(__file__).resolve().parent
RUN_SECONDS = 540  # no check of a run begins later
MOST_MIB = 64

# Algorithms of convolutions: a build NAME-ALGORITHM each, beside that of the algorithms which dlc chooses.
ALGORITHMS = ("library", "gemm", "winograd", "fft")
FORCED = tuple(f"-{name}" for name in ALGORITHMS)
# How products are computed; those in 16 bits are compared with the CPU's of the same type.
PRECISIONS = {"": "", "-tf32": "--precision=tf32", "-bf16": "--precision=bf16", "-f16": "--precision=f16"}
HALVES = ("-bf16", "-f16")
# Name, source, flags of dlc, and whether the CPU's build is packed too, to compare. Every kernel of a library call has one of ours
# beside it, so --no-libraries checks those; NAME-own are built without the libraries, which fuses more.
SMALL = [
    ("lenet", "examples/lenet/lenet.dl", "", True),
    ("lenet-apart", "examples/lenet/lenet.dl", "--disable-pass=dl-join-product-gradients", False),
    ("lenet-own", "examples/lenet/lenet.dl", "--gemm=own --conv-algorithm=own", False),
    *((f"lenet{suffix}", "examples/lenet/lenet.dl", flags, suffix in HALVES) for suffix, flags in PRECISIONS.items() if suffix),
    *((f"lenet-{name}", "examples/lenet/lenet.dl", f"--conv-algorithm={name}", False) for name in ALGORITHMS),
    ("lenet-small", "examples/lenet/lenet.dl", "-D N=2", True),
    *((f"lenet-small-{name}", "examples/lenet/lenet.dl", f"-D N=2 --conv-algorithm={name}", False) for name in ALGORITHMS),
    ("mlp-small", "examples/mlp/mlp.dl", "-D N=4", True),
    ("kernels", "bench/gpu/kernels.dl", "", True),
    ("kernels-own", "bench/gpu/kernels.dl", "--gemm=own --conv-algorithm=own", False),
    *((f"kernels{suffix}", "bench/gpu/kernels.dl", flags, suffix in HALVES) for suffix, flags in PRECISIONS.items() if suffix),
    *((f"folded{suffix}", "bench/gpu/folded.dl", flags, suffix in ("", *HALVES)) for suffix, flags in PRECISIONS.items()),
    ("linear", "bench/gpu/linear.dl", "", True),
]
# Networks: values on two images, of 64 pixels where the CPU plays the GPU, then times with all of a batch.
NETWORKS = {"alexnet": ("bench/gpu/alexnet.dl", [256]), "vgg16": ("bench/gpu/vgg16.dl", [64]),
            "resnet50": ("examples/resnet50/resnet50.dl", [64, 256]), "fcn": ("bench/gpu/fcn.dl", [16])}
# Those whose convolutions are most of the work are timed with each algorithm, too.
LARGE = {"alexnet-b256", "vgg16-b64", "resnet50-b64"}


def values_models(device):
    """The networks' builds whose values are checked: name, source, flags, CPU's build too."""
    for name, (source, _) in NETWORKS.items():
        if device == "simt" and name == "resnet50":
            continue  # 224 pixels take the SIMT device minutes
        size = " -D size=64" if device == "simt" else ""
        for suffix, flags in PRECISIONS.items():
            # Norms over two images make gradients of single roundings: in 16 bits two draws are as far apart as two builds. The
            # CPU has `kernels` in 16 bits.
            if suffix in HALVES and (device == "simt" or name in ("resnet50", "fcn")):
                continue
            yield f"{name}-n2{suffix}", source, f"-D N=2{size} {flags}", suffix in ("", *HALVES)


def timed_models():
    for name, (source, batches) in NETWORKS.items():
        for batch in batches:
            for suffix, flags in PRECISIONS.items():
                if suffix != "-f16" or name == "resnet50":
                    yield f"{name}-b{batch}{suffix}", source, f"-D N={batch} {flags}", False
            if f"{name}-b{batch}" in LARGE:
                for algorithm in ALGORITHMS:
                    yield f"{name}-b{batch}-{algorithm}", source, f"-D N={batch} --conv-algorithm={algorithm}", False


def has(name, words):
    return not words or any(word in name for word in words)


def base_of(name):
    """The model whose CPU build a build is compared with."""
    for suffix in ("-apart", "-own", "-tf32", *FORCED):
        name = name.removesuffix(suffix)
    return name


# ------------------------------------------------------------------------------------------------ packing, in the source tree


def pack(folder, device, only):
    root = here.parent
    build = pathlib.Path(os.environ.get("DLC_BUILD", root / "build/release"))
    if not (build / "bin/dlc").exists() or not (build / "bin/dlc-run").exists():
        sys.exit(f"gpu-check: no dlc in {build}/bin: run scripts/build.sh first")
    plugin = build / "lib/libdlc_cuda.so"
    if device == "cuda" and not plugin.exists():
        sys.exit(f"gpu-check: no libdlc_cuda.so in {build}/lib: the build found no CUDA toolkit; scripts/install-deps.sh --cuda brings one")
    for part in ("bin", "lib", "models"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    for file in (build / "bin/dlc-run", build / "bin/make-digits"):
        shutil.copy2(file, folder / "bin")
    if plugin.exists():
        shutil.copy2(plugin, folder / "lib")
    for file in (here / "gpu-check.sh", here / "gpu_check.py", root / "bench/compare/rivals.py"):
        shutil.copy2(file, folder)
    compared = [(name, source, f"{flags} --weight-gradients", cpu) for name, source, flags, cpu in SMALL + list(values_models(device))]
    models = compared + (list(timed_models()) if device == "cuda" else [])
    large = {name for name, *_ in models} - {name for name, *_ in SMALL}
    for name, source, flags, cpu in models:
        if not has(name, only):
            continue
        targets = {f"{name}.cuda.so": "cuda:simt" if device == "simt" else "cuda:sm_90" if name in large else "cuda:sm_80,sm_90"}
        if cpu:
            targets[f"{name}.cpu.so"] = "cpu:avx2"
        for file, target in targets.items():
            command = [build / "bin/dlc", root / source, *flags.split(), f"--target={target}", "-o", folder / "models" / file]
            if subprocess.run(command).returncode != 0:
                sys.exit(f"gpu-check: cannot compile {source}")
    for module in (folder / "models").glob("*.so"):  # PTX is text, and the way to the machine narrow
        (folder / "models" / f"{module.name}.xz").write_bytes(lzma.compress(module.read_bytes()))
        module.unlink()
    commit = subprocess.run(["git", "-C", root, "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    (folder / "commit").write_text(commit.stdout.strip() or "unknown")
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) >> 20
    if size > MOST_MIB:
        sys.exit(f"gpu-check: {folder} has {size} MiB, more than {MOST_MIB}")
    print(f"packed {size} MiB into {folder}")


# ------------------------------------------------------------------------------------------------------ running the checks


def unpack():
    for packed in (here / "models").glob("*.so.xz"):
        packed.with_suffix("").write_bytes(lzma.decompress(packed.read_bytes()))
        packed.unlink()


class Record:
    """A file of JSON lines, each of them on disk before the next thing begins."""

    def __init__(self, path):
        self.file = open(path, "w")

    def add(self, kind, **fields):
        self.file.write(json.dumps({"kind": kind, **fields}) + "\n")
        self.file.flush()
        os.fsync(self.file.fileno())


class Failed(Exception):
    """A check that did not pass, in one line."""


class Checks:
    def __init__(self, options):
        self.device, self.only = options.device, options.only
        self.out = options.out
        self.out.mkdir(parents=True, exist_ok=True)
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="gpu-check-"))
        self.failed = 0
        self.measured = {}  # of convolutions: by network, then by algorithm, milliseconds of each layer

    def begin(self, number):
        self.begun = time.monotonic()
        name = f"{datetime.date.today()}-gpu-check-{self.device}-run{number}"
        self.log = self.out / f"{name}.log"
        self.log.unlink(missing_ok=True)
        self.path = self.out / f"{name}.jsonl"
        self.record = Record(self.path)
        self.record.add("begin", run=int(number), date=datetime.datetime.now().isoformat(timespec="seconds"), device=self.device,
                        commit=(here / "commit").read_text().strip())

    def left(self):
        return self.begun + RUN_SECONDS - time.monotonic()

    # ---- commands

    def command(self, arguments, most=120):
        """What a command printed; what one that fails or takes too long printed goes to the log."""
        seconds = max(1, min(most, self.left()))
        try:
            done = subprocess.run(arguments, capture_output=True, text=True, errors="replace", timeout=seconds)
            text, errors, status = done.stdout, done.stderr, done.returncode
        except subprocess.TimeoutExpired as late:
            text, errors = ((part or b"").decode(errors="replace") for part in (late.stdout, late.stderr))
            errors, status = errors + f"\nerror: took too long: {seconds:.0f} s\n", 124
        except OSError as error:
            text, errors, status = "", f"error: {error}\n", 127
        for line in errors.splitlines():
            if line.startswith("warning: "):
                self.record.add("warning", command=pathlib.Path(str(arguments[-1])).name, text=line.removeprefix("warning: "))
        if status != 0:
            with open(self.log, "a") as log:
                log.write(f"== {' '.join(str(a) for a in arguments)}: status {status}\n{(text + errors)[-200000:]}")
            lines = (text + errors).splitlines()
            raise Failed(next((line for line in lines if "error" in line.lower()), lines[-1] if lines else f"status {status}"))
        return text

    def run(self, *arguments, most=120):
        return self.command([here / "bin/dlc-run", *arguments], most)

    # ---- checks

    def row(self, name, result, seconds, detail):
        print(f"  {name:<38} {result:<8} {seconds:5.0f} s  {detail[:120]}", flush=True)

    def check(self, name, function, *arguments):
        """Runs a check and writes down how it went; what it gives is the detail."""
        if not has(name, self.only):
            return
        if self.left() <= 0:
            self.left_out(name, "no time left")
            return
        start, ok = time.monotonic(), True
        try:
            detail = function(*arguments)
        except Failed as failure:
            ok, detail = False, str(failure)
            self.failed += 1
        seconds = time.monotonic() - start
        self.row(name, "ok" if ok else "failed", seconds, detail)
        self.record.add("check", name=name, ok=ok, seconds=round(seconds, 1), detail=detail)

    def left_out(self, name, why):
        self.row(name, "left out", 0, why)
        self.record.add("check", name=name, ok=None, seconds=0, detail=why)

    # ---- what there is to check

    def describe(self):
        known = json.loads(self.run("device", "--device", self.device))
        self.record.add("device", **known)
        return known.get("name", self.device)

    def models(self, suffix=".cuda.so"):
        return sorted(file.name.removesuffix(suffix) for file in (here / "models").glob("*" + suffix))

    def model(self, name, target="cuda"):
        return here / "models" / f"{name}.{target}.so"

    def probe(self, name):
        inspected = json.loads(self.run("inspect", self.model(name), "--json"))
        if "nvrtc" in inspected.get("report", {}):
            self.record.add("compiler", model=name, nvrtc=inspected["report"]["nvrtc"])
        calls = [json.loads(line) for line in self.run("device", "--device", self.device, "--probe", self.model(name)).splitlines()]
        for call in calls:
            self.record.add("call", model=name, **call)
        refused = [call for call in calls if not call["accepted"]]
        detail = f"{len(calls)} calls, {len(refused)} refused"
        if refused:
            detail += f": {refused[0]['users'][0]}: {refused[0]['detail']}"
        return detail

    def parity(self, name, *flags):
        text = self.run("check", self.model(base_of(name), "cpu"), self.model(name), "--device-a", "cpu", "--device-b", self.device, *flags, most=240)
        return text.splitlines()[-1]

    def train(self, name):
        length = ["--epochs", "2"] if self.device == "cuda" else ["--steps", "8"]
        text = self.run("train", self.model(name), "--device", self.device, "--data", f"idx:{self.work / 'digits'}", "--seed", "1",
                        "--json", *length)
        lines = [json.loads(line) for line in text.splitlines()]
        last = lambda key: next(line[key] for line in reversed(lines) if key in line)
        if self.device == "simt":
            if not last("loss") < lines[0]["loss"]:
                raise Failed(f"loss went from {lines[0]['loss']} to {last('loss')}")
            return f"loss fell from {lines[0]['loss']:.4f} to a mean of {last('loss'):.4f} in 8 steps"
        if not last("test_accuracy") >= 0.95:
            raise Failed(f"test accuracy {last('test_accuracy')}, below 0.95")
        return f"test accuracy {last('test_accuracy')} after 2 epochs, {last('samples_per_second'):.0f} samples/s"

    def bench(self, name, *flags):
        steps = ["--steps", "1"] if self.device == "simt" else []
        line = json.loads(self.run("bench", self.model(name), "--device", self.device, "--json", *steps, *flags))
        self.record.add("bench", model=name, flags=flags, **line)
        return line

    def times(self, name, *flags):
        line = self.bench(name, *flags)
        return f"{line['median_ms']:.3f} ms a step, {line['samples_per_second']:.0f} samples/s, inputs {line['inputs_ms']:.3f} ms apart"

    def layers(self, name, *flags):
        line = self.bench(name, "--no-cuda-graph", "--layers", *flags)
        network, _, last = name.rpartition("-")
        forced = last in ALGORITHMS
        algorithm = last if forced else "own" if flags else "chosen"
        self.measured.setdefault(network if forced else name, {})[algorithm] = line["layers"]
        top = sorted(line["layers"], key=lambda layer: -layer["ms"])[:3]
        return "slowest: " + ", ".join(f"{layer['name']} {layer['ms']:.3f} ms" for layer in top)

    def algorithms(self, name):
        """A row for each convolution: what it takes with each algorithm, all launches that belong to it."""
        columns = self.measured[name]
        layers = [row["name"] for row in columns["own"] if row["kernel"].startswith("conv")]
        table = {layer: dict.fromkeys(columns, 0.0) for layer in layers}
        for algorithm, rows in columns.items():
            for row in rows:
                if row["name"] in table:
                    table[row["name"]][algorithm] += row["ms"]
        for layer, times in table.items():
            print(f"    {layer:<40} " + " ".join(f"{algorithm} {ms:9.4f} ms" for algorithm, ms in times.items()), flush=True)
            self.record.add("algorithms", model=name, layer=layer, **{f"{algorithm}_ms": round(ms, 6) for algorithm, ms in times.items()})
        sums = {algorithm: sum(times[algorithm] for times in table.values()) for algorithm in columns}
        return ", ".join(f"{algorithm} {ms:.3f} ms" for algorithm, ms in sums.items())

    def rivals(self, network, batch, precision):
        text = self.command(["python3", here / "rivals.py", "--net", network, "--batch", str(batch), "--precision", precision], most=60)
        line = json.loads(text.splitlines()[-1])
        self.record.add("rival", **line)
        if "error" in line:
            raise Failed(line["error"])
        return f"{line['median_ms']:.3f} ms a step"

    def ceilings(self):
        lines = [json.loads(line) for line in self.command(["python3", here / "rivals.py", "--ceilings"], most=60).splitlines()]
        for line in lines:
            self.record.add("ceiling", **line)
        return ", ".join(f"{line['what']} {line['value']:.0f} {line['unit']}" for line in lines)

    def sanitized(self, tool, *arguments):
        self.command([self.sanitizer, "--tool", tool, "--error-exitcode", "1", here / "bin/dlc-run", *arguments, "--device", "cuda"], most=60)

    def sanitize(self, tool, name, *flags):
        self.sanitized(tool, "bench", self.model(name), "--no-cuda-graph", "--steps", "1", *flags)
        return "no errors"

    # ---- runs

    def run1(self):
        """What is right."""
        for name in self.models():
            self.check(f"probe of {name}", self.probe, name)
        if self.device == "cuda":
            self.check("ceilings of the device", self.ceilings)
        small = [name for name, *_ in SMALL]
        names = [name for name in self.models() if self.model(base_of(name), "cpu").exists()]
        for name in sorted(names, key=lambda name: (name not in small, name)):
            few = self.device == "simt" and name.startswith(("lenet", "mlp", "alexnet", "vgg", "fcn"))
            steps = "1" if few or name not in small else "3"
            self.check(f"values of {name}, each layer", self.parity, name, "--activations", "--steps", steps)
            if self.device == "cuda":
                self.check(f"values of {name}, as a graph", self.parity, name, "--steps", "5" if name in small else "2")
            if not name.endswith(("-own", *FORCED)):
                self.check(f"values of {name}, no libraries", self.parity, name, "--no-libraries", "--steps", steps)
        for name in ("lenet", "lenet-own", "lenet-bf16", "lenet-f16"):
            if name in names:
                self.digits()
                self.check(f"training {name} on digits", self.train, name)
        self.orders_or_accesses()

    def digits(self):
        if not (self.work / "digits").exists():
            self.command([here / "bin/make-digits", self.work / "digits"])

    def orders_or_accesses(self):
        """Accesses, races, barriers, uninitialised reads of our own kernels; of libraries' what we give them."""
        if self.device == "simt":
            for seed in "123":
                if self.model("kernels-own").exists():
                    self.check(f"orders of kernels-own, seed {seed}", self.parity, "kernels-own", "--steps", "1", "--simt-seed", seed)
            return
        self.sanitizer = shutil.which("compute-sanitizer", path=os.environ.get("PATH", "") + ":/usr/local/cuda/bin")
        why = "no compute-sanitizer on PATH"
        if self.sanitizer:
            try:  # some machines do not let it at the GPU
                self.sanitized("memcheck", "device")
            except Failed as failure:
                self.sanitizer, why = None, f"compute-sanitizer cannot work here: {failure}"
        own = [(f"lenet-small{suffix}", ["--no-libraries"]) for suffix in ("", *FORCED)] + [("kernels-own", []), ("kernels-bf16", ["--no-libraries"])]
        wanted = [(tool, name, flags) for name, flags in own
                  for tool in ("memcheck", "racecheck", "initcheck", "synccheck")] + [("memcheck", name, []) for name in ("lenet-small", "kernels", "linear", "kernels-bf16", "folded-bf16", "folded-tf32")]
        for tool, name, flags in wanted:
            if not self.model(name).exists():
                continue
            title = f"{tool} of {name}{', no libraries' if flags else ''}"
            self.check(title, self.sanitize, tool, name, *flags) if self.sanitizer else self.left_out(title, why)

    def run2(self):
        """How fast it is."""
        timed = [name for name, *_ in timed_models() if self.model(name).exists()]
        timed = timed or [name for suffix in ("", *FORCED) if self.model(name := f"lenet-small{suffix}").exists()]
        for name in timed:
            self.check(f"times of {name}", self.times, name)
        for name in ("lenet", "lenet-apart", "lenet-own", "lenet-tf32", "lenet-bf16", *(f"lenet-{algorithm}" for algorithm in ALGORITHMS)):
            if self.device == "cuda" and self.model(name).exists():
                self.check(f"times of {name}", self.times, name)
                self.check(f"times of {name}, without a graph", self.times, name, "--no-cuda-graph")
        if self.device == "cuda":
            for network, batch in [("resnet50", 256), ("alexnet", 256), ("vgg16", 64), ("fcn", 16), ("lenet", 64)]:
                for precision in ("f32", "tf32", "bf16"):
                    self.check(f"PyTorch eager {network} {batch}, {precision}", self.rivals, network, batch, precision)
        for name in timed:
            self.check(f"layers of {name}", self.layers, name)
        for name in timed:
            if not name.endswith(("-tf32", *HALVES, *FORCED)):
                self.check(f"layers of {name}, no libraries", self.layers, name, "--no-libraries")
        for name, columns in self.measured.items():
            if {"own", *ALGORITHMS} <= columns.keys():
                self.check(f"algorithms of {name}", self.algorithms, name)
        for name in ("lenet", "lenet-own"):
            if self.device == "cuda" and self.model(name).exists():
                self.check(f"layers of {name}", self.layers, name)


def main():
    parser = argparse.ArgumentParser(prog="gpu-check.sh", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cuda", "simt"), default="cuda")
    parser.add_argument("--run", default="1,2", help="1, 2 or both (default)")
    parser.add_argument("--only", action="append", metavar="WORD")
    parser.add_argument("--pack", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--out", type=pathlib.Path, metavar="DIR")
    options = parser.parse_args()
    numbers = options.run.split(",")
    if not set(numbers) <= {"1", "2"}:
        parser.error(f"--run: found '{options.run}', expected 1, 2 or 1,2")
    if not (here / "models").is_dir():
        folder = options.pack or here.parent / "build/gpu-check"
        if not options.pack:
            shutil.rmtree(folder, ignore_errors=True)
        pack(folder, options.device, options.only if options.pack else None)
        if options.pack:
            return
        arguments = [a for a in sys.argv[1:]] + ([] if options.out else ["--out", str(here.parent / "bench/results")])
        os.execv(folder / "gpu-check.sh", [str(folder / "gpu-check.sh"), *arguments])
    if options.pack:
        sys.exit("gpu-check: --pack works in the source tree only")
    unpack()
    options.out = options.out or here / "results"
    checks = Checks(options)
    try:
        for number in numbers:
            checks.begin(number)
            try:
                name = checks.describe()
            except Failed as failure:
                sys.exit(f"gpu-check: {str(failure).removeprefix('error: ')}")
            before = checks.failed
            print(f"gpu-check on {name}, {datetime.date.today()}, run {number}", flush=True)
            getattr(checks, f"run{number}")()
            checks.record.add("end", seconds=round(time.monotonic() - checks.begun, 1), failed=checks.failed - before)
            print(f"  record in {checks.path}")
    finally:
        shutil.rmtree(checks.work, ignore_errors=True)
    print("all checks pass" if checks.failed == 0 else f"{checks.failed} checks failed")
    sys.exit(checks.failed > 0)


if __name__ == "__main__":
    main()
