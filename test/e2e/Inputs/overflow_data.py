"""Samples for precision.dl and its like, the last `huge` of them too large for f16, the first 8 below 0: overflow_data.py FILE [HUGE]"""
import random
import sys

from tensor_file import save

draw = random.Random(5)
count, huge = 64, int(sys.argv[2]) if len(sys.argv) > 2 else 0
label = [draw.randrange(4) for _ in range(count)]
x = [draw.gauss(label[i] if k % 4 == label[i] else 0, 0.5) * (1e6 if i >= count - huge else 1) for i in range(count) for k in range(24)]
x[:8 * 24] = [-abs(v) for v in x[:8 * 24]]
save(sys.argv[1], {"x": ([count, 24], x), "label": ([count], label, "I32")})
