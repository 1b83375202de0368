//===- Peak.h - a thread's time, and how fast it multiplies and adds ----------------*- C++ -*-===//
#ifndef DLC_BENCH_KERNELS_PEAK_H
#define DLC_BENCH_KERNELS_PEAK_H

namespace dlc::bench {

/// Time that this thread has run.
double threadSeconds();

/// Operations a second of one thread that only multiplies and adds in registers, a multiply-add as
/// two: the fastest of several runs. `wide`: vectors of 64 bytes, which the processor must have;
/// else of 32. `half`: of bf16 where AVX512_BF16 multiplies it, without AMX's tiles; else of f32.
double measurePeakFlops(bool wide, bool half);

} // namespace dlc::bench

#endif
