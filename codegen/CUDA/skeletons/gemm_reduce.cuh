// gemm_reduce: gemm.cuh's phases, where rows of C are reduced too: a part of each row's totals is
// left for reduce_parts. Rows of all batches are numbered one behind the other.
//
//   P::KEPT, PARTS, PARTS_AT, Totals, p.partial   see reduce_parts; KEPT = BATCH * M
//   p.store(b, m, n, c, v)                        the same as gemm's, and adds what is reduced to v
//
// Columns meet in shared memory: one behind the other, in as many threads as the tile has rows.
template <class P> __device__ void gemmReduced(const P &p) {
  using G = GemmTile<P>;
  using Totals = typename P::Totals;
  static_assert(P::SPLIT == 1 && P::PARTS == G::TILES_N);
  // The padding spreads the columns over the banks.
  struct Columns {
    Totals value[G::COLUMNS][P::TILE_M + 1];
  };
  G at;
  typename P::T c[P::TM][P::TN] = {};
  multiplyTile(p, at, c);
  SHARED(Columns, shared);
#pragma unroll
  for (int i = 0; i < P::TM; ++i) {
    Totals v;
    v.clear();
#pragma unroll
    for (int j = 0; j < P::TN; ++j)
      if (at.m(i) < P::M && at.n(j) < P::N)
        p.store(at.batch, at.m(i), at.n(j), c[i][j], v);
    v.finish();
    shared.value[at.column][at.row * P::TM + i] = v;
  }
  __syncthreads();
  for (int row = threadIdx.x; row < P::TILE_M && at.m0 + row < P::M; row += G::THREADS) {
    Totals v = shared.value[0][row];
    for (int column = 1; column < G::COLUMNS; ++column)
      v.merge(shared.value[column][row]);
    v.template save<P::KEPT * P::PARTS>(
        p.partial, P::PARTS_AT + (at.batch * P::M + at.m0 + row) * P::PARTS + at.tileN);
  }
}

// The second phase where k was split: a block's elements are of one row.
template <class P> __device__ void gemmPartsReduced(const P &p) {
  static_assert(P::PARTS == divideUp(P::N, P::PARTS_THREADS));
  int row = blockIdx.x / P::PARTS, n = blockIdx.x % P::PARTS * P::PARTS_THREADS + threadIdx.x;
  typename P::Totals v;
  v.clear();
  if (n < P::N)
    p.store(row / P::M, row % P::M, n, sumOfParts(p, row * P::N + n), v);
  leavePart(p, v, blockIdx.x);
}
