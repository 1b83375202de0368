"""Copies what make-small-module wrote as training and test data, with one thing of it different.

usage: other_data.py FROM TO changed|fewer      the last byte of the last training image; one training sample less
"""
import os
import sys

source, target, what = sys.argv[1:]
os.makedirs(target)
for name in os.listdir(source):
    data = bytearray(open(f"{source}/{name}", "rb").read())
    if what == "changed" and name == "train-images-idx3-ubyte":
        data[-1] ^= 1
    if what == "fewer" and name.startswith("train-"):
        data[4:8] = (int.from_bytes(data[4:8], "big") - 1).to_bytes(4, "big")
        del data[-(16 if "images" in name else 1):]
    open(f"{target}/{name}", "wb").write(data)
