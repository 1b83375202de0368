"""Frames of one network interface reach another some time later, and the way back at once: what netem does where the kernel has it.

usage: delay.py MICROSECONDS OUT IN...    pairs of TAP interfaces that there are; frames that are sent into OUT come out of IN
Prints a line when it serves all. It takes some 10 us of a core a frame, so that links are slow enough and frames large.
"""
import collections
import fcntl
import os
import select
import struct
import sys
import time

TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x2, 0x1000
MOST = 1 << 16  # bytes of a frame, more than any has


def tap(name):
    file = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(file, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI))
    return file


def frames(file):
    try:
        while True:
            yield os.read(file, MOST)
    except BlockingIOError:
        pass


def send(file, frame):
    try:
        os.write(file, frame)
    except OSError:
        pass  # an interface that is not up yet, or no longer: as a cable that is not plugged in


def serve(delay, pairs):
    there = dict(pairs)
    back = {inward: outward for outward, inward in pairs}
    waiting = collections.deque()  # all wait as long: first in, first out
    while True:
        left = max(0, waiting[0][0] - time.monotonic()) if waiting else None
        for file in select.select([*there, *back], [], [], left)[0]:
            if file in there:
                waiting.extend((time.monotonic() + delay, there[file], frame) for frame in frames(file))
            else:
                for frame in frames(file):
                    send(back[file], frame)
        while waiting and waiting[0][0] <= time.monotonic():
            send(*waiting.popleft()[1:])


def main():
    names = sys.argv[2:]
    pairs = [(tap(outward), tap(inward)) for outward, inward in zip(names[::2], names[1::2])]
    print("ready", flush=True)
    serve(float(sys.argv[1]) * 1e-6, pairs)


if __name__ == "__main__":
    main()
