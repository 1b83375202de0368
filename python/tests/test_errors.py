"""What is wrong is said in dlc's one line, with the names of Python's arguments."""
import ast
import logging
import os
import signal
import subprocess
import sys
import threading
import time
import unittest
import unittest.mock
from pathlib import Path

import numpy

import dlc
from dlc import _dlc
from support import HERE, Case, batches, module, samples


class Kinds(Case):
    def test_are_also_pythons(self):
        for kind, python in ((dlc.InvalidArgumentError, ValueError), (dlc.IoError, OSError), (dlc.OutOfMemoryError, MemoryError)):
            self.assertTrue(issubclass(kind, python) and issubclass(kind, dlc.Error))
        for kind in (dlc.DamagedError, dlc.UnsupportedError, dlc.FailedError, dlc.CompileError):
            self.assertTrue(issubclass(kind, dlc.Error))

    def test_of_a_module(self):
        file = self.folder / "no\udcff.so"  # a name that is no UTF-8
        said = str(file).replace("\udcff", "\\xff")
        self.says(dlc.IoError, f"{said}: cannot open: No such file or directory", dlc.Run, file)
        file.write_text("not a module")
        with self.assertRaises(dlc.DamagedError):
            dlc.Run(file)
        whole = Path(module("small")).read_bytes()
        file.write_bytes(whole[:-100])
        with self.assertRaises(dlc.DamagedError):
            dlc.Run(file)
        with self.assertRaises(TypeError):
            dlc.Run(3)

    def test_of_arguments(self):
        run = self.run_of
        for name in ("seed", "threads", "epochs", "steps", "checkpoint_every", "check_ranks", "batches_per_epoch", "load_workers",
                     "load_ahead", "keep", "evaluate_every", "patience", "overfit_batches", "norms", "max_bad_records",
                     "histograms"):
            for value in (-1, 1.5, "1", 1 << 64):
                self.says(dlc.InvalidArgumentError, f"`{name}` is {value!r}, expected a whole number from 0 on", run, **{name: value})
        self.assertEqual(run(epochs=numpy.int32(3)).progress.epoch, 0)
        self.says(dlc.InvalidArgumentError, "`augment`: there is no transform 'flop'; did you mean 'flip'?", run, augment="crop:2,flop")
        self.says(dlc.InvalidArgumentError, "`resume` is given without `checkpoint`", run, resume=True)
        self.says(dlc.InvalidArgumentError, "`limit` is 1.5, expected a part below 1 or a whole number of batches", run, limit=1.5)
        self.says(dlc.InvalidArgumentError, "`share` is 0, expected a part of the time, above 0 and up to 1", run, share=0)
        self.says(dlc.InvalidArgumentError, "`overfit_batches` is given, and the batches are the program's", run, batches(samples()),
                  overfit_batches=1)
        self.says(dlc.IoError, "no/such/folder: cannot open: No such file or directory", run, "npz:no/such/folder")
        with self.assertRaisesRegex(dlc.InvalidArgumentError, "no setting 'optimizer.rate' to override; there are: "):
            run(samples(), overrides={"optimizer.rate": 1})
        self.says(dlc.UnsupportedError, f"{module('small')}: compiled for cpu, not for simt; dlc --target=cuda:simt compiles for it", run, device="simt")

    def test_of_what_is_not_there(self):
        run = self.run_of()
        self.says(dlc.IoError, "no/folder/d.npz: cannot open: No such file or directory", run.evaluate, "npz:no/folder/d.npz")
        self.says(dlc.InvalidArgumentError, "entry 'train_step' has no training data: `data` gives them", run.train, progress=False)
        self.says(dlc.InvalidArgumentError, "entry 'evaluate' has no test data: `data` or `test` gives them", run.evaluate)
        with self.assertRaisesRegex(dlc.InvalidArgumentError, "no entry 'infer_n9'; there are: "):
            run.predict({"image": samples(1)["image"]}, entry="infer_n9")
        with self.assertRaisesRegex(dlc.InvalidArgumentError, "no setting 'rate' to override"):
            run.set("rate", 1)
        with self.assertRaises(dlc.InvalidArgumentError):
            self.run_of(name="pair").step({})

    def test_of_a_checkpoint(self):
        file = self.folder / "c.safetensors"
        self.run_of(samples(), checkpoint=file).train(progress=False)
        self.says(dlc.InvalidArgumentError, f"{file}: is the checkpoint of an earlier run, after step 16; `resume` continues it, "
                  "`overwrite` replaces it", self.run_of, samples(), checkpoint=file)
        self.says(dlc.InvalidArgumentError, f"{file}: was trained with seed 1, `seed` is 2", self.run_of, samples(), checkpoint=file,
                  resume=True, seed=2)
        with self.assertRaises(dlc.IoError):
            self.run_of().load(self.folder / "none.safetensors")

    def test_a_callback_that_may_not(self):
        run = self.run_of(samples(), test=samples(8))
        line = "the run is at work: a callback may set rates, and after an epoch evaluate, predict and read weights"
        tried = []

        def callback(report):
            forbidden = [run.train, lambda: run.step(batches(samples())[0]), lambda: run.save(self.folder / "c"),
                         lambda: setattr(run, "weights", numpy.zeros(1, numpy.float32))]
            if isinstance(report, dlc.StepReport):
                forbidden += [run.evaluate, lambda: run.weights, lambda: run.parameters["linear1.weight"]]
            for function in forbidden:
                self.says(dlc.InvalidArgumentError, line, function)
            self.assertEqual(run.progress.seed, 1)
            tried.append(report)

        run.train(callback=callback, progress=False)
        self.assertEqual(len(tried), 18)

    def test_a_logger_that_raises(self):
        def log(level, line):
            raise KeyError(line)

        with self.assertRaises(KeyError):
            self.run_of(samples(63), log=log)
        heard = []
        self.run_of(samples(63), log=lambda level, line: heard.append((level, line)))
        self.assertEqual(heard, [(logging.INFO, "`data`: 7 of 63 samples are left out each time, as they do not fill a batch of 8")])
        with self.assertLogs("dlc", logging.INFO) as logs:
            self.run_of(samples(63), log=None)
            self.run_of(samples(63), log=logging.getLogger("dlc.mine"))
        self.assertEqual([r.name for r in logs.records], ["dlc", "dlc.mine"])

    def test_a_checkpoint_that_cannot_be_written(self):
        folder = self.folder / "gone"
        folder.mkdir()
        run = self.run_of(samples(), checkpoint=folder / "c.safetensors")
        with self.assertRaisesRegex(dlc.IoError, "2 of 2 checkpoints could not be written; the file is as it was before"):
            run.train(callback=lambda report: report.progress.step == 1 and folder.rmdir(), progress=False)
        warnings = [line for level, line in self.said if level == logging.WARNING]
        self.assertEqual(len(warnings), 2)
        self.assertRegex(warnings[0], "; training goes on$")


