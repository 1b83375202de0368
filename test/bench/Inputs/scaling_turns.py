"""Prints how scaling.py takes turns, and what it makes of times: dlc takes 10 ms alone and 20 on two ranks, DDP 30 and 40; all double in the second
round. usage: scaling_turns.py ROOT"""
import os
import sys

sys.path.insert(0, os.path.join(sys.argv[1], "bench/scaling"))
import scaling

called = []


def program(name, ms):
    def run():
        called.append(name)
        return ms * (1 if called.count(name) == 1 else 2)
    return run


alone, together = scaling.take_turns({"dlc": program("dlc", 10), "ddp": program("ddp", 30)},
                                     {"buckets": program("buckets", 20), "ddp": program("ddp+", 40)}, 2)
print(" ".join(called[:4]), "|", " ".join(called[4:]))
for mode in ("weak", "strong"):
    rows = {name: scaling.scaled(alone[name], together[variant], mode, 2) for name, variant in (("dlc", "buckets"), ("ddp", "ddp"))}
    print(f"{mode}: " + ", ".join(f"{name} {row['efficiency']:.2f} ({row['efficiency_min']:.2f} - {row['efficiency_max']:.2f})" for name, row in rows.items()))
