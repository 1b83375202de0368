#!/usr/bin/env python3
"""PyTorch's DistributedDataParallel over gloo, timed as dlc-run bench is: one rank of several, random data on each.

usage: ddp.py --net lenet --batch 64 --rank 0 --ranks 2 --master 10.77.0.1 [--interface eth0] [--steps 20]
Rank 0 prints one JSON object: milliseconds of a step, as the slowest rank took. A step is that of bench/compare/rivals.py, with one thread.
Needs torch.
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
    parser.add_argument("--steps", type=int, default=20)
    options = parser.parse_args()
    os.environ.update(MASTER_ADDR=options.master, MASTER_PORT="29411", GLOO_SOCKET_IFNAME=options.interface)
    import torch
    import torch.distributed as dist
    import torch.nn.functional as F
    import rivals
    torch.set_num_threads(1)
    torch.manual_seed(0)
    make, shape, classes, pixels = rivals.NETS[options.net]
    net = make()
    image, label = torch.rand(options.batch, *shape), torch.randint(0, classes, (options.batch, *pixels))
    dist.init_process_group("gloo", rank=options.rank, world_size=options.ranks)
    net = torch.nn.parallel.DistributedDataParallel(net) if options.ranks > 1 else net
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3, momentum=0.9, weight_decay=5e-4, fused=True)

    def step():
        optimizer.zero_grad(set_to_none=True)
        F.cross_entropy(net(image), label).backward()
        optimizer.step()

    warm_up = 3
    for _ in range(warm_up):
        step()
    times = torch.tensor(rivals.timed(step, lambda: None, options.steps))
    dist.all_reduce(times, op=dist.ReduceOp.MAX)
    if options.rank == 0:
        print(json.dumps({"median_ms": statistics.median(times.tolist()), "min_ms": times.min().item(), "max_ms": times.max().item()}))
        sys.stdout.flush()
    # All are done before one leaves; gloo's threads, which at times abort a process that ends as usual, are left where they are.
    dist.barrier()
    os._exit(0)


if __name__ == "__main__":
    main()
