"""Samples for sparse.dl: six words each, few of them frequent, and a label.  usage: sparse_words.py FILE"""
import random
import sys

from tensor_file import save

draw = random.Random(7)
count = 256
words = [min(int(draw.paretovariate(0.7)) - 1, 2999) for _ in range(count * 6)]
save(sys.argv[1], {"word": ([count, 6], words, "I32"), "label": ([count], [draw.randrange(10) for _ in range(count)], "I32")})
