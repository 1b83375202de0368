"""Two images for weighted.dl: the first is a 1, the second has the label that is given.

usage: weighted_inputs.py FILE LABEL
"""
import sys

from tensor_file import save

save(sys.argv[1], {"image": ([2, 1, 28, 28], [i % 7 / 7 for i in range(2 * 784)]), "label": ([2], [1, int(sys.argv[2])], "I32")})
