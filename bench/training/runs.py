"""What the benchmarks of training share: flags, a run of dlc-run, and the loop over modules and seeds."""
import argparse
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def last(losses):
    return sum(losses[-100:]) / len(losses[-100:])


class Runs:
    """Compiles and trains with the tools that the arguments name, in a folder of its own."""

    def __init__(self, arguments, folder):
        self.arguments, self.folder = arguments, folder
        self.dlc, self.dlc_run = (os.path.join(arguments.tools, name) for name in ("dlc", "dlc-run"))

    def path(self, name):
        return os.path.join(self.folder, name)

    def compile(self, name, model, *flags):
        """The module of that name; compiled once."""
        module = self.path(name)
        if not os.path.exists(module):
            output(self.dlc, os.path.join(ROOT, model), *flags, "-o", module)
        return module

    def train(self, module, seed, *flags, launcher=()):
        """The run's summary, and the mean loss of its last hundred steps: what training went down to before evaluation. `losses` has those of all
        steps under their names: `loss`, or where training has several steps, as a GAN's has, `generator.loss` and so on; the mean is the first one's."""
        lines = [json.loads(line) for line in output(self.dlc_run, *launcher, "train", module, "--data", self.arguments.data, "--seed", str(seed),
                                                     "--json", *flags).splitlines()]
        steps = [line for line in lines if "seconds" in line and "summary" not in line]
        self.losses = {name: [line[name] for line in steps] for name in steps[0] if name.split(".")[-1] == "loss"}
        return lines[-1], last(next(iter(self.losses.values())))


def main(description, choices, usual, choices_flag, what, seeds, add_flags, rows, text):
    """`usual`: the choices where none are named. Prints `rows(runs, choice, seed)` for each chosen one and seed: as JSON, or as `text(row)` and how it learnt."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--tools", default=os.path.join(ROOT, "build/release/bin"))
    parser.add_argument("--data", required=True)
    parser.add_argument(choices_flag, dest="chosen", default=",".join(usual))
    parser.add_argument("--seeds", default=seeds)
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    add_flags(parser)
    arguments = parser.parse_args()
    for name in arguments.chosen.split(","):
        if name not in choices:
            sys.exit(f"{parser.prog.removesuffix('.py')}: unknown {what} {name}: expected one of {', '.join(choices)}")
    with tempfile.TemporaryDirectory() as folder:
        runs = Runs(arguments, folder)
        for seed in arguments.seeds.split(","):
            for name in arguments.chosen.split(","):
                for row in rows(runs, name, int(seed)):
                    tested = f"  test loss {row['test_loss']:.4f}" if "test_loss" in row else ""
                    tested += f"  accuracy {100 * row['test_accuracy']:.2f} %" if "test_accuracy" in row else ""
                    print(json.dumps(row) if arguments.json else f"{text(row)}  last 100 steps {row['train_loss']:.4f}{tested}", flush=True)
