"""What Keras makes of images, with channels innermost, by its own layouts of weights.

usage: keras_model.py make FOLDER     keras.npz as `{weight.path: weight.numpy() for weight in model.weights}`, and in.safetensors
       keras_model.py check FOLDER    whether out.safetensors is that
"""
import json
import struct
import sys

import numpy as np


def weights(random):
    arrays = {"conv2d/kernel": (3, 3, 3, 6), "conv2d/bias": (6,), "batch_normalization/gamma": (6,), "batch_normalization/beta": (6,),
              "batch_normalization/moving_mean": (6,), "batch_normalization/moving_variance": (6,), "depthwise_conv2d/kernel": (3, 3, 6, 2),
              "depthwise_conv2d/bias": (12,), "dense/kernel": (4 * 4 * 12, 16), "dense/bias": (16,), "dense_1/kernel:0": (16, 5),
              "dense_1/bias:0": (5,)}
    return {name: random.uniform(0.5, 1.5, shape).astype("f4") if name.endswith("variance") else random.normal(0, 0.3, shape).astype("f4")
            for name, shape in arrays.items()}


def convolved(x, kernel, product):
    """Of a kernel of 3 x 3, with as many rows and columns as before."""
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    height, width = x.shape[1:3]
    return sum(product(padded[:, i:i + height, j:j + width], kernel[i, j]) for i in range(3) for j in range(3))


def outputs(x, of):
    x = convolved(x, of["conv2d/kernel"], np.matmul) + of["conv2d/bias"]
    x = (x - of["batch_normalization/moving_mean"]) / np.sqrt(of["batch_normalization/moving_variance"] + 1e-3)
    x = np.maximum(x * of["batch_normalization/gamma"] + of["batch_normalization/beta"], 0)
    x = convolved(x, of["depthwise_conv2d/kernel"], lambda a, b: (a[..., None] * b).reshape(*a.shape[:3], -1)) + of["depthwise_conv2d/bias"]
    x = x.reshape(4, 4, 2, 4, 2, 12).max((2, 4)).reshape(4, -1)
    x = np.maximum(x @ of["dense/kernel"] + of["dense/bias"], 0)
    return x @ of["dense_1/kernel:0"] + of["dense_1/bias:0"]


def main():
    what, folder = sys.argv[1:]
    random = np.random.default_rng(1)
    made, image = weights(random), random.normal(0, 1, (4, 8, 8, 3)).astype("f4")
    if what == "make":
        np.savez(f"{folder}/keras.npz", **made)
        text = json.dumps({"image": {"dtype": "F32", "shape": [4, 3, 8, 8], "data_offsets": [0, image.nbytes]}}).encode()
        with open(f"{folder}/in.safetensors", "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text + image.transpose(0, 3, 1, 2).tobytes())
        return
    expected = outputs(image.astype("f8"), {name: array.astype("f8") for name, array in made.items()})
    found = np.frombuffer(open(f"{folder}/out.safetensors", "rb").read()[-4 * expected.size:], "f4").reshape(expected.shape)
    error = np.abs(found - expected).max() / np.abs(expected).max()
    assert error < 1e-5, error  # sums of up to 192 products in f32
    print("the same")


main()
