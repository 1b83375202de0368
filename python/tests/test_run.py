"""A run trains, evaluates, predicts and keeps what it learnt, in whatever way it is given its data."""
import itertools
import json
import os
import signal
import threading
import time
import unittest

import numpy

import dlc
from support import Case, batches, grey_png, module, samples


class Train(Case):
    def test_all_ways_to_give_data_are_the_same_run(self):
        data = samples()

        def fill(epoch, batch, inputs):
            for name, array in inputs.items():
                array[...] = data[name][batch * 8:(batch + 1) * 8]

        def give(epoch, batch, inputs):
            return batches(data)[batch]

        runs = {"steps": self.run_of(batches_per_epoch=8), "fill": self.run_of(fill, batches_per_epoch=8),
                "give": self.run_of(give, batches_per_epoch=8), "list": self.run_of(batches(data)),
                "stream": self.run_of((b for _ in range(2) for b in batches(data)), batches_per_epoch=8)}
        for name, run in runs.items():
            if name != "steps":
                run.train(progress=False)
                continue
            for batch in batches(data) * 2:
                run.step(batch)
        weights = {name: run.weights.tobytes() for name, run in runs.items()}
        self.assertEqual(set(weights.values()), {weights["steps"]})
        self.assertEqual(runs["list"].progress, dlc.Progress(seed=1, step=16, epoch=2, position=0))

    def test_learns_from_arrays(self):
        run = self.run_of(samples(), test=samples(30, seed=1))
        run.train(epochs=10, progress=False)
        report = run.evaluate()
        self.assertGreater(report["accuracy"], 0.9)
        self.assertEqual(report["confusion"].shape, (4, 4))
        self.assertEqual(report["confusion"].sum(), 30)
        self.assertEqual(run.evaluate(samples(30, seed=1))["loss"], report["loss"])
        self.assertNotEqual(run.evaluate(samples(30, seed=2))["loss"], report["loss"])

    def test_no_bit_depends_on_how_it_is_loaded(self):
        run, other = self.run_of(samples()), self.run_of(samples(), load_workers=3, load_ahead=1)
        run.train(progress=False)
        other.train(progress=False)
        self.assertEqual(run.weights.tobytes(), other.weights.tobytes())

    def test_a_description_of_test_data_alone(self):
        numpy.savez(self.folder / "d.npz", **samples(30, seed=1))
        run = self.run_of(test=f"npz:{self.folder}/d.npz")
        self.assertEqual(run.evaluate()["loss"], self.run_of(test=samples(30, seed=1)).evaluate()["loss"])

    def test_pictures_have_the_channels_of_the_model(self):
        data = samples(8)
        data["image"] = (data["image"] * 255).astype(numpy.uint8)
        for number, (image, label) in enumerate(zip(data["image"], data["label"])):
            place = self.folder / "pictures" / "val" / str(label) / f"{number}.png"
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(grey_png(image[0]))
        run = self.run_of(samples())
        pictures = f"images:{self.folder}/pictures"
        self.assertAlmostEqual(run.evaluate(pictures)["loss"], run.evaluate(data)["loss"], places=5)
        self.assertAlmostEqual(self.run_of(test=pictures).evaluate()["loss"], run.evaluate(data)["loss"], places=5)

    def test_bytes_are_numbers_from_0_to_1(self):
        data = samples()
        whole = (data["image"] * 255).astype(numpy.uint8)
        one = self.run_of({"image": whole, "label": data["label"].astype(numpy.uint8)})
        other = self.run_of({"image": whole * numpy.float32(1 / 255), "label": data["label"]})
        one.train(progress=False)
        other.train(progress=False)
        self.assertEqual(one.weights.tobytes(), other.weights.tobytes())

    def test_keeps_and_ends(self):
        path = self.folder / "c"
        run = self.run_of(samples(), test=samples(30, seed=1), checkpoint=path, epochs=9, keep=2, save_best="loss:max", patience=1,
                          evaluate_every=5, log_file=self.folder / "log.jsonl")
        run.train(progress=False)
        # The loss falls, so with more of it as better only the first evaluation, behind step 5, is.
        self.assertEqual(run.progress.step, 8)
        self.assertEqual(sorted(file.name for file in self.folder.iterdir()), ["c", "c.best", "c.step-5", "log.jsonl"])
        self.assertEqual(len((self.folder / "log.jsonl").read_text().splitlines()), 8 + 2)
        self.assertEqual((self.folder / "c.best").read_bytes(), (self.folder / "c.step-5").read_bytes())

    def test_trains_on_a_part(self):
        run = self.run_of(samples(), limit=5)
        run.train(epochs=2, progress=False)
        self.assertEqual(run.progress.step, 10)
        run = self.run_of(samples(), test=samples(30, seed=1), overfit_batches=2, epochs=60, share=0.99)
        run.train(progress=False)
        self.assertEqual(run.progress.step, 120)
        report = run.evaluate()
        self.assertEqual((report["accuracy"], report["confusion"].sum()), (1, 16))
        path = self.folder / "c.safetensors"
        run = self.run_of(samples(), test=samples(30, seed=1), checkpoint=path, log_file=self.folder / "l.jsonl", fast_dev_run=True)
        run.train(progress=False)
        self.assertEqual(run.progress.step, 1)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_reports_norms(self):
        heard = []
        run = self.run_of(samples(), norms=3, limit=4, share=0.5, epochs=1)
        run.train(callback=heard.append, progress=False)
        *steps, _ = heard
        self.assertEqual([sorted(step.norms) for step in steps][2],
                         ["bn1.bias", "bn1.weight", "linear1.bias", "linear1.weight", "linear2.bias", "linear2.weight"])
        self.assertEqual([bool(step.norms) for step in steps], [False, False, True, False])
        self.assertIsNone(steps[2].norms["linear1.weight"].gradient)
        self.assertGreater(sum(step.rested for step in steps), 0)
        # With gradients: those of the one step, whose norm is what plain descent moves by.
        norms = []
        given = dlc.Run(module("small", flags="--weight-gradients"), samples(), threads=1, seed=1, norms=1, steps=1, log=lambda *_: None,
                        overrides={"optimizer.momentum": 0})
        before = dict(given.parameters)
        given.train(callback=lambda report: norms.append(getattr(report, "norms", None)), progress=False)
        for name, norm in norms[0].items():
            moved = numpy.linalg.norm(given.parameters[name] - before[name])
            self.assertAlmostEqual(norm.gradient * 0.1, moved, delta=1e-5)
            self.assertAlmostEqual(norm.weight, numpy.linalg.norm(given.parameters[name]), delta=1e-5)

    def test_names_what_is_not_finite_first(self):
        batch = batches(samples())[0]
        batch["image"] = batch["image"].copy()
        batch["image"][2, 0, 1, 1] = numpy.inf
        with self.assertRaisesRegex(dlc.FailedError, "^step 1 of entry 'train_step': the loss is not a number, before any update: [^;]*$"):
            self.run_of().step(batch)
        with self.assertRaisesRegex(dlc.FailedError, "; the first not finite: input 'image', element 37 of 128 f32 is inf$"):
            self.run_of(check_finite=True).step(batch)

    def test_finds_a_rate(self):
        heard = []
        run = self.run_of(samples(), log_file=self.folder / "l.jsonl")
        before = run.weights.tobytes()
        search = run.find_rate(1e-3, 1e3, 31, callback=heard.append)
        self.assertEqual(search.points, heard)
        self.assertEqual((search.setting, heard[0].rate), ("optimizer.learning_rate", 1e-3))
        self.assertEqual((run.weights.tobytes(), run.progress.step), (before, 0))
        lines = [json.loads(line) for line in (self.folder / "l.jsonl").read_text().splitlines()]
        self.assertEqual([(line["rate"], line["loss"], line["smoothed_loss"]) for line in lines], [tuple(point) for point in heard])
        # The steepest descent of the smoothed loss, but for the beginning and the end.
        smoothed = numpy.array([point.smoothed for point in heard])
        slopes = (smoothed[2:] - smoothed[:-2])[max(1, len(heard) // 10) - 1:-1]
        at = numpy.argmin(slopes) + max(1, len(heard) // 10)
        self.assertEqual(search.suggested, heard[at].rate if slopes.min() < 0 else None)
        self.assertTrue(search.diverged or len(heard) == 31)

        def fail(point):
            raise ZeroDivisionError(point.rate)

        self.says(ZeroDivisionError, "1e-07", run.find_rate, callback=fail)
        self.assertEqual(len(run.find_rate(steps=10, highest=1e-3).points), 10)
        self.says(dlc.InvalidArgumentError, f"{module('small')}: a sweep of 9 steps says nothing: expected 10 at least", run.find_rate,
                  steps=9)
        self.says(dlc.InvalidArgumentError, "`steps` is 1.5, expected a whole number from 0 on", run.find_rate, steps=1.5)

    def test_writes_events(self):
        run = self.run_of(samples(), epochs=2, norms=4, tensorboard=self.folder / "board", histograms=2)
        run.train(progress=False)
        (file,) = (self.folder / "board").iterdir()
        content = file.read_bytes()
        for tag in (b"brain.Event:2", b"step/loss", b"epoch/accuracy", b"weight_norms/linear1.weight", b"weights/linear1.weight",
                    b"pictures", b"\x89PNG"):
            self.assertIn(tag, content)
        self.says(dlc.InvalidArgumentError, "`histograms` is given without `tensorboard`", self.run_of, histograms=2)

    def test_leaves_out_damaged_samples(self):
        rows = numpy.zeros((4, 4), numpy.uint8)
        for split in ("train", "test"):
            for i in range(16):
                place = self.folder / split / str(i % 4)
                place.mkdir(parents=True, exist_ok=True)
                (place / f"{i}.png").write_bytes(grey_png(rows))
        for damaged in ("train/2/6.png", "test/1/5.png", "test/3/7.png"):
            (self.folder / damaged).write_bytes(grey_png(rows)[:50])
        data = f"images:{self.folder}"
        with self.assertRaisesRegex(dlc.DamagedError, "/2/6.png: "):
            self.run_of(data, epochs=1).train(progress=False)
        with self.assertRaisesRegex(dlc.DamagedError, "; `max_bad_records` leaves out 1"):
            self.run_of(data, max_bad_records=1, epochs=1).train(progress=False)
        heard = []
        self.run_of(data, max_bad_records=2, epochs=1).train(callback=heard.append, progress=False)
        self.assertEqual((heard[-1].bad_records, heard[-1].test_bad_records), (1, 2))
        self.run_of(samples(), epochs=1).train(callback=heard.append, progress=False)
        self.assertEqual((heard[-1].bad_records, heard[-1].test_bad_records), (None, None))

    def test_renames_tensors(self):
        path = self.folder / "c"
        first = self.run_of(samples())
        first.save(path)
        name = next(iter(first.parameters))
        self.says(dlc.InvalidArgumentError, "`rename`: expected REGEX=REPLACEMENT, found 'a'", self.run_of, init_from=path, rename=["a"])
        run = self.run_of(seed=2, init_from=path, rename=[f"^{name}=x", f"x={name}"])
        self.assertEqual(run.weights.tobytes(), first.weights.tobytes())

    def test_goes_on_to_the_bit(self):
        data = samples()
        whole = self.run_of(data)
        whole.train(progress=False)
        file = self.folder / "c.safetensors"
        run = self.run_of(data, checkpoint=file, steps=5)
        run.train(progress=False)
        self.assertEqual(run.progress.step, 5)
        run = self.run_of(data, checkpoint=file, resume=True, seed=None)
        run.train(progress=False)
        self.assertEqual(run.weights.tobytes(), whole.weights.tobytes())

    def test_an_iterable_goes_on_behind_the_checkpoint(self):
        data, file = samples(), self.folder / "c.safetensors"
        whole = self.run_of(batches(data))
        whole.train(progress=False)
        self.run_of(batches(data), checkpoint=file, steps=11).train(progress=False)
        run = self.run_of(batches(data), checkpoint=file, resume=True)
        run.train(progress=False)
        self.assertEqual(run.weights.tobytes(), whole.weights.tobytes())

    def test_trains_up_to_other_epochs(self):
        run = self.run_of(samples())
        for epochs, step in ((1, 8), (1, 8), (3, 24), (None, 24)):
            run.train(epochs, progress=False)
            self.assertEqual(run.progress.step, step)

    def test_callback_hears_all_and_sets_rates(self):
        reports, inside = [], {}
        run = self.run_of(samples(), test=samples(30))

        def callback(report):
            reports.append(report)
            if isinstance(report, dlc.EpochReport):
                inside["accuracy"] = run.evaluate()["accuracy"]
                inside["scores"] = run.predict({"image": samples(3)["image"]})
                inside["weights"] = run.weights
                run.set("optimizer.learning_rate", 0.05)

        run.train(callback=callback, progress=False)
        steps = [r for r in reports if isinstance(r, dlc.StepReport)]
        epochs = [r for r in reports if isinstance(r, dlc.EpochReport)]
        self.assertEqual([r.progress.step for r in steps], list(range(1, 17)))
        self.assertEqual((steps[0].steps_in_epoch, steps[0].epochs, steps[0].samples), (8, 2, 8))
        self.assertEqual(list(steps[0].batch), ["loss", "accuracy", "confusion"])
        self.assertEqual([r.rates["optimizer.learning_rate"] for r in epochs], [0.1, 0.05])
        self.assertEqual(epochs[1].test["accuracy"], inside["accuracy"])
        self.assertEqual(inside["scores"].shape, (3, 4))
        self.assertEqual(inside["weights"].tobytes(), run.weights.tobytes())

    def test_stop(self):
        run = self.run_of(samples())
        run.train(callback=lambda report: run.stop(), progress=False)
        self.assertEqual(run.progress.step, 1)
        run.train(progress=False)
        self.assertEqual(run.progress.step, 16)

    def test_what_a_callback_raises_comes_out_unchanged(self):
        class Mine(Exception):
            pass

        file = self.folder / "c.safetensors"
        for kind in (Mine, KeyboardInterrupt, SystemExit):
            run = self.run_of(samples(), checkpoint=file, overwrite=True)
            reason = kind("enough")

            def callback(report):
                if report.progress.step == 3:
                    raise reason

            with self.assertRaises(kind) as raised:
                run.train(callback=callback, progress=False)
            self.assertIs(raised.exception, reason)
            # As stop() would have ended it: after the batch, with the checkpoint written.
            self.assertEqual(run.progress.step, 3)
            self.assertEqual(self.run_of(samples(), checkpoint=file, resume=True).progress.step, 3)
            run.train(progress=False)
            self.assertEqual(run.progress.step, 16)

    def test_what_a_function_of_batches_raises_comes_out_unchanged(self):
        reason = RuntimeError("the sensor is gone")

        def fill(epoch, batch, inputs):
            if batch == 2:
                raise reason

        run = self.run_of(fill, batches_per_epoch=4)
        with self.assertRaises(RuntimeError) as raised:
            run.train(progress=False)
        self.assertIs(raised.exception, reason)
        self.assertEqual(run.progress.step, 2)

    def test_control_c_ends_training_with_a_checkpoint(self):
        file = self.folder / "c.safetensors"
        run = self.run_of(samples(), checkpoint=file, epochs=1 << 40)
        # Who started the tests may ignore it, as a shell does for what is in the background.
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        with self.assertRaises(KeyboardInterrupt):
            run.train(progress=False)
        self.assertEqual(self.run_of(samples(), checkpoint=file, resume=True).progress.step, run.progress.step)
        self.assertGreater(run.progress.step, 0)

    def test_other_threads_run_beside_training(self):
        run, counted = self.run_of(samples(), epochs=1 << 40), itertools.count()

        def count():
            end = time.monotonic() + 0.2
            while time.monotonic() < end:
                next(counted)
            run.stop()

        thread = threading.Thread(target=count)
        thread.start()
        run.train(progress=False)
        thread.join()
        self.assertGreater(next(counted), 1000)


class Keep(Case):
    def test_saves_and_loads(self):
        run = self.run_of(samples())
        run.train(progress=False)
        run.save(self.folder / "c.safetensors")
        other = self.run_of(seed=2)
        self.assertNotEqual(other.weights.tobytes(), run.weights.tobytes())
        other.load(self.folder / "c.safetensors")
        self.assertEqual(other.weights.tobytes(), run.weights.tobytes())
        for name in ("init_from", "weights"):
            third = self.run_of(**{name: self.folder / "c.safetensors"})
            self.assertEqual(third.weights.tobytes(), run.weights.tobytes())

    def test_parameters(self):
        run = self.run_of()
        names = list(run.parameters)
        self.assertEqual(len(names), len(run.parameters))
        self.assertIn("linear1.weight", run.parameters)
        self.assertNotIn("momentum", " ".join(names))
        self.assertIn("running_mean", " ".join(names))
        weight = run.parameters["linear1.weight"]
        self.assertEqual((weight.shape, weight.dtype), ((8, 16), numpy.float32))
        with self.assertRaises(ValueError):  # it is a copy, and what is written to it would be lost
            weight[0, 0] = 1
        run.parameters["linear1.weight"] = weight * 2
        numpy.testing.assert_array_equal(run.parameters["linear1.weight"], weight * 2)
        run.parameters["linear1.weight"] = numpy.asfortranarray(weight)
        numpy.testing.assert_array_equal(run.parameters["linear1.weight"], weight)
        for use in (lambda: run.parameters["conv"], lambda: run.parameters.__setitem__("conv", weight)):
            self.assertRaises(KeyError, use)
        self.says(dlc.InvalidArgumentError, "'linear1.weight' is f32[8, 16], the array that is assigned f64[8, 16]",
                  run.parameters.__setitem__, "linear1.weight", weight.astype(float))
        self.says(dlc.InvalidArgumentError, "'linear1.weight' is f32[8, 16], the array that is assigned f32[16, 8]",
                  run.parameters.__setitem__, "linear1.weight", weight.T)

    def test_weights(self):
        run, other = self.run_of(), self.run_of(seed=2)
        weights = run.weights
        self.assertEqual((weights.dtype, weights.ndim), (numpy.float32, 1))
        numpy.testing.assert_array_equal(weights, numpy.concatenate([p.ravel() for p in run.parameters.values()]))
        other.weights = weights
        self.assertEqual(other.weights.tobytes(), weights.tobytes())
        count = weights.nbytes
        with self.assertRaisesRegex(dlc.InvalidArgumentError, f"the weights have {count} bytes, the block {count - 4}"):
            other.weights = weights[1:]
        with self.assertRaisesRegex(dlc.InvalidArgumentError, "`weights` are of f32, the array that is assigned is f64"):
            other.weights = weights.astype(float)

    def test_predicts_any_number_of_samples(self):
        run, image = self.run_of(), samples(20)["image"]
        scores = run.predict({"image": image})
        self.assertEqual((scores.shape, scores.dtype), ((20, 4), numpy.float32))
        numpy.testing.assert_array_equal(run.predict({"image": image[3:4]}, entry="infer_n1")[0], scores[3])
        scores[0] = 0  # it is the program's own

    def test_predicts_several_outputs(self):
        run = self.run_of(name="pair")
        image = numpy.ones((5, 16), numpy.float32)
        try:
            import ml_dtypes
        except ImportError:
            self.says(dlc.UnsupportedError, "NumPy has no bfloat16: pip install ml_dtypes", run.predict, {"image": image})
            return
        outputs = run.predict({"image": image})
        self.assertEqual(list(outputs), ["wide", "narrow"])
        self.assertEqual(outputs["narrow"].dtype, ml_dtypes.bfloat16)
        numpy.testing.assert_array_equal(outputs["wide"].astype(ml_dtypes.bfloat16), outputs["narrow"])


if __name__ == "__main__":
    unittest.main()
