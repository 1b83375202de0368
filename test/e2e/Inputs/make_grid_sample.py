"""Prints what torch.nn.functional.grid_sample makes of a small image, with both gradients, for check_grid_sample.py.

usage: make_grid_sample.py > grid_sample_pytorch.json
"""
import json
import random

import torch

chance = random.Random(5)


def draw(shape, reach):
    count = torch.Size(shape).numel()
    return torch.tensor([chance.randrange(-1024, 1025) / 1024 * reach for _ in range(count)], dtype=torch.float64).reshape(shape)


x, grid, weight = draw([1, 2, 4, 3], 1), draw([1, 3, 4, 2], 1.7), draw([1, 2, 3, 4], 1)
# The corners' middles, the edges, the middle, and half way between two pixels.
grid[0, 0] = torch.tensor([[-1.0, -1.0], [1.0, 1.0], [0.0, 0.0], [-0.25, 0.5]])
result = {"x": x.flatten().tolist(), "grid": grid.flatten().tolist(), "weight": weight.flatten().tolist(), "cases": []}
for mode in ("bilinear", "nearest"):
    for padding in ("zeros", "border", "reflection"):
        for corners in (False, True):
            a, g = x.clone().requires_grad_(), grid.clone().requires_grad_()
            y = torch.nn.functional.grid_sample(a, g, mode=mode, padding_mode=padding, align_corners=corners)
            (y * weight).sum().backward()
            rounded = [[round(value, 10) for value in part.flatten().tolist()] for part in (y, a.grad, g.grad)]
            result["cases"].append([mode, padding, corners, *rounded])
print(json.dumps(result, separators=(",", ":")))
