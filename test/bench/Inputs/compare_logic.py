"""Prints what compare.py and variants.py decide, with times given instead of taken. usage: compare_logic.py choose|settings|rounds ROOT [PREFIX]"""
import argparse
import os
import sys

sys.path.insert(0, os.path.join(sys.argv[2], "bench/compare"))
import compare
import variants


def choose():
    times = {("eager", "contiguous", "plain"): 9, ("eager", "channels_last", "plain"): 7, ("compile", "contiguous", "plain"): 5,
             ("compile", "channels_last", "plain"): 6, ("compile", "contiguous", "jemalloc"): 4, ("compile", "contiguous", "iomp"): 8}

    def trial(*variant):
        print(*variant, times[variant])
        return times[variant]
    print(variants.choose(["eager", "compile"], variants.LAYOUTS, ["plain", "jemalloc", "iomp"], trial))


def settings():
    prefix = sys.argv[3]
    text = lambda found, names: " ".join(f"{name} {found.get(name, 'no')}" for name in names).replace(os.path.join(prefix, "lib/"), "")
    print("plain 1", variants.environment("plain", 1, prefix))
    print("jemalloc 1", text(variants.environment("jemalloc", 1, prefix), ("GOMP_CPU_AFFINITY", "LD_PRELOAD", "MALLOC_CONF", "OMP_NUM_THREADS", "OMP_PROC_BIND")))
    print("iomp 2", text(variants.environment("iomp", 2, prefix), ("KMP_AFFINITY", "LD_PRELOAD", "OMP_NUM_THREADS")))
    variants.SETTINGS["none"], variants.PACKAGES["libnone.so"] = (["libjemalloc.so.2", "libnone.so"], {}), "somebody's package"
    print("missing", variants.lacking("none", prefix))


class Program(argparse.Namespace):
    """One of dlc's, or a rival, with what its rounds took."""


def rounds():
    names = ["dlc", "strict", "eager", "compile"]
    print(*(compare.turns(names, round) for round in range(2)))
    ours = [Program(name=name, entry="train_step", medians=medians, loads=[40.0], peaks=[50.0], compile_s=1.0, cached_compile_s=0.5)
            for name, medians in (("dlc", [8.0, 40 / 3]), ("strict", [16.0, 80 / 3]))]
    rivals = [Program(name=name, layout=layout, settings="jemalloc", medians=medians, made={"version": "2", "first_step_s": 3},
                      process=Program(pid=os.getpid()))
              for name, layout, medians in (("eager", "contiguous", [30.0, 30.0]), ("compile", "channels_last", [20.0, 20.0]))]
    trials = [{"mode": "compile", "layout": "channels_last", "settings": "plain", "ms": 21.0, "first_step_s": 30}]
    options = Program(threads=2, rounds=2, dlc_flags="", precision="f32", left_out={})
    result = compare.describe("lenet/64", options, ours, rivals, {"dlc": 1e-7, "strict": 1e-7, "eager": 2e-7, "compile": 2e-7}, trials)
    best, strict = result["rivals"][result["best_rival"]], result["strict"]
    gain = lambda it: f"{it['speedup']:.2f} ({it['speedup_min']:.2f} - {it['speedup_max']:.2f})"
    print(f"best {result['best_rival']} {best['layout']} {best['settings']}: {gain(best)}, first step {best['first_step_s']} s; strict {gain(strict)}")
    other = compare.describe("vgg16/16", options, ours, rivals, dict.fromkeys(names, 0), trials)
    print(f"warm-up {result['warm_up']} of {result['steps']} steps, {other['warm_up']} of {other['steps']}")
    print(compare.line(result))


{"choose": choose, "settings": settings, "rounds": rounds}[sys.argv[1]]()
