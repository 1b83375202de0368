/* Ranks of a program that has initialised MPI itself: local steps of another number on each, then
 * the mean of the weights, which all ranks have to the bit. usage: mpirun ... ranks small.so */
#include <dlc/c.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { batch = 8, pixels = 16, classes = 4, most = 1024 };

static void check(dlc_status status, const char *what) {
  if (status == DLC_OK)
    return;
  fprintf(stderr, "%s: status %d: %s\n", what, (int)status, dlc_message());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void trainLocally(dlc_run *run, int steps) {
  float images[batch * pixels];
  int32_t labels[batch];
  const dlc_array arrays[] = {{"image", DLC_F32, 4, {batch, 1, 4, 4}, images},
                              {"label", DLC_I32, 1, {batch}, labels}};
  int step, i;
  for (step = 0; step < steps; ++step) {
    for (i = 0; i < batch; ++i)
      labels[i] = (i + step) % classes;
    for (i = 0; i < batch * pixels; ++i)
      images[i] = (float)(i % pixels / 4 == labels[i / pixels]);
    check(dlc_run_step(run, arrays, 2), "step");
  }
}

int main(int argc, char **argv) {
  const dlc_options options = {.size = sizeof options, .module = argv[argc - 1], .threads = 1};
  dlc_run *run;
  dlc_ranks *ranks;
  MPI_Comm own;
  int level, same, i;
  unsigned rank, size;
  uint64_t bytes;
  unsigned char weights[most], least[most], greatest[most];
  if (dlc_ranks_join(0, NULL, &ranks) != DLC_UNSUPPORTED)
    return 3;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
  MPI_Comm_dup(MPI_COMM_WORLD, &own);
  check(dlc_ranks_join(MPI_Comm_c2f(own), NULL, &ranks), "join");
  MPI_Comm_free(&own);
  check(dlc_ranks_rank(ranks, &rank), "rank");
  check(dlc_ranks_size(ranks, &size), "size");
  check(dlc_run_open(&options, &run), "open");
  trainLocally(run, 3 * (int)rank); /* rank 0 has no data */
  check(dlc_run_average_weights(run, ranks, (double)rank), "average");
  check(dlc_run_weights_bytes(run, &bytes), "bytes");
  check(dlc_run_read_weights(run, weights, bytes), "read");
  MPI_Allreduce(weights, least, (int)bytes, MPI_UNSIGNED_CHAR, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(weights, greatest, (int)bytes, MPI_UNSIGNED_CHAR, MPI_MAX, MPI_COMM_WORLD);
  for (i = 0, same = 1; i < (int)bytes; ++i)
    same &= least[i] == greatest[i];
  if (rank == 0)
    printf("%u ranks, the same weights: %s\n", size, same ? "yes" : "no");
  check(dlc_run_free(run), "free");
  check(dlc_ranks_leave(ranks), "leave");
  check(dlc_ranks_free(ranks), "free");
  MPI_Finalize();
  return 0;
}
