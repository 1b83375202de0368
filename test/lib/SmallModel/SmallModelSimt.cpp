// Kernels of the hand-made module as the compiler makes them for the SIMT device: CUDA text on its
// shim. One is right, the others have the errors that the device must find.
//
// out[b, i] = in[b, 63 - i], through shared memory; one block of 64 threads, two warps, for each b.
#include "dlc/abi.h"

#include "codegen/CUDA/simt/simt.h"

enum Mistake { none, noBarrier, writesOutside, divergentBarrier };

struct Tile {
  float values[64];
};

template <Mistake mistake>
__global__ void reverse(simt::Buffer<const float> in, simt::Buffer<float> out) {
  SHARED(Tile, tile);
  const int first = blockIdx.x * 64, i = threadIdx.x;
  tile.values[i] = in[first + i];
  if (mistake == none || mistake == writesOutside || (mistake == divergentBarrier && i < 40))
    __syncthreads();
  out[first + i + (mistake == writesOutside)] = tile.values[63 - i];
}

template <Mistake mistake>
static void runBlock(const dlc_args *args, uint32_t task, void *scratch) {
  simt::run(args, task, scratch, 64, [](const dlc_args *a) { reverse<mistake>({a, 0}, {a, 1}); });
}

extern "C" {
void simt_reverse(const dlc_args *args, uint32_t task, void *scratch) {
  runBlock<none>(args, task, scratch);
}
void simt_no_barrier(const dlc_args *args, uint32_t task, void *scratch) {
  runBlock<noBarrier>(args, task, scratch);
}
void simt_outside(const dlc_args *args, uint32_t task, void *scratch) {
  runBlock<writesOutside>(args, task, scratch);
}
void simt_divergent(const dlc_args *args, uint32_t task, void *scratch) {
  runBlock<divergentBarrier>(args, task, scratch);
}
}
