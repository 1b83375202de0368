"""Ranks of a communicator. Run by mpirun each process runs all of it; by itself it sees what is said where MPI is not ready."""
import os
import unittest

import numpy

import dlc
from support import HERE, WORK, Case, batches, samples

RANKS = int(os.environ.get("OMPI_COMM_WORLD_SIZE", "0"))


class NoCommunicator:
    def py2f(self):
        return 0


class Alone(Case):
    @unittest.skipIf(RANKS, "among ranks")
    def test_without_mpi(self):
        with self.assertRaisesRegex(dlc.UnsupportedError, "MPI"):
            self.run_of(ranks=NoCommunicator())
        with self.assertRaises(AttributeError):
            self.run_of(ranks=3)
        with dlc.launched_ranks() as ranks:
            self.assertEqual((ranks.rank, ranks.size), (0, 1))
            run = self.run_of(samples(), ranks=ranks)
            run.train(progress=False)
            weights = run.weights
            run.average_weights(ranks, weight=3)
            self.assertEqual(run.weights.tobytes(), weights.tobytes())
            self.says(dlc.InvalidArgumentError, "a rank's weight is -1", run.average_weights, ranks, -1)
        self.says(dlc.InvalidArgumentError, "`ranks` is None; expected Ranks or a communicator", run.average_weights, None)


@unittest.skipIf(RANKS == 0, "not among ranks")
class Together(Case):
    def test_federated(self):
        """Each trains on what it has, by itself, and then they are averaged."""
        from mpi4py import MPI

        rank = MPI.COMM_WORLD.rank
        with dlc.Ranks(MPI.COMM_WORLD) as ranks:
            self.assertEqual((ranks.rank, ranks.size), (rank, RANKS))
            run = self.run_of(samples(32, seed=rank))
            run.train(progress=False)
            own = run.weights
            run.average_weights(ranks, weight=rank + 1)
            weights = numpy.array(MPI.COMM_WORLD.allgather(own), float)
            share = numpy.arange(1, RANKS + 1) / sum(range(1, RANKS + 1))
            numpy.testing.assert_allclose(run.weights, share @ weights, rtol=1e-5, atol=1e-7)
            self.assertEqual(len({w.tobytes() for w in MPI.COMM_WORLD.allgather(run.weights)}), 1)

    def module_of_ranks(self):
        from mpi4py import MPI

        module = MPI.COMM_WORLD.bcast(str(WORK / "ranks.so"))
        if MPI.COMM_WORLD.rank == 0:
            dlc.compile(HERE / "small.dl", module, flags=["--data-parallel"])
        MPI.COMM_WORLD.barrier()
        return module

    def test_uneven(self):
        """Ranks without a batch go on with the others: here with rank 0, which makes what it makes alone, running statistics too."""
        from mpi4py import MPI

        module = self.module_of_ranks()
        alone = dlc.Run(module, threads=1, seed=1)
        with dlc.Ranks(MPI.COMM_WORLD) as ranks:
            run = dlc.Run(module, threads=1, seed=1, ranks=ranks)
            for batch in batches(samples()):
                metrics = run.step(batch if ranks.rank == 0 else {})
                self.assertEqual(metrics["loss"], alone.step(batch)["loss"])
            self.assertEqual(run.step({}), {})
            self.assertEqual(run.progress.step, 8)
            self.assertEqual(run.weights.tobytes(), alone.weights.tobytes())
            self.assertEqual(len(run.step(batch)), 3)

    def test_data_parallel(self):
        from mpi4py import MPI

        module = self.module_of_ranks()
        run = dlc.Run(module, samples(), threads=1, ranks=MPI.COMM_WORLD.Dup())
        run.train(progress=False)
        self.assertEqual(run.progress.step, 2 * 64 // 8 // RANKS)
        weight = run.parameters["linear1.weight"]
        self.assertEqual(len({w.tobytes() for w in MPI.COMM_WORLD.allgather(weight)}), 1)

        reason = RuntimeError("mine")

        def callback(report):
            raise reason

        # What is raised on one rank ends them all.
        if MPI.COMM_WORLD.rank == 1:
            with self.assertRaises(RuntimeError) as raised:
                run.train(epochs=4, callback=callback, progress=False)
            self.assertIs(raised.exception, reason)
        else:
            run.train(epochs=4, progress=False)
        self.assertLess(run.progress.epoch, 4)
        run.ranks.leave()


if __name__ == "__main__":
    unittest.main()
