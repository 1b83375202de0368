"""A batch for examples/gan and wgan-gp: 64 images of one grey ramp, and numbers as noise; for wgan-gp
shares as well. usage: gan_inputs.py FILE [share]"""
import sys

from tensor_file import save

tensors = {"image": ([64, 1, 28, 28], [(i % 784) / 392 - 1 for i in range(64 * 784)]),
           "noise": ([64, 32], [((i * 37) % 101) / 50 - 1 for i in range(64 * 32)])}
if "share" in sys.argv[2:]:
    tensors["share"] = ([64, 1, 1, 1], [(i * 29 % 64) / 64 for i in range(64)])
save(sys.argv[1], tensors)
