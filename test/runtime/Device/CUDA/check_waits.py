"""Takes each wait out of the CUDA device in turn, and says which test misses it.

    check_waits.py BUILD [NAME]

A copy of a file without one of its waits is compiled and linked before the libraries into the tests
of the CUDA device, which then run on the fake that does things late and in adverse orders. A wait
that no test misses is an error: it is needless, or lacks a test. So is one that is not listed here.
With NAME, only waits with that in their name. The target check-dlc-waits runs it; the suite does
not, as it compiles for minutes.
"""

import json
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
DEVICE = "runtime/Device/CUDA/CudaDevice.cpp"
RANKS = "runtime/Device/CUDA/NcclRanks.cpp"
PROGRAM = "dlc_runtime_cuda_tests"

# Each wait: where it is, and its text with what is in its place without it.
WAITS = {
    "memory is freed: for the stream, as long as no rank is lost": (
        DEVICE, '(void)device->await(device->stream(), "freeing memory");', ""),
    "memory is read: for the copy": (
        DEVICE, 'return device->await(device->stream(), "reading memory");', "return {};"),
    "an input is staged: runs, for the copy": (
        DEVICE, 'return checkCuda(cudaStreamWaitEvent(device->stream(), written.get(), 0), "writing memory");',
        "return {};"),
    "memory of the program's: for its stream": (
        DEVICE, "DLC_TRY(checkCuda(cudaStreamWaitEvent(own, betweenStreams.get(), 0), what));", ""),
    "memory of the program's: its stream, for the copies": (
        DEVICE, "return checkCuda(cudaStreamWaitEvent(static_cast<cudaStream_t>(stream), betweenStreams.get(), 0), what);",
        "return {};"),
    "a small write: for those before it, where there is no room": (
        DEVICE, 'DLC_TRY(await(stream(), "writing memory"));', ""),
    "a large write: for the copy": (
        DEVICE, 'return waits ? await(stream(), "writing memory") : Status();', "return {};"),
    "a queue ends: for its runs": (
        DEVICE, '(void)device->await(device->stream(), "ending");', ""),
    "results: for the run": (
        DEVICE, 'DLC_TRY(device->await(finished[slot].get(), "running"));', ""),
    "a traced command: for the streams": (
        DEVICE, 'DLC_TRY(device->await(stream, "running"));', ""),
    "a traced command: for sums through the host": (
        DEVICE, "Result<std::optional<double>> synchronize() override {\n    DLC_TRY(finishAllSums());",
        "Result<std::optional<double>> synchronize() override {"),
    "streams begin: behind the first": (
        DEVICE, 'DLC_TRY(checkCuda(cudaStreamWaitEvent(stream.get(), start, 0), "starting streams"));', ""),
    "streams end: the first, for the others": (
        DEVICE, 'DLC_TRY(checkCuda(cudaStreamWaitEvent(streams[0], done, 0), "joining streams"));', ""),
    "an event of the plan": (
        DEVICE, 'return note(checkCuda(cudaStreamWaitEvent(streams[stream], events[event].get(), 0), "waiting for an event"));',
        "return {};"),
    "an event of the plan behind a sum through the host": (
        DEVICE, "DLC_TRY(finishSums(sum->stream, sum));", ""),
    "a sum through the host: for the copy to the host": (
        DEVICE, 'DLC_TRY(checkCuda(cudaEventSynchronize(sum->copied.get()), "copying what is summed"));', ""),
    "a sum through the host: for the ranks": (
        DEVICE, "DLC_TRY(note(device->ranks().wait(*sum->ticket)));", ""),
    "a launch behind a sum through the host": (
        DEVICE, "Status launch(uint32_t stream, const Launch &launch) override {\n    DLC_TRY(finishSums(stream));",
        "Status launch(uint32_t stream, const Launch &launch) override {"),
    "a library call behind a sum through the host": (
        DEVICE, "Status library(uint32_t stream, const Launch &call) override {\n    DLC_TRY(finishSums(stream));",
        "Status library(uint32_t stream, const Launch &call) override {"),
    "a copy behind a sum through the host": (
        DEVICE, "uint64_t bytes) override {\n    DLC_TRY(finishSums(stream));\n    return note(checkCuda(\n        cudaMemcpyAsync",
        "uint64_t bytes) override {\n    return note(checkCuda(\n        cudaMemcpyAsync"),
    "a fill behind a sum through the host": (
        DEVICE, "uint64_t bytes) override {\n    DLC_TRY(finishSums(stream));\n    return note(checkCuda(cudaMemsetAsync",
        "uint64_t bytes) override {\n    return note(checkCuda(cudaMemsetAsync"),
    "a run ends: for its sums through the host": (
        DEVICE, "Status joined = guarded([&] { return finishAllSums(); });", "Status joined;"),
    "a run that failed: for its sums under way": (
        DEVICE, "(void)device->ranks().wait(*std::exchange(sum->ticket, std::nullopt));",
        "sum->ticket.reset();"),
    "all waits for a stream, without NCCL": (
        DEVICE, ": checkCuda(cudaStreamSynchronize(stream), what);", ": Status();"),
    "all waits for an event, without NCCL": (
        DEVICE, ": checkCuda(cudaEventSynchronize(event), what);", ": Status();"),
    "all waits for a stream, with NCCL": (
        DEVICE, "poll(cudaStreamQuery, stream, what)", "Status()"),
    "all waits for an event, with NCCL": (
        DEVICE, "poll(cudaEventQuery, event, what)", "Status()"),
    "ranks connect: for all of them": (
        RANKS, "return settle(api.connect(", "return checkNccl(api.connect("),
    "ranks part: for all of them": (
        RANKS, "settle(api.finalize(communicator), \"parting\").ok()",
        "checkNccl(api.finalize(communicator), \"parting\").ok()"),
    "a sum by NCCL: for its being on the stream": (
        RANKS, "return settle(api.allReduce(", "return checkNccl(api.allReduce("),
}
WAITING = r"(cudaStreamSynchronize|cudaEventSynchronize|cudaStreamWaitEvent|\b(?:await|settle|finishSums|finishAllSums|wait))\("
# Where the host's waits are written, out of which no wait is left that is not in the list.
DEFINITIONS = r"Status (CudaDevice|NcclRanks)::|Status finish|DLC_TRY\(finishSums\(pending"


