"""Prints what six steps of torch.optim.Muon, and of AdamW for the vector, make, for check_muon.py: behind the first and the last.

usage: make_muon.py > muon_pytorch.json      (PyTorch 2.15)

PyTorch takes matrices only, so the filter is one there, and multiplies them in bf16: here in float64 as all else is.
"""
import json
import random

import torch

torch.bfloat16 = torch.float64
shapes = {"wide": [4, 6], "tall": [6, 4], "filter": [4, 3, 2, 2], "vector": [5]}
kinds = {"muon": dict(),
         "muon_plain": dict(nesterov=False, momentum=0.9, weight_decay=0.0),
         "muon_adamw": dict(adjust_lr_fn="match_rms_adamw", weight_decay=0.01)}
steps, rate = 6, 0.02
chance = random.Random(3)


def draw(shape):
    count = torch.Size(shape).numel()
    return [chance.randrange(-256, 257) / 128 for _ in range(count)]


start = {name: draw(shape) for name, shape in shapes.items()}
gradients = [{name: draw(shape) for name, shape in shapes.items()} for _ in range(steps)]
# A gradient of one direction, and one of none.
gradients[2]["wide"] = [0.5 * (i // 6 + 1) for i in range(24)]
gradients[0]["tall"] = [0.0] * 24
paths = {}
for kind, settings in kinds.items():
    parameters = {name: torch.tensor(start[name], dtype=torch.float64).reshape([shape[0], -1] if len(shape) > 1 else shape)
                  for name, shape in shapes.items()}
    matrices = [each for each in parameters.values() if each.ndim == 2]
    both = [torch.optim.Muon(matrices, lr=rate, **settings),
            torch.optim.AdamW([parameters["vector"]], lr=rate, weight_decay=settings.get("weight_decay", 0.1))]
    paths[kind] = {}
    for step, given in enumerate(gradients, 1):
        for name, parameter in parameters.items():
            parameter.grad = torch.tensor(given[name], dtype=torch.float64).reshape(parameter.shape)
        for each in both:
            each.step()
        if step in (1, steps):
            paths[kind][step] = {name: parameter.flatten().tolist() for name, parameter in parameters.items()}
print(json.dumps({"shapes": shapes, "start": start, "gradients": gradients, "paths": paths}, separators=(",", ":")))
