"""The variants of PyTorch that are tried, so that the best of them is the rival: where channels stand in images, and what the Performance Tuning
Guide of PyTorch, and Intel's that it refers to for details, set on a CPU. Needs no PyTorch itself."""
import glob
import os
import sys

LAYOUTS = ("contiguous", "channels_last")
# What the guides have for each library that they put before the system's own. One thread needs no binding.
GNU = {"OMP_SCHEDULE": "STATIC", "OMP_PROC_BIND": "CLOSE"}
INTEL = {"KMP_AFFINITY": "granularity=fine,compact,1,0", "KMP_BLOCKTIME": "1"}
JEMALLOC = {"MALLOC_CONF": "oversize_threshold:1,background_thread:true,metadata_thp:auto,dirty_decay_ms:9000000000,muzzy_decay_ms:9000000000"}
# name: (libraries to put first, environment). `plain` is PyTorch as PyPI has it.
SETTINGS = {"plain": ([], {}),
            "jemalloc": (["libjemalloc.so.2"], GNU | JEMALLOC),
            "tcmalloc": (["libtcmalloc_minimal.so.4"], GNU),
            "iomp": (["libiomp5.so", "libjemalloc.so.2"], INTEL | JEMALLOC)}
PACKAGES = {"libjemalloc.so.2": "Debian's libjemalloc2", "libtcmalloc_minimal.so.4": "Debian's libtcmalloc-minimal4",
            "libiomp5.so": "PyPI's intel-openmp"}


def library(name, prefix):
    """Its path: in a Python's own folder, where PyPI puts libraries, or in the system's."""
    folders = [os.path.join(prefix, "lib"), "/usr/local/lib", *sorted(glob.glob("/usr/lib/*-linux-gnu")), "/usr/lib64"]
    return next((path for path in (os.path.join(folder, name) for folder in folders) if os.path.exists(path)), None)


def lacking(settings, prefix=sys.prefix):
    """What these settings need and the machine has not, with the package that brings it; empty if nothing."""
    return ", ".join(f"{name} ({PACKAGES[name]})" for name in SETTINGS[settings][0] if not library(name, prefix))


def processors(threads):
    """One for each thread, of different cores as far as there are so many."""
    def first_of_core(number):
        try:
            with open(f"/sys/devices/system/cpu/cpu{number}/topology/thread_siblings_list") as siblings:
                return int(siblings.read().replace("-", ",").split(",")[0]) == number
        except OSError:
            return True
    return sorted(os.sched_getaffinity(0), key=lambda number: (not first_of_core(number), number))[:threads]


def environment(settings, threads, prefix=sys.prefix):
    """What a process of so many threads gets beside its parent's environment."""
    names, found = SETTINGS[settings]
    found = dict(found)
    if names:
        found |= {"LD_PRELOAD": ":".join(library(name, prefix) for name in names), "OMP_NUM_THREADS": str(threads)}
    if threads == 1:
        found = {name: value for name, value in found.items() if name not in ("OMP_PROC_BIND", "KMP_AFFINITY")}
    elif "OMP_PROC_BIND" in found:
        found["GOMP_CPU_AFFINITY"] = " ".join(map(str, processors(threads)))
    return found


def choose(modes, layouts, settings, trial):
    """The layout and the settings of each mode: layouts are tried with the first settings and each mode, the other settings with the fastest of
    them, and serve all modes. `trial(mode, layout, settings)` is how long a step takes."""
    times = {(mode, layout): trial(mode, layout, settings[0]) for mode in modes for layout in layouts}
    layout = {mode: min(layouts, key=lambda each: times[mode, each]) for mode in modes}
    fastest = min(modes, key=lambda mode: times[mode, layout[mode]])
    tried = {settings[0]: times[fastest, layout[fastest]]} | {each: trial(fastest, layout[fastest], each) for each in settings[1:]}
    best = min(settings, key=tried.get)
    return {mode: (layout[mode], best) for mode in modes}
