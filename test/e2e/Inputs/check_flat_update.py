"""Counts how the gradients of a training step come into the one buffer that its update reads.

usage: check_flat_update.py FILE TENSORS COPIED: the text of --emit=exec, how many gradients there are, and of how many a copy is made
"""
import re
import sys


def main():
    text, tensors, copied = open(sys.argv[1]).read(), int(sys.argv[2]), int(sys.argv[3])
    step = text[text.index("exec.program @train_step"):].split("\n  }\n")[0]
    views = dict(re.findall(r"(%\w+) = exec\.view (%\w+) at", step))
    allocs = dict(re.findall(r"(%\w+) = exec\.alloc (?:at \d+ )?: <(\d+)>", step))
    updates = re.findall(r"exec\.launch @update_\w+\((.*?)\) stream", step)
    assert len(updates) == 1, f"{len(updates)} updates"
    flat = [name for name in re.findall(r"read (%\w+)", updates[0]) if name in allocs]
    assert len(flat) == 1, f"the update reads {len(flat)} buffers of the arena"
    places = {view for view, whole in views.items() if whole == flat[0]}
    computed = [name for launch in re.findall(r"exec\.launch @\w+(?:\.\w+)?\((.*?)\) stream", step)
                for name in re.findall(r"write (%\w+)", launch) if name in places]
    copies = [name for name in re.findall(r"exec\.copy %\w+ to (%\w+)", step) if name in places]
    print(f"{len(computed)} gradients are computed in one buffer of {int(allocs[flat[0]]) / 2**20:.1f} MiB, {len(copies)} are copied there")
    assert (len(computed), len(copies)) == (tensors - copied, copied)


main()
