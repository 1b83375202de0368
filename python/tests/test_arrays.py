"""Arrays are read where they lie, whoever owns them, and let go of when nobody reads them any more."""
import array
import gc
import unittest
import weakref

import numpy

import dlc
from support import Case, batches, samples

try:
    import torch
except ImportError:
    torch = None


class OnlyDlpack:
    """Has nothing but DLPack."""

    def __init__(self, owner):
        self.owner = owner

    def __dlpack__(self, **arguments):
        return self.owner.__dlpack__()

    def __dlpack_device__(self):
        return self.owner.__dlpack_device__()


class OnCuda:
    """Says that it lies on a CUDA device, and would take the program along that reads it as the host's."""

    def __dlpack__(self, **arguments):
        raise BufferError("not for the host")

    def __dlpack_device__(self):
        return 2, 1


class Array(numpy.ndarray):
    """Can be referred to weakly."""


class Arrays(Case):
    def scores(self, image):
        return self.run_of().predict({"image": image}).tobytes()

    def test_whoever_owns_them(self):
        image = samples(8)["image"]
        frozen = image.copy()
        frozen.flags.writeable = False
        expected = self.scores(image)
        for same in (frozen, OnlyDlpack(image), memoryview(image), numpy.asfortranarray(image), image.repeat(2, axis=0)[::2],
                     image[::-1][::-1], image[:, 0], image.view(Array)):
            self.assertEqual(self.scores(same), expected)
        flat = memoryview(array.array("f", image.ravel().tolist())).cast("B").cast("f", shape=image.shape)
        self.assertEqual(self.scores(flat), expected)

    @unittest.skipIf(torch is None, "no PyTorch")
    def test_of_torch(self):
        data = samples()
        tensors = {name: torch.from_numpy(a) for name, a in data.items()}
        self.assertEqual(self.scores(tensors["image"][:8]), self.scores(data["image"][:8]))
        self.assertEqual(self.scores(tensors["image"][:8].permute(0, 1, 3, 2)), self.scores(data["image"][:8].transpose(0, 1, 3, 2)))
        one, other = self.run_of(tensors), self.run_of(data)
        one.train(progress=False)
        other.train(progress=False)
        self.assertEqual(one.weights.tobytes(), other.weights.tobytes())
        one.parameters["linear1.weight"] = torch.zeros(8, 16)
        self.assertFalse(torch.from_dlpack(one.predict({"image": tensors["image"]})).isnan().any())
        loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(*tensors.values()), batch_size=8)
        third = self.run_of([{"image": i, "label": n} for i, n in loader])
        third.train(progress=False)
        self.says(dlc.InvalidArgumentError, "array 'image' is no array: 'Tensor'; expected one with DLPack or the buffer protocol, in "
                  "memory of the host and its order of bytes", one.predict, {"image": torch.zeros(8, 1, 4, 4, device="meta")})

    def test_on_a_device_that_the_run_is_not_on(self):
        run, batch = self.run_of(), batches(samples())[0]
        line = "lies on CUDA device 1, and is read on the host: copy it there first"
        for function in (run.step, run.predict, run.evaluate, self.run_of):
            self.says(dlc.InvalidArgumentError, f"array 'image' {line}", function, {**batch, "image": OnCuda()})
        self.says(dlc.InvalidArgumentError, f"array 'output' {line}", run.predict, {"image": batch["image"]}, into={"output": OnCuda()})
        self.says(dlc.InvalidArgumentError, f"`weights` {line}", setattr, run, "weights", OnCuda())
        self.assertIsNone(run.cuda_device)
        run.set_stream(0)
        self.says(dlc.InvalidArgumentError, "`stream` is -1, expected a whole number from 0 on", run.set_stream, -1)

    def test_are_written_into(self):
        run, image = self.run_of(), samples(11)["image"]
        expected = run.predict({"image": image})
        scores = numpy.zeros_like(expected)
        for into in (scores, OnlyDlpack(scores), memoryview(scores)):
            scores[...] = 0
            self.assertIsNone(run.predict({"image": image}, into={"output": into}))
            self.assertEqual(scores.tobytes(), expected.tobytes())
        frozen = scores.copy()
        frozen.flags.writeable = False
        for wrong in (frozen, numpy.asfortranarray(scores), [1.0], None):
            self.says(dlc.InvalidArgumentError, "array 'output' cannot be written: expected a row-major array that is not read only",
                      run.predict, {"image": image}, into={"output": wrong})
        self.says(dlc.InvalidArgumentError, "array 'output' is f32[10, 4], entry 'infer_n1' yields f32[11, 4]", run.predict,
                  {"image": image}, into={"output": scores[:10]})

    def test_that_are_none(self):
        run, image = self.run_of(), samples(8)["image"]
        for value in ([1.0, 2.0], 3.5, "text", None, object(), image.astype(">f4"), image.astype(object)):
            kind = type(value).__name__
            self.says(dlc.InvalidArgumentError, f"array 'image' is no array: '{kind}'; expected one with DLPack or the buffer protocol, "
                      "in memory of the host and its order of bytes", run.predict, {"image": value})
        self.says(dlc.InvalidArgumentError, "array 'image' has a dtype that dlc has not; there are: float32, float64, float16, "
                  "bfloat16, int32, int64, uint8, bool", run.predict, {"image": image.astype(numpy.int16)})
        self.says(dlc.InvalidArgumentError, "expected a dict of arrays by name, not 'list'", run.predict, [image])
        self.says(dlc.InvalidArgumentError, "names of arrays are strings, not 'int'", run.predict, {1: image})

    def test_that_do_not_fit(self):
        run, batch = self.run_of(), batches(samples())[0]
        entry = "entry 'train_step'"

        def wrong(line, **changes):
            arrays = {name: value for name, value in {**batch, **changes}.items() if value is not None}
            self.says(dlc.InvalidArgumentError, line, run.step, arrays)

        wrong(f"{entry}: no array 'label', the input i32[8]", label=None)
        wrong(f"{entry} has no input 'picture'; there are: image, label", picture=batch["image"])
        wrong(f"array 'image' is f64[8, 1, 4, 4], {entry} expects f32[8, 1, 4, 4]", image=batch["image"].astype(float))
        wrong(f"array 'image' is f32[7, 1, 4, 4], {entry} expects f32[8, 1, 4, 4]", image=batch["image"][1:])
        wrong(f"array 'label' is i64[8], {entry} expects i32[8]", label=batch["label"].astype(numpy.int64))
        wrong(f"{entry}: sample 2 of input 'label' is 7, its classes are 0 to 3",
              label=numpy.array([0, 1, 7, 0, 1, 2, 3, 0], numpy.int32))
        self.assertEqual(run.progress.step, 0)
        run.step({name: memoryview(value) for name, value in batch.items()})
        with self.assertRaisesRegex(dlc.FailedError, "step 2 of entry 'train_step': the loss is not a number"):
            run.step({**batch, "image": batch["image"] * numpy.float32("nan")})

    def test_a_run_goes_on_after_a_failure(self):
        run, batch = self.run_of(), batches(samples())[0]
        weights = run.weights
        with self.assertRaises(dlc.FailedError):
            run.step({**batch, "image": batch["image"] * numpy.float32("nan")})
        run.weights = weights
        self.assertTrue(numpy.isfinite(run.step(batch)["loss"]))

    def test_samples_that_do_not_fit(self):
        data = samples()
        self.says(dlc.InvalidArgumentError, "`data`: there are none", self.run_of, {})
        self.says(dlc.InvalidArgumentError, "`data`: 'label' has 5 samples, 'image' 64", self.run_of, {**data, "label": data["label"][:5]})
        self.says(dlc.InvalidArgumentError, "`data`: 'image' has no samples", self.run_of, {name: a[:0] for name, a in data.items()})
        self.says(dlc.InvalidArgumentError, "`test`: 'image' is one number, expected one a sample", self.run_of, data,
                  test={"image": numpy.array(1.0)})
        self.says(dlc.InvalidArgumentError, "`data` is 'int'; expected a description, a dict of arrays, an iterable of dicts or a "
                  "function that fills batches", self.run_of, 3)

    def test_batches_that_do_not_fit(self):
        good = batches(samples())

        def wrong(line, bad, **arguments):
            self.says(dlc.InvalidArgumentError, f"`data`{line}", self.run_of([good[0], bad], **arguments).train, progress=False)

        wrong(": batch 1 of epoch 0 is 'tuple'; expected a dict of arrays, one for each of image, label", (1, 2))
        wrong(": batch 1 of epoch 0 has no array 'label'; there are: image", {"image": good[0]["image"]})
        wrong(": batch 1 of epoch 0: array 'image' has shape (7, 1, 4, 4), the input (8, 1, 4, 4)",
              {**good[0], "image": good[0]["image"][1:]})
        wrong(": batch 1 of epoch 0: array 'image' is uint8, the input float32", {**good[0], "image": numpy.zeros((8, 1, 4, 4), "u1")})
        wrong(" ended before batch 2 of epoch 0", good[1], batches_per_epoch=3)
        self.says(dlc.InvalidArgumentError, "`data` is given without `batches_per_epoch`", self.run_of, iter(good))
        run = self.run_of([{**b, "label": b["label"].astype(numpy.int64), "image": b["image"].astype(float)} for b in good])
        run.train(progress=False)
        self.assertEqual(run.progress.step, 16)

    def test_are_kept_alive_and_let_go(self):
        data = {name: value.view(Array) for name, value in samples().items()}
        expected = self.run_of(samples())
        expected.train(progress=False)
        seen = [weakref.ref(value) for value in data.values()]
        run = self.run_of(data)
        del data
        gc.collect()
        self.assertTrue(all(ref() is not None for ref in seen))
        run.train(progress=False)
        self.assertEqual(run.weights.tobytes(), expected.weights.tobytes())
        del run
        gc.collect()
        self.assertTrue(all(ref() is None for ref in seen))
        batch = {name: value.view(Array) for name, value in batches(samples())[0].items()}
        seen = [weakref.ref(value) for value in batch.values()]
        run = self.run_of()
        run.step(batch)
        run.predict({"image": batch["image"]})
        del batch
        self.assertTrue(all(ref() is None for ref in seen))

    def test_a_run_in_a_cycle_is_collected(self):
        class Holder:
            pass

        holder = Holder()
        holder.run = self.run_of(lambda epoch, batch, inputs: holder.run and None, batches_per_epoch=1,
                                 log=lambda level, line: holder.run)
        seen = weakref.ref(holder)
        del holder
        gc.collect()
        self.assertIsNone(seen())

    def test_filled_arrays_outlive_the_run(self):
        kept = []

        def fill(epoch, batch, inputs):
            for value in inputs.values():
                value[...] = 0
            kept.append(inputs["image"])

        run = self.run_of(fill, batches_per_epoch=2)
        run.train(progress=False)
        del run
        gc.collect()
        self.assertEqual(kept[-1].sum(), 0)


if __name__ == "__main__":
    unittest.main()
