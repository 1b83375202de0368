#!/usr/bin/env python3
"""The programs that dlc is timed beside: PyTorch's training step on a GPU or the CPU, ONNX Runtime's and OpenVINO's inference on the CPU.

usage: rivals.py --net resnet50 [--batch 256] [--precision f32|tf32|bf16] [--mode eager|compile|reduce-overhead] [--steps 20]
       rivals.py --ceilings       what the device reaches at most: copies, and products in each precision
       rivals.py --serve ...      for compare.py: does what each line of the standard input asks, answers with one JSON object a line
Prints one JSON object a line: median / min / max ms of a step, as dlc-run bench each of them waited for, inputs on the device, behind as
many steps that warm up. A step
is forward, loss, backward, SGD with momentum and weight decay (fused). The networks are those of examples, bench/gpu and bench/compare:
all without dropout. cudnn.benchmark is on, images are as --layout says; f32 is strict, bf16 is autocast. Needs torch alone; with
--infer, numpy, safetensors and the library of --mode, all from PyPI.
"""
import argparse
import copy
import json
import os
import statistics
import sys
import tempfile
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


def mlp():
    layers = []
    for a, b in [(784, 2048), (2048, 4096), (4096, 1024), (1024, 10)]:
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def conv_norm(channels, width, kernel, stride=1, groups=1):
    return [nn.Conv2d(channels, width, kernel, stride, kernel // 2, groups=groups, bias=False), nn.BatchNorm2d(width)]


class DenseLayer(nn.Module):
    def __init__(self, channels, growth=32):
        super().__init__()
        self.norm1, self.conv1 = nn.BatchNorm2d(channels), nn.Conv2d(channels, 4 * growth, 1, bias=False)
        self.norm2, self.conv2 = nn.BatchNorm2d(4 * growth), nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False)

    def forward(self, parts):
        y = self.conv1(F.relu(self.norm1(torch.cat(parts, 1))))
        return self.conv2(F.relu(self.norm2(y)))


class DenseBlock(nn.Module):
    def __init__(self, channels, depth):
        super().__init__()
        self.layers = nn.ModuleList(DenseLayer(channels + 32 * i) for i in range(depth))

    def forward(self, x):
        parts = [x]
        for layer in self.layers:
            parts.append(layer(parts))
        return torch.cat(parts, 1)


def densenet121():
    layers, channels = [*conv_norm(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)], 64
    for i, depth in enumerate((6, 12, 24, 16)):
        layers.append(DenseBlock(channels, depth))
        channels += 32 * depth
        layers += [nn.BatchNorm2d(channels), nn.ReLU()]
        if i < 3:
            layers += [nn.Conv2d(channels, channels // 2, 1, bias=False), nn.AvgPool2d(2)]
            channels //= 2
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 1000))


class InvertedResidual(nn.Module):
    def __init__(self, channels, width, stride, expand):
        super().__init__()
        wide = expand * channels
        widen = [*conv_norm(channels, wide, 1), nn.ReLU6()] if expand != 1 else []
        self.net = nn.Sequential(*widen, *conv_norm(wide, wide, 3, stride, wide), nn.ReLU6(), *conv_norm(wide, width, 1))
        self.shortcut = stride == 1 and channels == width

    def forward(self, x):
        return x + self.net(x) if self.shortcut else self.net(x)


def mobilenet_v2():
    layers, channels = [*conv_norm(3, 32, 3, 2), nn.ReLU6()], 32
    for expand, width, depth, stride in [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]:
        for i in range(depth):
            layers.append(InvertedResidual(channels, width, stride if i == 0 else 1, expand))
            channels = width
    return nn.Sequential(*layers, *conv_norm(320, 1280, 1), nn.ReLU6(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1280, 1000))


class UNet(nn.Module):
    def __init__(self, widths=(64, 128, 256, 512, 1024)):
        super().__init__()
        self.down = nn.ModuleList(self.pair(a, b) for a, b in zip((1, *widths), widths))
        self.up = nn.ModuleList()
        for a, b in zip(widths[:0:-1], widths[-2::-1]):
            self.up += [nn.ConvTranspose2d(a, b, 2, 2), self.pair(2 * b, b)]
        self.head = nn.Conv2d(widths[0], 2, 1)

    @staticmethod
    def pair(channels, width):
        return nn.Sequential(nn.Conv2d(channels, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, width, 3, padding=1), nn.ReLU())

    def forward(self, x):
        skips = []
        for block in self.down[:-1]:
            skips.append(block(x))
            x = F.max_pool2d(skips[-1], 2)
        x = self.down[-1](x)
        for widen, block in zip(self.up[::2], self.up[1::2]):
            x = block(torch.cat([skips.pop(), widen(x)], 1))
        return self.head(x)


# Network, shape of a sample, classes, pixels that have a label of their own.
NETS = {"lenet": (lenet, (1, 28, 28), 10, ()), "mlp": (mlp, (784,), 10, ()), "alexnet": (alexnet, (3, 224, 224), 1000, ()),
        "vgg16": (vgg16, (3, 224, 224), 1000, ()), "resnet50": (resnet50, (3, 224, 224), 1000, ()), "fcn": (fcn, (3, 224, 224), 21, (224, 224)),
        "densenet121": (densenet121, (3, 224, 224), 1000, ()), "mobilenet_v2": (mobilenet_v2, (3, 224, 224), 1000, ()),
        "unet": (UNet, (1, 256, 256), 2, (256, 256))}


class LanguageModel(nn.Module):
    """Embedding, two LSTM layers of 256, scores; states of 0 in each step, where dlc's model carries its own."""

    def __init__(self, words, width):
        super().__init__()
        self.embedding, self.lstm, self.out = nn.Embedding(words, width), nn.LSTM(width, 256, 2), nn.Linear(256, words)

    def forward(self, x):
        return self.out(self.lstm(self.embedding(x))[0]).flatten(0, 1)


class Transformer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.qkv, self.project = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.norm2, self.widen, self.narrow = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        q, k, v = (it.unflatten(2, (self.heads, -1)).transpose(1, 2) for it in self.qkv(self.norm1(x)).chunk(3, 2))
        x = x + self.project(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.narrow(F.gelu(self.widen(self.norm2(x)), approximate="tanh"))


class Gpt(nn.Module):
    """GPT-2 small without dropout; the table of words is the last layer's weight too."""

    def __init__(self, words=50257, context=1024, width=768, layers=12, heads=12):
        super().__init__()
        self.table, self.position = nn.Embedding(words, width), nn.Parameter(torch.empty(context, width))
        self.blocks, self.norm = nn.Sequential(*(Transformer(width, heads) for _ in range(layers))), nn.LayerNorm(width)
        for parameter in self.parameters():
            if parameter.dim() == 2:
                nn.init.normal_(parameter, 0, 0.02)

    def forward(self, x):
        x = self.blocks(self.table(x) + self.position[:x.shape[1]])
        return F.linear(self.norm(x), self.table.weight).flatten(0, 1)


def adamw(parameters):
    """Decay of matrices only."""
    parameters = list(parameters)
    groups = [{"params": [p for p in parameters if p.dim() == 2], "weight_decay": 0.1},
              {"params": [p for p in parameters if p.dim() == 1], "weight_decay": 0}]
    return torch.optim.AdamW(groups, lr=6e-4, betas=(0.9, 0.95), fused=True)


# Language model, the shape of a batch of n texts, words, the limit of the gradients' norm, and the optimizer, as examples/ has them.
TEXTS = {"lstm_ptb": (lambda: LanguageModel(10000, 256), lambda n: (32, n), 10000, 5, lambda p: torch.optim.SGD(p, lr=1.0, fused=True)),
         "char-rnn": (lambda: LanguageModel(65, 64), lambda n: (64, n), 65, 1, lambda p: torch.optim.Adam(p, lr=3e-3, fused=True)),
         "gpt": (Gpt, lambda n: (n, 256), 50257, 1, adamw)}
SMOOTHING = {"resnet50": 0.1}  # of the labels, as the model of that name says
MODES = ("eager", "compile", "reduce-overhead", "max-autotune")
WARM_UP = 3  # steps, as dlc-run bench


def choose(precision):
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.benchmark = True


def timed(step, wait, steps, warm_up=WARM_UP):
    """Milliseconds of each step behind those that warm up."""
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


class Torch:
    """One network of PyTorch with a batch of random samples: its training step, or its inference."""

    version = torch.__version__

    def __init__(self, options):
        torch.manual_seed(0)
        choose(options.precision)
        if options.threads:
            torch.set_num_threads(options.threads)
        self.device, self.precision = options.device, options.precision
        self.clip, self.smoothing = None, SMOOTHING.get(options.net, 0)
        if options.net in TEXTS:
            make, shape, words, self.clip, optimizer = TEXTS[options.net]
            self.net = make().to(self.device).train(not options.infer)
            self.image, self.label = (torch.randint(0, words, shape(options.batch), device=self.device) for _ in range(2))
        else:
            make, shape, classes, pixels = NETS[options.net]
            self.net = make().to(self.device).train(not options.infer)
            self.image = torch.rand(options.batch, *shape, device=self.device)
            self.label = torch.randint(0, classes, (options.batch, *pixels), device=self.device)
            if len(shape) == 3 and options.layout == "channels_last":
                self.net, self.image = (it.to(memory_format=torch.channels_last) for it in (self.net, self.image))
            optimizer = lambda p: torch.optim.SGD(p, lr=1e-3, momentum=0.9, weight_decay=5e-4, fused=True)
        self.optimizer = optimizer(self.net.parameters())
        self.run = self.net
        if options.mode in MODES[1:]:
            if options.infer:  # weights are packed and norms folded when it is compiled
                from torch._inductor import config
                config.freezing = True
            self.run = torch.compile(self.net, mode=None if options.mode == "compile" else options.mode)
        self.step = self.infer if options.infer else self.train

    def wait(self):
        if self.device == "cuda":
            torch.cuda.synchronize()

    def autocast(self):
        return torch.autocast(self.device, dtype=torch.bfloat16, enabled=self.precision == "bf16")

    def backward(self):
        with self.autocast():
            loss = self.loss(self.run(self.image))
        loss.backward()
        return loss

    def loss(self, output):
        label = self.label.flatten() if self.label.dim() == 2 else self.label
        return F.cross_entropy(output, label, label_smoothing=self.smoothing)

    def gradients(self, loss, net):
        return {"loss": loss} | {f"gradient.{i}": p.grad.clone() for i, p in enumerate(net.parameters())}

    def train(self):
        self.backward()
        if self.clip:
            nn.utils.clip_grad_norm_(self.net.parameters(), self.clip)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)

    def infer(self):
        with torch.inference_mode(), self.autocast():
            return self.run(self.image)

    def start(self):
        """What one step starts from: parameters in PyTorch's order, and the batch."""
        image = self.image if self.image.is_floating_point() else self.image.int()
        return {"image": image, "label": self.label.int()} | {f"parameter.{i}": p for i, p in enumerate(self.net.parameters())}

    def load(self, start):
        """Takes another program's start."""
        with torch.no_grad():
            self.image.copy_(start["image"])
            self.label.copy_(start["label"])
            for i, parameter in enumerate(self.net.parameters()):
                parameter.copy_(start[f"parameter.{i}"])

    def results(self):
        """What one step from there gives: the output, or the loss and all gradients. Parameters stay as they are."""
        if self.step == self.infer:
            return {"output": self.infer()}
        loss = self.backward()
        found = self.gradients(loss, self.net)
        self.optimizer.zero_grad(set_to_none=True)
        return found

    def exact(self):
        """The same in float64."""
        net = copy.deepcopy(self.net).double()
        image = self.image.double() if self.image.is_floating_point() else self.image
        if self.step == self.infer:
            with torch.inference_mode():
                return {"output": net(image)}
        loss = self.loss(net(image))
        loss.backward()
        return self.gradients(loss, net)


class OnnxRuntime(Torch):
    """The same network in ONNX Runtime, which packs its weights when it is loaded."""

    def __init__(self, options):
        import onnxruntime
        super().__init__(options)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "net.onnx")
            torch.onnx.export(self.net, (self.image,), path, input_names=["image"], verbose=False)
            settings = onnxruntime.SessionOptions()
            settings.intra_op_num_threads = options.threads or os.cpu_count()
            self.version = onnxruntime.__version__
            self.session = onnxruntime.InferenceSession(path, settings, providers=["CPUExecutionProvider"])
        self.feed = {"image": self.image.contiguous().numpy()}

    def infer(self):
        return torch.from_numpy(self.session.run(None, self.feed)[0])


