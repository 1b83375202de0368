"""Writes small.pth and dtypes.pth beside this file, by PyTorch: what test_torch_file.py reads without it."""
from collections import OrderedDict
from pathlib import Path

import torch

HERE = Path(__file__).parent


def numbers(*shape):
    return torch.arange(torch.Size(shape).numel(), dtype=torch.float32).reshape(shape) / 64 - 1


net = torch.nn.Sequential(OrderedDict(linear1=torch.nn.Linear(16, 8), bn1=torch.nn.BatchNorm1d(8), linear2=torch.nn.Linear(8, 4)))
state = net.state_dict()
for name, tensor in state.items():
    if tensor.dtype == torch.float32:
        state[name] = numbers(*tensor.shape)
# Columns that lie together, and a part of a longer storage.
state["linear1.weight"] = numbers(16, 8).t()
state["linear2.weight"] = numbers(3, 4, 8)[1]
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
torch.save({"epoch": 3, "state_dict": state, "optimizer": optimizer.state_dict(), "best": 0.5}, HERE / "small.pth")

torch.save({"f32": numbers(2, 3), "f64": numbers(3).double(), "f16": numbers(2, 2).half(), "bf16": numbers(5).bfloat16(),
            "i64": torch.tensor([1 << 40, -1]), "i32": torch.tensor([7, -7], dtype=torch.int32),
            "u8": torch.tensor([[0, 255]], dtype=torch.uint8), "bool": torch.tensor([True, False]), "scalar": torch.tensor(2.5),
            "empty": torch.zeros(0, 3), "parameter": torch.nn.Parameter(numbers(2)), "steps": numbers(4, 4)[::2, 1::2]}, HERE / "dtypes.pth")
