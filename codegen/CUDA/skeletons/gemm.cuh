// gemm: C[b, m, n] = sum over k of A[b, m, k] * B[b, k, n], then the epilogue.
//
//   P::BATCH, M, N, K           sizes
//   P::TILE_M, TILE_N, TILE_K   what a block multiplies at a time
//   P::TM, TN                   what a thread accumulates: THREADS = (TILE_M / TM) * (TILE_N / TN)
//   P::SPLIT                    blocks that share a tile of C, each with a part of k; 1: none
//   P::A_ALONG_K, B_ALONG_K     neighbours in memory lie along k, else along m or n
//   P::A_QUADS, B_QUADS         four neighbours are one load, as stored: p.aQuad(b, m, k),
//                               p.bQuad(b, k, n)
//   p.a(b, m, k), p.b(b, k, n)  one element
//   p.partial                   workspace [SPLIT, BATCH, M, N], if SPLIT > 1
//   p.store(b, m, n, c)         finishes and stores an element of C
//
// While a tile is multiplied from shared memory, the next one is on its way into registers. A
// thread's columns are TILE_N / TN apart: the lanes of a warp read and write neighbours.

// The operands as a tile's loader asks for them: index i along m or n.
template <class P> struct OperandA {
  const P &p;
  int batch;
  __device__ auto element(int i, int k) const { return p.a(batch, i, k); }
  __device__ auto quad(int i, int k) const { return p.aQuad(batch, i, k); }
};
template <class P> struct OperandB {
  const P &p;
  int batch;
  __device__ auto element(int i, int k) const { return p.b(batch, k, i); }
  __device__ auto quad(int i, int k) const { return p.bQuad(batch, k, i); }
};

// One operand's tile [TILE_K][SIZE]: each thread carries LOADS elements of it.
template <class T, int SIZE, int TILE_K, int THREADS, bool ALONG_K, bool QUADS> struct TileLoader {
  static constexpr int WIDTH = QUADS ? 4 : 1, LOADS = SIZE * TILE_K / THREADS / WIDTH;
  static_assert(LOADS * THREADS * WIDTH == SIZE * TILE_K);
  T held[LOADS][WIDTH];

  // Place of this thread's load number `load` in the tile.
  static __device__ void place(int load, int &i, int &k) {
    int e = (load * THREADS + threadIdx.x) * WIDTH;
    i = ALONG_K ? e / TILE_K : e % SIZE;
    k = ALONG_K ? e % TILE_K : e / SIZE;
  }

  // What lies outside of [sizeI, lastK) is zero.
  template <class Operand>
  __device__ void load(const Operand &operand, int i0, int sizeI, int k0, int lastK) {
#pragma unroll
    for (int l = 0; l < LOADS; ++l) {
      int i, k;
      place(l, i, k);
      bool inside = i0 + i < sizeI && k0 + k < lastK;
      if constexpr (QUADS) {
        decltype(operand.quad(0, 0)) q{};
        if (inside)
          q = operand.quad(i0 + i, k0 + k);
#pragma unroll
        for (int w = 0; w < 4; ++w)
          held[l][w] = q.v[w];
      } else {
        held[l][0] = inside ? operand.element(i0 + i, k0 + k) : T(0);
      }
    }
  }

  template <class Tile> __device__ void put(Tile &tile) const {
#pragma unroll
    for (int l = 0; l < LOADS; ++l) {
      int i, k;
      place(l, i, k);
#pragma unroll
      for (int w = 0; w < WIDTH; ++w)
        tile[k + (ALONG_K ? w : 0)][i + (ALONG_K ? 0 : w)] = held[l][w];
    }
  }
};

// What of C a block computes, and of that a thread.
template <class P> struct GemmTile {
  static constexpr int ROWS = P::TILE_M / P::TM, COLUMNS = P::TILE_N / P::TN,
                       THREADS = ROWS * COLUMNS;
  static constexpr int TILES_M = divideUp(P::M, P::TILE_M), TILES_N = divideUp(P::N, P::TILE_N);
  int tile = blockIdx.x / P::SPLIT, part = blockIdx.x % P::SPLIT;
  int tileN = tile % TILES_N, batch = tile / (TILES_N * TILES_M);
  int n0 = tileN * P::TILE_N, m0 = tile / TILES_N % TILES_M * P::TILE_M;
  int row = threadIdx.x / COLUMNS, column = threadIdx.x % COLUMNS;

  __device__ int m(int i) const { return m0 + row * P::TM + i; }
  __device__ int n(int j) const { return n0 + column + j * COLUMNS; }
};