def without(text, old, new):
    """The text without a wait. Lines may be broken anywhere between tokens."""
    pattern = r"\s*".join(re.escape(part) for part in re.findall(r"\w+|\"[^\"]*\"|[^\w\s]", old))
    found = re.findall(pattern, text)
    if len(found) != 1:
        sys.exit(f"check_waits.py: {len(found)} times: {old}")
    return re.sub(pattern, lambda _: new, text)


def check_list():
    for file in (DEVICE, RANKS):
        text = (ROOT / file).read_text()
        for where, old, new in WAITS.values():
            if where == file:
                text = without(text, old, new)
        for line in text.splitlines():
            code = line.split("//")[0]
            if re.search(WAITING, code) and not re.search(DEFINITIONS, code):
                sys.exit(f"check_waits.py: {file}: not listed: {line.strip()}")


def compile_command(build, file):
    for entry in json.loads((build / "compile_commands.json").read_text()):
        if entry["file"] == str(ROOT / file):
            return shlex.split(entry["command"])
    sys.exit(f"check_waits.py: {build} does not compile {file}")


def link_command(build):
    all_commands = subprocess.run(["ninja", "-t", "commands", PROGRAM], cwd=build, check=True,
                                  capture_output=True, text=True).stdout
    for command in reversed(all_commands.splitlines()):
        for part in command.split(" && "):
            if f"-o bin/{PROGRAM} " in part:
                return shlex.split(part)
    sys.exit(f"check_waits.py: {build} does not link {PROGRAM}")


def who_misses(build, file, text, folder):
    """The first test that fails, or None."""
    source, made, program = folder / Path(file).name, folder / "made.o", folder / "program"
    source.write_text(text)
    command = compile_command(build, file)
    command[command.index("-o") + 1] = str(made)
    command[command.index("-c") + 1] = str(source)
    subprocess.run([*command, "-O0", "-w"], cwd=build, check=True)
    command = link_command(build)
    place = command.index("-o")
    command[place + 1 : place + 2] = [str(program), str(made)]
    subprocess.run(command, cwd=build, check=True)
    try:
        tests = "--gtest_filter=CudaDeviceTest.*:ProgramMemoryTest.*"
        ran = subprocess.run([program, tests], capture_output=True,
                             text=True, errors="replace", timeout=30)
        output = ran.stdout
        if ran.returncode == 0:
            return None
    except subprocess.TimeoutExpired as expired:
        output = expired.stdout.decode(errors="replace")
    failed = re.findall(r"^\[  FAILED  \] \w+Test\.(\w+)", output, re.M)
    began = re.findall(r"^\[ RUN      \] \w+Test\.(\w+)", output, re.M)
    return failed[0] if failed else f"{began[-1]}, which does not end well"


def main():
    build, wanted = Path(sys.argv[1]).resolve(), "".join(sys.argv[2:])
    check_list()
    needless = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, (file, old, new) in WAITS.items():
            if wanted not in name:
                continue
            text = without((ROOT / file).read_text(), old, new)
            test = who_misses(build, file, text, Path(folder))
            needless += test is None
            print(f"{name} | {test or 'NO TEST MISSES IT'}", flush=True)
    sys.exit(needless != 0)


if __name__ == "__main__":
    main()