class Threads(Case):
    def test_each_with_a_run(self):
        expected = self.run_of(samples(), epochs=20)
        expected.train(progress=False)
        runs = [self.run_of(samples(), epochs=20, threads=2) for _ in range(4)]
        threads = [threading.Thread(target=run.train, kwargs={"progress": False}) for run in runs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual({run.weights.tobytes() for run in runs}, {expected.weights.tobytes()})

    def test_with_one_run(self):
        run, line = self.run_of(samples(), epochs=1 << 40), "the run is at work in another thread, and takes one at a time"
        begun = threading.Event()
        thread = threading.Thread(target=run.train, kwargs={"callback": lambda report: begun.set(), "progress": False})
        thread.start()
        begun.wait()
        image = samples(1)["image"]
        for use in (run.train, lambda: run.predict({"image": image}), lambda: run.weights, lambda: run.progress, run.evaluate):
            self.says(dlc.InvalidArgumentError, line, use)
        run.stop()
        thread.join()
        self.assertEqual(run.predict({"image": image}).shape, (1, 4))

    def test_eight_with_one_run(self):
        run, image, answers = self.run_of(), samples(64)["image"], []
        expected = run.predict({"image": image}).tobytes()

        def predict():
            for _ in range(200):
                try:
                    answers.append(run.predict({"image": image}).tobytes() == expected)
                except dlc.InvalidArgumentError:
                    answers.append(None)

        threads = [threading.Thread(target=predict) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(answers), 1600)
        self.assertNotIn(False, answers)
        self.assertIn(True, answers)

    def test_a_forked_process(self):
        run = self.run_of(samples(), threads=2)
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                run.train(progress=False)
            except dlc.Error as error:
                os.write(write, str(error).encode())
            del run  # ends without waiting for threads that this process has not
            os._exit(0)
        os.close(write)
        with os.fdopen(read) as said:
            self.assertRegex(said.read(), "the run belongs to process [0-9]+, of which this one was forked: it opens one of its own")
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        run.train(progress=False)

    def test_a_program_that_ends_with_a_run(self):
        program = ("import sys, threading, dlc, numpy\n"
                   "run = dlc.Run(sys.argv[1], threads=2, log=lambda level, line: run)\n"
                   "threading.Thread(target=lambda: run.predict({'image': numpy.zeros((8, 1, 4, 4), 'f4')})).start()\n")
        done = subprocess.run([sys.executable, "-c", program, module("small")], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_control_c_of_a_terminal(self):
        program = ("import signal, sys, dlc, numpy\n"
                   "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
                   "data = {'image': numpy.zeros((8, 1, 4, 4), 'f4'), 'label': numpy.zeros(8, 'i4')}\n"
                   "run = dlc.Run(sys.argv[1], data, epochs=1 << 40, checkpoint=sys.argv[2])\n"
                   "print('begun', flush=True)\n"
                   "run.train(progress=False)\n")
        file = self.folder / "c.safetensors"
        done = subprocess.Popen([sys.executable, "-c", program, module("small"), str(file)], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)
        done.stdout.readline()
        time.sleep(0.2)
        done.send_signal(signal.SIGINT)
        self.assertRegex(done.communicate()[1], "\nKeyboardInterrupt\n$")
        self.assertTrue(file.exists())


class Compile(Case):
    def test_defines(self):
        file = dlc.compile(HERE / "small.dl", self.folder / "s.so", defines={"N": 16}, flags=["--infer-batch", "4"])
        run = dlc.Run(file)
        self.says(dlc.InvalidArgumentError, "array 'image' is f32[8, 1, 4, 4], entry 'train_step' expects f32[16, 1, 4, 4]", run.step,
                  batches(samples())[0])

    def test_where_the_model_is_wrong(self):
        model = self.folder / "bad.dl"
        model.write_text("model Bad(x: f32[N, 4]) -> f32[N, 4] {\n  return (x\n}\n")
        error = self.says(dlc.CompileError, f"{model}:2:10: error: this '(' is not closed; line 3 ends the body", dlc.compile, model, self.folder / "b.so")
        self.assertEqual((error.file, error.line, error.column), (str(model), 2, 10))
        self.assertIn("  return (x\n         ^", error.output)
        error = self.says(dlc.CompileError, "cannot read 'none.dl': No such file or directory", dlc.compile, "none.dl", "n.so")
        self.assertIsNone(error.line)
        self.says(dlc.CompileError, "unknown flag '--hard'; dlc --help lists the flags", dlc.compile, model, "b.so",
                  flags=["--hard"])

    def test_warnings(self):
        model = self.folder / "warned.dl"
        model.write_text((HERE / "small.dl").read_text().replace("  return image", "  y = image + 1\n  return image"))
        with self.assertLogs("dlc", logging.WARNING) as logs:
            dlc.compile(model, self.folder / "w.so")
        self.assertRegex(logs.records[0].getMessage(), r"warned.dl:3:3: warning: 'y' is never used")

    def test_no_compiler(self):
        self.says(dlc.UnsupportedError, "/no/dlc: no such program, as `compiler` names it", dlc.compile, "a.dl", "a.so",
                  compiler="/no/dlc")
        with unittest.mock.patch.dict(os.environ, {"DLC": "dlc-of-none"}):
            self.says(dlc.UnsupportedError, "dlc-of-none: no such program, as $DLC names it", dlc.compile, "a.dl", "a.so")
        with unittest.mock.patch.dict(os.environ, {"PATH": "", "DLC": ""}), unittest.mock.patch("dlc._compile._beside", lambda: None):
            self.says(dlc.UnsupportedError, "no compiler: 'dlc' is not on PATH nor beside the package; `compiler` or $DLC says where it "
                      "is", dlc.compile, "a.dl", "a.so")


class Stubs(unittest.TestCase):
    def test_name_what_the_extension_has(self):
        tree = ast.parse((Path(dlc.__file__).parent / "_dlc.pyi").read_text())
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                stubbed = {f.name for f in node.body if isinstance(f, ast.FunctionDef)} - {"__init__"}
                self.assertEqual(stubbed, {n for n in vars(getattr(_dlc, node.name)) if not n.startswith("_")})
            elif isinstance(node, ast.FunctionDef):
                self.assertTrue(callable(getattr(_dlc, node.name)))

    def test_all_is_described(self):
        for name in dlc.__all__:
            self.assertTrue(name == "__version__" or getattr(dlc, name).__doc__, name)
        for name, member in vars(dlc.Run).items():
            self.assertTrue(name.startswith("_") or member.__doc__, name)
        self.assertTrue((Path(dlc.__file__).parent / "py.typed").exists())


if __name__ == "__main__":
    unittest.main()
