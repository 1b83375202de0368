"""A batch for examples/gan: 64 images of one grey ramp and numbers as noise. usage: gan_inputs.py FILE"""
import sys

from tensor_file import save

save(sys.argv[1], {"image": ([64, 1, 28, 28], [(i % 784) / 392 - 1 for i in range(64 * 784)]),
                   "noise": ([64, 32], [((i * 37) % 101) / 50 - 1 for i in range(64 * 32)])})
