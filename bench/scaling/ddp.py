#!/usr/bin/env python3
"""PyTorch's DistributedDataParallel over gloo, timed as dlc-run bench is: one rank of several, random data on each; one rank is without it.

usage: ddp.py --net lenet --batch 64 --rank 0 --ranks 2 --master 10.77.0.1 [--interface eth0] [--layout channels_last] [--steps 20]
Rank 0 prints one JSON object: milliseconds of a step, as the slowest rank took. A step is that of bench/compare/rivals.py, with one thread,
behind as many steps that warm up as dlc-run bench has. Needs torch.
"""
import argparse
import json
import os
import statistics
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "compare"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name, kind in (("net", str), ("batch", int), ("rank", int), ("ranks", int), ("master", str)):
        parser.add_argument(f"--{name}", type=kind, required=True)
    parser.add_argument("--interface", default="eth0")
    parser.add_argument("--layout", default="contiguous")
    parser.add_argument("--steps", type=int, default=20)
    options = parser.parse_args()
    os.environ.update(MASTER_ADDR=options.master, MASTER_PORT="29411", GLOO_SOCKET_IFNAME=options.interface)
    import torch
    import torch.distributed as dist
    import rivals
    step = rivals.Torch(argparse.Namespace(net=options.net, batch=options.batch, layout=options.layout, mode="eager", infer=False, precision="f32",
                                           device="cpu", threads=1))
    dist.init_process_group("gloo", rank=options.rank, world_size=options.ranks)
    if options.ranks > 1:
        step.run = torch.nn.parallel.DistributedDataParallel(step.net)
    times = torch.tensor(rivals.timed(step.train, step.wait, options.steps))
    dist.all_reduce(times, op=dist.ReduceOp.MAX)
    if options.rank == 0:
        print(json.dumps({"median_ms": statistics.median(times.tolist()), "min_ms": times.min().item(), "max_ms": times.max().item()}))
        sys.stdout.flush()
    # All are done before one leaves; gloo's threads, which at times abort a process that ends as usual, are left where they are.
    dist.barrier()
    os._exit(0)


if __name__ == "__main__":
    main()