class OpenVino(Torch):
    """The same network in OpenVINO, in float32 or bf16."""

    def __init__(self, options):
        import openvino
        super().__init__(options)
        self.version = openvino.__version__
        model = openvino.convert_model(self.net, example_input=self.image)
        model.reshape(list(self.image.shape))
        self.request = openvino.Core().compile_model(model, "CPU", {
            "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": options.precision,
            "INFERENCE_NUM_THREADS": options.threads or os.cpu_count()}).create_infer_request()
        self.feed = self.image.contiguous().numpy()

    def infer(self):
        return torch.from_numpy(self.request.infer([self.feed], share_inputs=True)[0])


def make(options):
    return {"onnxruntime": OnnxRuntime, "openvino": OpenVino}.get(options.mode, Torch)(options)


def load(path):
    from safetensors.torch import load_file
    return load_file(path)


def save(tensors, path):
    from safetensors.torch import save_file
    # NumPy, which reads them, knows no bf16.
    widened = {name: tensor.float() if tensor.dtype == torch.bfloat16 else tensor for name, tensor in tensors.items()}
    save_file({name: tensor.detach().clone().contiguous() for name, tensor in widened.items()}, path)


def serve(options):
    """Answers `start FILE`, `load FILE`, `results FILE`, `exact FILE` and `time WARM_UP STEPS`, one line each."""
    started = time.perf_counter()
    rival = make(options)
    rival.step()
    answer = {"version": rival.version, "first_step_s": time.perf_counter() - started}
    print(json.dumps(answer), flush=True)
    for line in sys.stdin:
        what, _, value = line.strip().partition(" ")
        answer = {}
        if what == "load":
            rival.load(load(value))
        elif what in ("start", "results", "exact"):
            save(getattr(rival, what)(), value)
        elif what == "time":
            warm_up, steps = map(int, value.split())
            answer["ms"] = timed(rival.step, rival.wait, steps, warm_up)
        else:
            answer["error"] = f"unknown request {what}"
        print(json.dumps(answer), flush=True)


