#!/usr/bin/env python3
"""Checks that codegen/Machine is the only place that says how fast a machine is, or how large its caches are.

usage: check_rates.py ROOT      prints one line a violation, exits 1 if there is one

The rule, for the sources of dialects, passes and codegen: no number of 1e6 or more, or of 1e-6 or less, is written with an exponent (rates and
costs of launches are, and little else is), nothing is made constant whose name says that it is a rate or a property of a machine, and no
size is written in KiB or MiB (16 << 10). What looks so and is none stands in EXCEPTIONS, with the reason.
"""
import os
import re
import sys

FOLDERS = ("dialects", "passes", "codegen")
HOME = "codegen/Machine/"
NUMBER = r"(?<![\w.])\d+(?:\.\d*)?"
EXPONENT = re.compile(NUMBER + r"e(?:\+?(\d+)|-(\d+))\b")
SIZE = re.compile(r"(?<![\w.])\d+\)? << (?:10|20)\b")
NAMED = re.compile(r"\b\w*(?:[pP]er(?:Second|Cycle)|[sS]econds(?:Of|Per|A)[A-Z]\w*|[bB]andwidth|[lL]atency|[hH]ertz|[cC]lockRate|"
                   r"[mM]ultiprocessors|l[123](?:Bytes)?)\b(?:\w*)? = [\d.]")

# file: (what stands in the line, why it says nothing about a machine)
EXCEPTIONS = {
    "codegen/CPU/Attention/AttentionForward.cpp": [("lowestScore", "a number that no score reaches")],
    "codegen/CPU/Attention/AttentionGenerator.cpp": [("operationsPerCycle", "instructions of our own code for a score")],
    "codegen/CPU/Gemm/GemmSchedule.cpp": [("operationsPerCycle", "instructions of our own code for an element")],
    "codegen/CPU/Winograd/WinogradSchedule.cpp": [("mostScratch", "memory of a task, whatever caches hold"),
                                                  ("mostPartialSums", "memory of a step")],
    "codegen/CUDA/FFT/FourierGenerator.cpp": [("sharedBytes", "what CUDA promises of any GPU")],
    "codegen/CUDA/Generators.cpp": [("shared = 48 << 10", "as simt.h lays it out")],
    "codegen/CUDA/Library/LibraryGenerator.cpp": [("productWorkspace", "memory for cuBLASLt"), ("convolutionWorkspace", "memory for cuDNN")],
    "codegen/CUDA/Product/ProductGenerator.cpp": [("moments = 16", "what CUDA promises of any GPU")],
    "codegen/Compile/CompiledKernel.h": [("cacheBytes", "of the folder of objects")],
    "codegen/Plan/Quantities.cpp": [("seconds * 1e9", "nanoseconds")],
    "codegen/Plan/PageEntry.cpp": [("1e-30", "instead of zero")],
    "codegen/Tune/LockFile.cpp": [("limit = 256 << 20", "of a file")],
    "codegen/Tune/Tuner.cpp": [("least(), 1e-9", "instead of zero")],
    "dialects/DL/Formulas/Losses.cpp": [("epsilon = 1e-12", "of the formula")],
    "dialects/DL/Ops/DLAttentionOps.cpp": [("lowestScore", "a number that no score reaches")],
    "dialects/DL/Rules/Optimizers.cpp": [("epsilon", "a setting")],
    "passes/DL/Schedule/Buckets.h": [("alpha", "of a network: --link says another"), ("beta", "the same"),
                                     ("mostLastBytes", "what nothing may hide")],
    "passes/DL/Memory/Buffers.cpp": [("bytes) / 1e10", "without dl-choose there is no machine to ask")],
    "passes/DL/Choice/Choose.cpp": [("impossible", "more than any network takes")],
    "passes/DL/Memory/LiveMemory.cpp": [("1e15", "the largest capacity")],
    "passes/DL/Choice/Pbqp.cpp": [("1e-9", "equal but for rounding")],
    "passes/DL/Update/Clip.cpp": [("1e-6", "of the formula")],
}
# Polynomials, and code that runs on a device.
LEFT_OUT = ("codegen/CPU/Lowering/MathPolynomials.cpp", "codegen/CUDA/simt/", HOME)


def looks_like_rate(line):
    for match in EXPONENT.finditer(line):
        if int(match.group(1) or match.group(2)) >= 6:
            return "a number with an exponent"
    if SIZE.search(line):
        return "a size in KiB or MiB"
    return "a property of a machine" if NAMED.search(line) else ""


def main():
    root, bad, used = sys.argv[1], 0, set()
    for top in FOLDERS:
        for folder, folders, files in os.walk(os.path.join(root, top)):
            for file in sorted(files):
                path = os.path.relpath(os.path.join(folder, file), root)
                if not path.endswith((".h", ".cpp")) or path.startswith(LEFT_OUT):
                    continue
                for number, line in enumerate(open(os.path.join(root, path), encoding="utf-8"), 1):
                    what = looks_like_rate(line.split("//")[0])
                    known = [text for text, _ in EXCEPTIONS.get(path, ()) if text in line]
                    used.update((path, text) for text in known)
                    if what and not known:
                        print(f"{path}:{number}: {what}: what depends on the machine stands in {HOME}")
                        bad += 1
    for path, texts in EXCEPTIONS.items():
        for text, _ in texts:
            if (path, text) not in used and os.path.exists(os.path.join(root, path)):
                print(f"{path}:1: there is no '{text}' any longer: take it out of EXCEPTIONS")
                bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
