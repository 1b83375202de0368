// transpose: y[b, n, m] = f(x[b, m, n]), where neighbours along n are neighbours in x, and
// neighbours along m in y.
//
//   P::BATCH, M, N     sizes
//   p.x(b, m, n)       one element of the operand
//   p.store(b, m, n, v)
//
// A block turns a tile of 32 x 32 through shared memory, so that both sides move whole lines; the
// column more keeps the banks apart.
template <class P> __device__ void transpose(const P &p) {
  constexpr int TILE = 32, ROWS = P::THREADS / TILE;
  constexpr int TILES_M = divideUp(P::M, TILE), TILES_N = divideUp(P::N, TILE);
  struct Tile {
    typename P::T v[TILE][TILE + 1];
  };
  SHARED(Tile, tile);
  int b = blockIdx.x / (TILES_M * TILES_N);
  int m0 = blockIdx.x / TILES_N % TILES_M * TILE, n0 = blockIdx.x % TILES_N * TILE;
  int lane = threadIdx.x % TILE, row = threadIdx.x / TILE;
#pragma unroll
  for (int i = row; i < TILE; i += ROWS)
    if (m0 + i < P::M && n0 + lane < P::N)
      tile.v[i][lane] = p.x(b, m0 + i, n0 + lane);
  __syncthreads();
#pragma unroll
  for (int i = row; i < TILE; i += ROWS)
    if (m0 + lane < P::M && n0 + i < P::N)
      p.store(b, m0 + lane, n0 + i, tile.v[lane][i]);
}
