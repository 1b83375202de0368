"""An input x of ones, 4 samples of 2. usage: ones.py FILE"""
import sys

from tensor_file import save

save(sys.argv[1], {"x": ([4, 2], [1.0] * 8)})
