// patches: convolution as one product of explicit matrices, of any stride and dilation: a tile is
// one output, which takes a patch of TAPS_H x TAPS_W pixels of each channel as it is, see
// tiles.cuh. Backward data with a stride has filters of one tap: a tile is the OUT_H x OUT_W pixels
// of which the first is read.
//
//   S::TAPS_H, TAPS_W              of a patch
//   S::LEFT_TAPS, RESULT_TAPS      TAPS_H * TAPS_W where the left operand's rows, the result's
//   columns
//                                  are taps of channels, else 1; the right operand's rows always
//                                  are

// Element `e` of an operand.
template <int ROWS, int LANES, int TAPS, class Z, class Load>
__device__ void storePatch(const Z &z, int place, int e, const Load &load) {
  if (e >= ROWS * LANES)
    return;
  int row = e / LANES, lane = e % LANES, tap = row % TAPS;
  z.partial[place + Z::template placeOf<ROWS, LANES>(0, row, lane)] =
      load(row / TAPS, lane, tap / Z::TAPS_W, tap % Z::TAPS_W);
}

template <class Z> __device__ void patchesOperands(const Z &z) {
  constexpr int TAPS = Z::TAPS_H * Z::TAPS_W;
  if (blockIdx.x < Z::LEFT_BLOCKS)
    storePatch<Z::LEFT_ROWS, Z::LEFT_LANES, Z::LEFT_TAPS>(
        z, Z::LEFT_AT, blockIdx.x * Z::THREADS + threadIdx.x,
        [&](int row, int lane, int i, int j) { return z.left(row, lane, i, j); });
  else
    storePatch<Z::RIGHT_ROWS, Z::RIGHT_LANES, TAPS>(
        z, Z::RIGHT_AT, (blockIdx.x - Z::LEFT_BLOCKS) * Z::THREADS + threadIdx.x,
        [&](int row, int lane, int i, int j) { return z.right(row, lane, i, j); });
}

template <class Z, class... Totals>
__device__ void storePatchResult(const Z &z, int m, int n, Totals &...totals) {
  typename Z::T v = 0;
#pragma unroll 1
  for (int part = 0; part < Z::SPLIT; ++part)
    v += z.partial[(part * Z::M + m) * Z::N + n];
  int tap = n % Z::RESULT_TAPS;
#pragma unroll
  for (int i = 0; i < Z::OUT_H; ++i)
#pragma unroll
    for (int j = 0; j < Z::OUT_W; ++j)
      z.result(m, n / Z::RESULT_TAPS, tap / Z::TAPS_W + i, tap % Z::TAPS_W + j,
               i + j == 0 ? v : typename Z::T(0), totals...);
}

template <class Z> __device__ void patchesResults(const Z &z) {
  eachResult(z, [&](int m, int n) { storePatchResult(z, m, n); });
}

template <class Z> __device__ void patchesResultsReduced(const Z &z) {
  eachResultReduced(
      z, [&](int m, int n, typename Z::Totals &totals) { storePatchResult(z, m, n, totals); });
}
