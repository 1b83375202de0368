//===- Libxsmm.h - libxsmm-dnn's version of a kernel --------------------------------*- C++ -*-===//
//
// Convolutions and linear layers of libxsmm-dnn on one thread, as its own benchmarks call them:
// channels in blocks of up to 64, images with their padding in memory, filters turned round before
// for the gradient of the image. Time counts its call alone. There is
// none where the build was not given DLC_LIBXSMM_DNN.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_BENCH_KERNELS_LIBXSMM_H
#define DLC_BENCH_KERNELS_LIBXSMM_H

#include "bench/kernels/Rival.h"

namespace dlc::bench {

#ifdef DLC_LIBXSMM_DNN
/// Null for what it has not: grouped convolutions, and gradients of images of up to 3 channels.
/// Operands as those of oneDNN's; `block`: channels in one block at most.
std::unique_ptr<Rival> makeLibxsmmConvolution(const Convolution &problem, Direction direction,
                                              int64_t block, const float *first,
                                              const float *second);
std::unique_ptr<Rival> makeLibxsmmLinear(const Linear &problem, Direction direction, int64_t block,
                                         const float *first, const float *second);
#else
inline std::unique_ptr<Rival> makeLibxsmmConvolution(const Convolution &, Direction, int64_t,
                                                     const float *, const float *) {
  return nullptr;
}
inline std::unique_ptr<Rival> makeLibxsmmLinear(const Linear &, Direction, int64_t, const float *,
                                                const float *) {
  return nullptr;
}
#endif

} // namespace dlc::bench

#endif
