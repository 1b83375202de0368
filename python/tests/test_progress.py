"""What is shown of a run: a bar where it can be drawn again, lines where it cannot."""
import io
import os
import unittest
import unittest.mock

import dlc
from dlc import _progress
from support import Case, samples


class Terminal(io.StringIO):
    def isatty(self):
        return True


def step(number, total=100, seconds=0.5):
    return dlc.StepReport(dlc.Progress(0, number, 0, number), total, 2, 8, {"loss": 1.0}, {"loss": 1.25, "accuracy": 0.5}, seconds)


def epoch(position=0):
    return dlc.EpochReport(dlc.Progress(0, 100, 1 - bool(position), position), 800, {"loss": 1.0}, 2.0, {"accuracy": 0.25},
                           {"optimizer.learning_rate": 0.1})


class Shown(Case):
    def test_bar(self):
        stream = io.StringIO()
        bar = _progress.Shown(stream, True)
        with unittest.mock.patch("shutil.get_terminal_size", lambda: os.terminal_size((100, 24))):
            bar(step(50))
        line = "epoch 1/2 [==========          ]  50%  loss 1.2500  accuracy 50.00%  16 samples/s  1:15 left"
        self.assertEqual(stream.getvalue(), f"\r{line}")
        bar(epoch())
        self.assertEqual(stream.getvalue(), f"\r{line}\r{' ' * len(line)}\repoch 1  loss 1.0000  400 samples/s  test accuracy 25.00%  "
                         "learning_rate 0.1\n")
        with unittest.mock.patch("shutil.get_terminal_size", lambda: os.terminal_size((30, 24))):
            bar(step(50))
        self.assertTrue(stream.getvalue().endswith("\repoch 1/2 [=  ]  50%  loss 1."))
        bar.clear()
        self.assertTrue(stream.getvalue().endswith(f"\r{' ' * 29}\r"))

    def test_lines(self):
        stream, now = io.StringIO(), 1000.0
        with unittest.mock.patch("time.monotonic", lambda: now):
            lines = _progress.Shown(stream, False)
            for number in range(1, 101):
                now += 0.25
                lines(step(number, seconds=0.25))
            lines(epoch(position=3))
        self.assertEqual(stream.getvalue(), "epoch 1/2  40/100  loss 1.2500  accuracy 50.00%  32 samples/s\n"
                         "epoch 1/2  80/100  loss 1.2500  accuracy 50.00%  32 samples/s\n"
                         "stopped in epoch 1  loss 1.0000  400 samples/s  test accuracy 25.00%  learning_rate 0.1\n")

    def test_where(self):
        run = self.run_of(samples())
        for stream, shows in ((io.StringIO(), r"epoch 1  loss [^\r]*\nepoch 2  [^\r]*\n$"), (Terminal(), "\repoch 1/2 \\[")):
            with unittest.mock.patch("sys.stderr", stream):
                run = self.run_of(samples())
                run.train()
            self.assertRegex(stream.getvalue(), shows)
        with unittest.mock.patch("sys.stderr", io.StringIO()) as stream:
            self.run_of(samples()).train(progress=False)
            self.assertEqual(stream.getvalue(), "")
            self.run_of(samples()).train(progress=True)
            self.assertIn("\r", stream.getvalue())
        with unittest.mock.patch("sys.stderr", None):
            self.run_of(samples()).train()

    def test_a_terminal_that_is_gone(self):
        stream = Terminal()
        stream.write = unittest.mock.Mock(side_effect=OSError("gone"))
        run = self.run_of(samples())
        with unittest.mock.patch("sys.stderr", stream):
            self.assertRaises(OSError, run.train)
        self.assertEqual(run.progress.step, 1)


if __name__ == "__main__":
    unittest.main()