// Adds this thread's products, or the block's part of them, to c.
template <class P>
__device__ void multiplyTile(const P &p, const GemmTile<P> &at, typename P::T (&c)[P::TM][P::TN]) {
  using T = typename P::T;
  using G = GemmTile<P>;
  constexpr int PART = divideUp(divideUp(P::K, P::SPLIT), P::TILE_K) * P::TILE_K;
  // The padding spreads the columns of a tile that arrives along k over the banks.
  struct Tiles {
    T a[P::TILE_K][P::TILE_M + 1], b[P::TILE_K][P::TILE_N + 1];
  };
  SHARED(Tiles, tiles);

  int firstK = at.part * PART, lastK = firstK + PART < P::K ? firstK + PART : P::K;
  OperandA<P> operandA{p, at.batch};
  OperandB<P> operandB{p, at.batch};
  TileLoader<T, P::TILE_M, P::TILE_K, G::THREADS, P::A_ALONG_K, P::A_QUADS> a;
  TileLoader<T, P::TILE_N, P::TILE_K, G::THREADS, P::B_ALONG_K, P::B_QUADS> b;

  // One turn more than tiles: the first only loads.
  for (int k0 = firstK - P::TILE_K; k0 < lastK; k0 += P::TILE_K) {
    bool loaded = k0 >= firstK;
    if (loaded) {
      a.put(tiles.a);
      b.put(tiles.b);
      __syncthreads();
    }
    if (k0 + P::TILE_K < lastK) {
      a.load(operandA, at.m0, P::M, k0 + P::TILE_K, lastK);
      b.load(operandB, at.n0, P::N, k0 + P::TILE_K, lastK);
    }
    if (!loaded)
      continue;
#pragma unroll 4
    for (int k = 0; k < P::TILE_K; ++k) {
      T left[P::TM], right[P::TN];
#pragma unroll
      for (int i = 0; i < P::TM; ++i)
        left[i] = tiles.a[k][at.row * P::TM + i];
#pragma unroll
      for (int j = 0; j < P::TN; ++j)
        right[j] = tiles.b[k][at.column + j * G::COLUMNS];
#pragma unroll
      for (int i = 0; i < P::TM; ++i)
#pragma unroll
        for (int j = 0; j < P::TN; ++j)
          c[i][j] += left[i] * right[j];
    }
    __syncthreads();
  }
}

template <class P> __device__ void gemm(const P &p) {
  GemmTile<P> at;
  typename P::T c[P::TM][P::TN] = {};
  multiplyTile(p, at, c);
#pragma unroll
  for (int i = 0; i < P::TM; ++i)
#pragma unroll
    for (int j = 0; j < P::TN; ++j) {
      int m = at.m(i), n = at.n(j);
      if (m >= P::M || n >= P::N)
        continue;
      if constexpr (P::SPLIT > 1)
        p.partial[((at.part * P::BATCH + at.batch) * P::M + m) * P::N + n] = c[i][j];
      else
        p.store(at.batch, m, n, c[i][j]);
    }
}

// Element e of C, where k was split: parts in order.
template <class P> __device__ typename P::T sumOfParts(const P &p, int e) {
  constexpr int ELEMENTS = P::BATCH * P::M * P::N;
  typename P::T sum = p.partial[e];
#pragma unroll 4
  for (int part = 1; part < P::SPLIT; ++part)
    sum += typename P::T(p.partial[part * ELEMENTS + e]);
  return sum;
}

// The second phase where k was split: one thread an element of C.
template <class P> __device__ void gemmParts(const P &p) {
  int e = blockIdx.x * P::PARTS_THREADS + threadIdx.x;
  if (e < P::BATCH * P::M * P::N)
    p.store(e / (P::M * P::N), e / P::N % P::M, e % P::N, sumOfParts(p, e));
}
