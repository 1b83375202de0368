//===- Peak.h - a thread's time, and how fast it multiplies and adds ----------------*- C++ -*-===//
#ifndef DLC_BENCH_KERNELS_PEAK_H
#define DLC_BENCH_KERNELS_PEAK_H

namespace dlc::bench {

/// Time that this thread has run.
double threadSeconds();

/// Float32 operations a second of one thread that only multiplies and adds in registers, a
/// multiply-add as two: the fastest of several runs. `wide`: vectors of 64 bytes, which the
/// processor must have; else of 32.
double measurePeakFlops(bool wide);

} // namespace dlc::bench

#endif
