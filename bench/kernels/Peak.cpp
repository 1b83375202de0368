//===- Peak.cpp - see Peak.h ------------------------------------------------------------------===//
#include "bench/kernels/Peak.h"
#include <algorithm>
#include <cstdint>
#include <ctime>
#include <immintrin.h>

/// Independent sums: two units with a latency of four or five cycles need eight to ten.
static const int sums = 12;

/// `turns` multiply-adds of each sum; the result only keeps them alive.
__attribute__((target("avx2,fma"), noinline)) static float multiplyAdd256(int64_t turns) {
  __m256 values[sums], factor = _mm256_set1_ps(0.5f), addend = _mm256_set1_ps(1);
#pragma unroll
  for (int i = 0; i < sums; ++i)
    values[i] = _mm256_set1_ps(float(i));
  for (int64_t turn = 0; turn < turns; ++turn)
#pragma unroll
    for (int i = 0; i < sums; ++i)
      values[i] = _mm256_fmadd_ps(values[i], factor, addend);
#pragma unroll
  for (int i = 1; i < sums; ++i)
    values[0] = _mm256_add_ps(values[0], values[i]);
  return _mm256_cvtss_f32(values[0]);
}

__attribute__((target("avx512f"), noinline)) static float multiplyAdd512(int64_t turns) {
  __m512 values[sums], factor = _mm512_set1_ps(0.5f), addend = _mm512_set1_ps(1);
#pragma unroll
  for (int i = 0; i < sums; ++i)
    values[i] = _mm512_set1_ps(float(i));
  for (int64_t turn = 0; turn < turns; ++turn)
#pragma unroll
    for (int i = 0; i < sums; ++i)
      values[i] = _mm512_fmadd_ps(values[i], factor, addend);
#pragma unroll
  for (int i = 1; i < sums; ++i)
    values[0] = _mm512_add_ps(values[0], values[i]);
  return _mm512_cvtss_f32(values[0]);
}

/// Pairs of bf16 to a sum of f32.
__attribute__((target("avx512f,avx512bf16"), noinline)) static float
multiplyAddPairs(int64_t turns) {
  __m512 values[sums];
  const __m512bh factor = (__m512bh)_mm512_set1_epi32(0x3f803f80);
#pragma unroll
  for (int i = 0; i < sums; ++i)
    values[i] = _mm512_set1_ps(float(i));
  for (int64_t turn = 0; turn < turns; ++turn)
#pragma unroll
    for (int i = 0; i < sums; ++i)
      values[i] = _mm512_dpbf16_ps(values[i], factor, factor);
#pragma unroll
  for (int i = 1; i < sums; ++i)
    values[0] = _mm512_add_ps(values[0], values[i]);
  return _mm512_cvtss_f32(values[0]);
}

/// Time that this thread has run.
double dlc::bench::threadSeconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

double dlc::bench::measurePeakFlops(bool wide, bool half) {
  const bool pairs = wide && half && __builtin_cpu_supports("avx512bf16");
  const int64_t turns = 1 << 20;
  const int runs = 20;
  volatile float sink = 0;
  double fastest = 1e9;
  for (int run = 0; run < runs; ++run) {
    const double start = threadSeconds();
    sink = pairs ? multiplyAddPairs(turns) : wide ? multiplyAdd512(turns) : multiplyAdd256(turns);
    fastest = std::min(fastest, threadSeconds() - start);
  }
  (void)sink;
  const double lanes = pairs ? 32 : wide ? 16 : 8;
  return 2 * lanes * sums * double(turns) / fastest;
}
