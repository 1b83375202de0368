#!/usr/bin/env python3
"""Times PyTorch's training step of a network beside dlc's, on this machine's GPU. Needs torch alone.

usage: rivals.py --net resnet50 [--batch 256] [--precision f32|tf32|bf16] [--mode eager|compile|reduce-overhead] [--steps 20]
       rivals.py --ceilings       what the device reaches at most: copies, and products in each precision
Prints one JSON object a line: median / min / max ms of a step, as dlc-run bench each of them waited for, inputs on the device. A step
is forward, loss, backward, SGD with momentum and weight decay (fused). The networks are those of bench/gpu and examples: torchvision's
without dropout. cudnn.benchmark is on, convolutions are channels_last; f32 is strict, bf16 is autocast.
"""
import argparse
import json
import statistics
import time

import torch
import torch.nn as nn
import torch.nn.functional as F


class Bottleneck(nn.Module):
    def __init__(self, channels, width, stride=1, dilation=1):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(channels, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, stride, dilation, dilation, bias=False), nn.BatchNorm2d(width)
        self.conv3, self.bn3 = nn.Conv2d(width, 4 * width, 1, bias=False), nn.BatchNorm2d(4 * width)
        self.down = None
        if stride != 1 or channels != 4 * width:
            self.down = nn.Sequential(nn.Conv2d(channels, 4 * width, 1, stride, bias=False), nn.BatchNorm2d(4 * width))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = F.relu(self.bn2(self.conv2(y)))
        return F.relu(self.bn3(self.conv3(y)) + (x if self.down is None else self.down(x)))


def stages(plan):
    """ResNet-50's stem and stages: width, depth, stride and dilation of the first block, dilation of the others."""
    layers, channels = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)], 64
    for width, depth, stride, before, dilation in plan:
        for i in range(depth):
            layers.append(Bottleneck(channels, width, stride, before) if i == 0 else Bottleneck(channels, width, 1, dilation))
            channels = 4 * width
    return layers


def resnet50():
    plan = [(64, 3, 1, 1, 1), (128, 4, 2, 1, 1), (256, 6, 2, 1, 1), (512, 3, 2, 1, 1)]
    return nn.Sequential(*stages(plan), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))


def fcn():
    plan = [(64, 3, 1, 1, 1), (128, 4, 2, 1, 1), (256, 6, 1, 1, 2), (512, 3, 1, 2, 4)]
    return nn.Sequential(*stages(plan), nn.Conv2d(2048, 512, 3, padding=1, bias=False), nn.BatchNorm2d(512), nn.ReLU(),
                         nn.Conv2d(512, 21, 1), nn.Upsample(scale_factor=8))


def linear_head(inputs):
    return [nn.Flatten(), nn.Linear(inputs, 4096), nn.ReLU(), nn.Linear(4096, 4096), nn.ReLU(), nn.Linear(4096, 1000)]


def alexnet():
    def conv(*arguments, **more):
        return [nn.Conv2d(*arguments, **more), nn.ReLU()]
    return nn.Sequential(*conv(3, 64, 11, stride=4, padding=2), nn.MaxPool2d(3, 2), *conv(64, 192, 5, padding=2), nn.MaxPool2d(3, 2),
                         *conv(192, 384, 3, padding=1), *conv(384, 256, 3, padding=1), *conv(256, 256, 3, padding=1), nn.MaxPool2d(3, 2),
                         *linear_head(9216))


def vgg16():
    layers, channels = [], 3
    for width, depth in [(64, 2), (128, 2), (256, 3), (512, 3), (512, 3)]:
        for _ in range(depth):
            layers += [nn.Conv2d(channels, width, 3, padding=1), nn.ReLU()]
            channels = width
        layers.append(nn.MaxPool2d(2))
    return nn.Sequential(*layers, *linear_head(25088))


def lenet():
    return nn.Sequential(nn.Conv2d(1, 20, 5), nn.MaxPool2d(2), nn.Conv2d(20, 50, 5), nn.MaxPool2d(2), nn.Flatten(),
                         nn.Linear(800, 500), nn.ReLU(), nn.Linear(500, 10))


# Network, shape of an image, classes, pixels that have a label of their own.
NETS = {"lenet": (lenet, (1, 28, 28), 10, ()), "alexnet": (alexnet, (3, 224, 224), 1000, ()), "vgg16": (vgg16, (3, 224, 224), 1000, ()),
        "resnet50": (resnet50, (3, 224, 224), 1000, ()), "fcn": (fcn, (3, 224, 224), 21, (224, 224))}


def choose(precision):
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.benchmark = True


def timed(step, wait, warm_up, steps):
    """Milliseconds of each step."""
    for _ in range(warm_up):
        step()
    times = []
    for _ in range(steps):
        wait()
        start = time.perf_counter()
        step()
        wait()
        times.append((time.perf_counter() - start) * 1e3)
    return times


def measure(options):
    torch.manual_seed(0)
    choose(options.precision)
    device = options.device
    make, shape, classes, pixels = NETS[options.net]
    net = make().to(device).train().to(memory_format=torch.channels_last)
    image = torch.rand(options.batch, *shape, device=device).contiguous(memory_format=torch.channels_last)
    label = torch.randint(0, classes, (options.batch, *pixels), device=device)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3, momentum=0.9, weight_decay=5e-4, fused=True)
    run = net if options.mode == "eager" else torch.compile(net, mode=None if options.mode == "compile" else options.mode)
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None

    def step():
        with torch.autocast(device, dtype=torch.bfloat16, enabled=options.precision == "bf16"):
            loss = F.cross_entropy(run(image), label)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    times = timed(step, wait, 5, options.steps)
    median = statistics.median(times)
    return {"median_ms": round(median, 4), "min_ms": round(min(times), 4), "max_ms": round(max(times), 4),
            "images_per_second": round(options.batch / median * 1e3, 1),
            "peak_mib": torch.cuda.max_memory_allocated() >> 20 if device == "cuda" else 0}


def ceilings(device):
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    source = torch.zeros(1 << 28, device=device)
    target = torch.empty_like(source)
    milliseconds = min(timed(lambda: target.copy_(source), wait, 3, 10))
    yield {"what": "copy", "value": 2 * source.nbytes / milliseconds * 1e-6, "unit": "GB/s"}
    for precision, dtype in (("f32", torch.float32), ("tf32", torch.float32), ("bf16", torch.bfloat16)):
        choose(precision)
        a = torch.rand(8192, 8192, device=device, dtype=dtype)
        milliseconds = min(timed(lambda: a @ a, wait, 3, 5))
        yield {"what": f"product in {precision}", "value": 2 * 8192**3 / milliseconds * 1e-9, "unit": "TFLOP/s"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--net", choices=NETS, default="lenet")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--precision", choices=("f32", "tf32", "bf16"), default="f32")
    parser.add_argument("--mode", default="eager")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--ceilings", action="store_true")
    options = parser.parse_args()
    if options.ceilings:
        for line in ceilings(options.device):
            print(json.dumps(line), flush=True)
        return
    result = {"rival": "pytorch", "version": torch.__version__, "cudnn": torch.backends.cudnn.version(), "net": options.net,
              "batch": options.batch, "precision": options.precision, "mode": options.mode}
    try:
        result |= measure(options)
    except Exception as error:  # what this PyTorch cannot run is a line of the record
        result["error"] = (str(error) or repr(error)).splitlines()[0][:200]
    print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
