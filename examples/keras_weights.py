"""Turns weights of Keras into a safetensors file for --init-from, and for --checkpoint of eval and infer.

usage: keras_weights.py KERAS.npz FILE.safetensors [LAYER=HxWxC...]

In Keras 3 this writes KERAS.npz:   numpy.savez("keras.npz", **{weight.path: weight.numpy() for weight in model.weights})

A layer keeps its path with dots, and its arrays get the names and layouts of dlc's layers: of a convolution (height, width, in, out) becomes
(out, in, height, width), of a depthwise one (height, width, in, each) becomes (in * each, 1, height, width), a dense (in, out) becomes (out,
in). LAYER is a dense layer behind a Flatten of images of H x W x C, which Keras counts with channels innermost. Prints the tensors; exits 1
for an array that it does not know, as those of recurrent layers.
"""
import json
import re
import struct
import sys

import numpy

NAMES = {"kernel": "weight", "depthwise_kernel": "weight", "embeddings": "weight", "bias": "bias", "gamma": "weight", "beta": "bias",
         "moving_mean": "running_mean", "moving_variance": "running_var"}


def turned(layer, name, array, images):
    """The array in dlc's layout; `images` is what the layer is behind a Flatten of."""
    if not name.endswith("kernel") or array.ndim < 2:
        return array
    if array.ndim > 2:
        if "depthwise" in f"{layer}/{name}":
            array = array.reshape(*array.shape[:-2], 1, -1)
        return numpy.moveaxis(array, (-1, -2), (0, 1))
    if images:
        height, width, channels = images
        array = array.reshape(height, width, channels, -1).transpose(2, 0, 1, 3).reshape(height * width * channels, -1)
    return array.T


def main():
    source, target, *flattened = sys.argv[1:]
    behind = {layer: [int(extent) for extent in extents.split("x")] for layer, extents in (each.split("=") for each in flattened)}
    header, data = {}, b""
    for path, array in numpy.load(source).items():
        layer, _, name = re.sub(":[0-9]+$", "", path).rpartition("/")
        if name not in NAMES:
            sys.exit(f"keras_weights.py: {path}: no array of a layer that is known here: {', '.join(NAMES)}")
        made = turned(layer, name, array.astype("<f4"), behind.pop(layer, None) if name == "kernel" else None)
        tensor = f"{layer.replace('/', '.')}.{NAMES[name]}"
        header[tensor] = {"dtype": "F32", "shape": made.shape, "data_offsets": [len(data), len(data) + made.nbytes]}
        data += made.tobytes()
        print(f"{tensor}: f32{list(made.shape)}")
    if behind:
        sys.exit(f"keras_weights.py: {source}: no layer {', '.join(behind)}")
    text = json.dumps(header).encode()
    with open(target, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text + data)


if __name__ == "__main__":
    main()