def measure(options):
    rival = make(options)
    times = timed(rival.step, rival.wait, options.steps)
    median = statistics.median(times)
    return {"median_ms": round(median, 4), "min_ms": round(min(times), 4), "max_ms": round(max(times), 4),
            "images_per_second": round(options.batch / median * 1e3, 1),
            "peak_mib": torch.cuda.max_memory_allocated() >> 20 if options.device == "cuda" else 0}


def ceilings(device):
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    source = torch.zeros(1 << 28, device=device)
    target = torch.empty_like(source)
    milliseconds = min(timed(lambda: target.copy_(source), wait, 10))
    yield {"what": "copy", "value": 2 * source.nbytes / milliseconds * 1e-6, "unit": "GB/s"}
    for precision, dtype in (("f32", torch.float32), ("tf32", torch.float32), ("bf16", torch.bfloat16)):
        choose(precision)
        a = torch.rand(8192, 8192, device=device, dtype=dtype)
        milliseconds = min(timed(lambda: a @ a, wait, 5))
        yield {"what": f"product in {precision}", "value": 2 * 8192**3 / milliseconds * 1e-9, "unit": "TFLOP/s"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--net", choices=[*NETS, *TEXTS], default="lenet")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--precision", choices=("f32", "tf32", "bf16"), default="f32")
    parser.add_argument("--mode", choices=(*MODES, "onnxruntime", "openvino"), default="eager")
    parser.add_argument("--layout", choices=("contiguous", "channels_last"), default="channels_last", help="of images")
    parser.add_argument("--infer", action="store_true", help="inference in place of training")
    parser.add_argument("--threads", type=int, help="of the CPU; default: one for each processor")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--ceilings", action="store_true")
    parser.add_argument("--serve", action="store_true")
    options = parser.parse_args()
    if options.mode not in MODES and not options.infer:
        parser.error(f"{options.mode} does not train: say --infer")
    if options.serve:
        serve(options)
        return
    if options.ceilings:
        for line in ceilings(options.device):
            print(json.dumps(line), flush=True)
        return
    result = {"rival": "pytorch", "version": torch.__version__, "cudnn": torch.backends.cudnn.version(), "net": options.net,
              "batch": options.batch, "precision": options.precision, "mode": options.mode, "layout": options.layout}
    try:
        result |= measure(options)
    except Exception as error:  # what this PyTorch cannot run is a line of the record
        result["error"] = (str(error) or repr(error)).splitlines()[0][:200]
    print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
