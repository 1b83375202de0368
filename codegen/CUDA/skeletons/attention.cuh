// attention: o = softmax(SCALE * q k^T + mask) v and its gradients, by tiles of scores of which
// none is stored (Dao, FlashAttention-2, 2023).
//
//   P::HEADS, QUERIES, KEYS, DEPTH, WIDTH   sizes: q [QUERIES, DEPTH], k [KEYS, DEPTH],
//                                           v and o [.., WIDTH], for each head of each sample
//   P::SCALE, P::KEPT_FACTOR                of scores; of those that dropout keeps
//   P::CAUSAL                               query i sees keys up to i
//   P::MASK                                 0: none, 1: bools, 2: numbers that are added
//   P::KEPT                                 whether there is dropout
//   p.q(h, i, d), k(h, j, d), v(h, j, e)    elements
//   p.mask(h, i, j), kept(h, i, j)          of scores, if there are any
//   p.dout(h, i, e), lse(h, i), delta(h, i) backward only
//   p.storeO(h, i, e, x), storeLse(h, i, x), storeDq, storeDk, storeDv    results
//
// A block of 256 threads takes 32 queries of a head, or for dk and dv 32 keys, and passes over the
// tiles of 32 of the others in ascending order: no sum depends on the order of blocks. A thread has
// 4 scores of a tile: those of row thread / 8 in the columns thread % 8 + 8 c; and of a result's
// row every 8th element.
constexpr int ATTENTION_TILE = 32, ATTENTION_THREADS = 256;

struct AttentionTiles {
  float a[ATTENTION_TILE][ATTENTION_TILE + 1], b[ATTENTION_TILE][ATTENTION_TILE + 1];
  float weights[ATTENTION_TILE][ATTENTION_TILE + 1], gradients[ATTENTION_TILE][ATTENTION_TILE + 1];
};

__device__ inline int attentionRow() { return threadIdx.x / 8; }
__device__ inline int attentionLane() { return threadIdx.x % 8; }

// One value of the 8 threads of a row.
template <class Op> __device__ inline float combineRow(float v) {
  for (int step = 4; step > 0; step /= 2)
    v = Op::combine(v, __shfl_xor_sync(0xffffffffu, v, step));
  return v;
}

// c[.] += the sum over d of a(row, d) * b(column, d).
template <int DEPTH, class A, class B>
__device__ void addDots(AttentionTiles &tiles, A a, B b, float (&c)[4]) {
  int row = attentionRow(), lane = attentionLane();
  for (int d0 = 0; d0 < DEPTH; d0 += ATTENTION_TILE) {
    __syncthreads();
    int column = threadIdx.x % ATTENTION_TILE, d = d0 + column;
#pragma unroll
    for (int r = threadIdx.x / ATTENTION_TILE; r < ATTENTION_TILE;
         r += ATTENTION_THREADS / ATTENTION_TILE) {
      tiles.a[r][column] = d < DEPTH ? a(r, d) : 0.0f;
      tiles.b[r][column] = d < DEPTH ? b(r, d) : 0.0f;
    }
    __syncthreads();
#pragma unroll 8
    for (int k = 0; k < ATTENTION_TILE; ++k)
#pragma unroll
      for (int j = 0; j < 4; ++j)
        c[j] += tiles.a[row][k] * tiles.b[lane + 8 * j][k];
  }
}

// Elements of a result's row that a thread has, those behind its end included.
template <int COLUMNS> constexpr int ATTENTION_SUMS = divideUp(COLUMNS, ATTENTION_TILE) * 4;

// c[.] += the sum over the tile's j of weight[row][j] * x(j, column); TURNED: of weight[j][row].
template <int COLUMNS, bool TURNED, class X>
__device__ void addRows(AttentionTiles &tiles,
                        const float (&weight)[ATTENTION_TILE][ATTENTION_TILE + 1], X x,
                        float (&c)[ATTENTION_SUMS<COLUMNS>]) {
  int row = attentionRow(), lane = attentionLane();
#pragma unroll
  for (int e0 = 0; e0 < COLUMNS; e0 += ATTENTION_TILE) {
    __syncthreads();
    int column = threadIdx.x % ATTENTION_TILE, e = e0 + column;
#pragma unroll
    for (int r = threadIdx.x / ATTENTION_TILE; r < ATTENTION_TILE;
         r += ATTENTION_THREADS / ATTENTION_TILE)
      tiles.a[r][column] = e < COLUMNS ? x(r, e) : 0.0f;
    __syncthreads();
#pragma unroll 8
    for (int k = 0; k < ATTENTION_TILE; ++k)
#pragma unroll
      for (int j = 0; j < 4; ++j)
        c[e0 / 8 + j] += (TURNED ? weight[k][row] : weight[row][k]) * tiles.a[k][lane + 8 * j];
  }
}

// Calls store(column, value) for the thread's elements of a row.
template <int COLUMNS, class Store>
__device__ void storeSums(const float (&c)[ATTENTION_SUMS<COLUMNS>], Store store) {
#pragma unroll
  for (int n = 0; n < ATTENTION_SUMS<COLUMNS>; ++n) {
    int column = attentionLane() + 8 * n;
    if (column < COLUMNS)
      store(column, c[n]);
  }
}

// A finished score; -infinity if it is not seen.
template <class P> __device__ float finishScore(const P &p, int h, int i, int j, float s) {
  bool seen = i < P::QUERIES && j < P::KEYS && !(P::CAUSAL && j > i);
  s *= P::SCALE;
  if constexpr (P::MASK == 1)
    seen = seen && p.mask(h, i, j);
  if constexpr (P::MASK == 2)
    s = seen ? s + p.mask(h, i, j) : s;
  return seen ? s : -infinity();
}

template <class P> __device__ float keepScore(const P &p, int h, int i, int j, float v) {
  if constexpr (P::KEPT) {
    bool kept = i < P::QUERIES && j < P::KEYS && p.kept(h, i, j);
    return kept ? v * P::KEPT_FACTOR : 0.0f;
  }
  return v;
}

// Keys that a tile of queries from i0 on sees.
template <class P> __device__ int keysEnd(int i0) {
  int end = i0 + ATTENTION_TILE;
  return P::CAUSAL && end < P::KEYS ? end : P::KEYS;
}

// Scores of the tile at i0, j0.
template <class P>
__device__ void tileScores(const P &p, AttentionTiles &tiles, int h, int i0, int j0,
                           float (&s)[4]) {
  addDots<P::DEPTH>(
      tiles, [&](int r, int d) { return i0 + r < P::QUERIES ? p.q(h, i0 + r, d) : 0.0f; },
      [&](int r, int d) { return j0 + r < P::KEYS ? p.k(h, j0 + r, d) : 0.0f; }, s);
#pragma unroll
  for (int c = 0; c < 4; ++c)
    s[c] = finishScore(p, h, i0 + attentionRow(), j0 + attentionLane() + 8 * c, s[c]);
}

template <class P> __device__ void attention(const P &p) {
  SHARED(AttentionTiles, tiles);
  constexpr int BLOCKS = divideUp(P::QUERIES, ATTENTION_TILE);
  int h = blockIdx.x / BLOCKS, i0 = blockIdx.x % BLOCKS * ATTENTION_TILE;
  int row = attentionRow(), lane = attentionLane(), i = i0 + row;
  // No score is as low: one that sees nothing has a number.
  float largest = -1e30f, sum = 0;
  float o[ATTENTION_SUMS<P::WIDTH>] = {};
  for (int j0 = 0; j0 < keysEnd<P>(i0); j0 += ATTENTION_TILE) {
    float s[4] = {};
    tileScores(p, tiles, h, i0, j0, s);
    float before = largest, part = 0;
#pragma unroll
    for (int c = 0; c < 4; ++c)
      largest = maximum(largest, s[c]);
    largest = combineRow<Max>(largest);
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      float e = expf(s[c] - largest);
      part += e;
      tiles.weights[row][lane + 8 * c] = keepScore(p, h, i, j0 + lane + 8 * c, e);
    }
    float factor = expf(before - largest);
    sum = sum * factor + combineRow<Sum>(part);
#pragma unroll
    for (float &element : o)
      element *= factor;
    addRows<P::WIDTH, false>(
        tiles, tiles.weights,
        [&](int r, int e) { return j0 + r < P::KEYS ? p.v(h, j0 + r, e) : 0.0f; }, o);
  }
  if (i >= P::QUERIES)
    return;
  if (sum == 0)
    sum = 1;
  storeSums<P::WIDTH>(o, [&](int e, float v) { p.storeO(h, i, e, v / sum); });
  if (lane == 0)
    p.storeLse(h, i, largest + logf(sum));
}

// Puts a tile of p * kept into `weights` and one of SCALE * ds into `gradients`.
template <class P>
__device__ void tileGradients(const P &p, AttentionTiles &tiles, int h, int i0, int j0) {
  int row = attentionRow(), lane = attentionLane(), i = i0 + row;
  float s[4] = {}, dp[4] = {};
  tileScores(p, tiles, h, i0, j0, s);
  addDots<P::WIDTH>(
      tiles, [&](int r, int e) { return i0 + r < P::QUERIES ? p.dout(h, i0 + r, e) : 0.0f; },
      [&](int r, int e) { return j0 + r < P::KEYS ? p.v(h, j0 + r, e) : 0.0f; }, dp);
  float lse = i < P::QUERIES ? p.lse(h, i) : 0.0f, delta = i < P::QUERIES ? p.delta(h, i) : 0.0f;
#pragma unroll
  for (int c = 0; c < 4; ++c) {
    int j = j0 + lane + 8 * c;
    float e = expf(s[c] - lse);
    tiles.weights[row][lane + 8 * c] = keepScore(p, h, i, j, e);
    tiles.gradients[row][lane + 8 * c] = P::SCALE * e * (keepScore(p, h, i, j, dp[c]) - delta);
  }
}

template <class P> __device__ void attentionKeys(const P &p) {
  SHARED(AttentionTiles, tiles);
  constexpr int BLOCKS = divideUp(P::KEYS, ATTENTION_TILE);
  int h = blockIdx.x / BLOCKS, j0 = blockIdx.x % BLOCKS * ATTENTION_TILE;
  float dk[ATTENTION_SUMS<P::DEPTH>] = {}, dv[ATTENTION_SUMS<P::WIDTH>] = {};
  // Queries before the first key see none of these.
  for (int i0 = P::CAUSAL ? j0 : 0; i0 < P::QUERIES; i0 += ATTENTION_TILE) {
    tileGradients(p, tiles, h, i0, j0);
    addRows<P::WIDTH, true>(
        tiles, tiles.weights,
        [&](int r, int e) { return i0 + r < P::QUERIES ? p.dout(h, i0 + r, e) : 0.0f; }, dv);
    addRows<P::DEPTH, true>(
        tiles, tiles.gradients,
        [&](int r, int d) { return i0 + r < P::QUERIES ? p.q(h, i0 + r, d) : 0.0f; }, dk);
  }
  int j = j0 + attentionRow();
  if (j >= P::KEYS)
    return;
  storeSums<P::DEPTH>(dk, [&](int d, float v) { p.storeDk(h, j, d, v); });
  storeSums<P::WIDTH>(dv, [&](int e, float v) { p.storeDv(h, j, e, v); });
}

template <class P> __device__ void attentionQueries(const P &p) {
  SHARED(AttentionTiles, tiles);
  constexpr int BLOCKS = divideUp(P::QUERIES, ATTENTION_TILE);
  int h = blockIdx.x / BLOCKS, i0 = blockIdx.x % BLOCKS * ATTENTION_TILE;
  float dq[ATTENTION_SUMS<P::DEPTH>] = {};
  for (int j0 = 0; j0 < keysEnd<P>(i0); j0 += ATTENTION_TILE) {
    tileGradients(p, tiles, h, i0, j0);
    addRows<P::DEPTH, false>(
        tiles, tiles.gradients,
        [&](int r, int d) { return j0 + r < P::KEYS ? p.k(h, j0 + r, d) : 0.0f; }, dq);
  }
  int i = i0 + attentionRow();
  if (i < P::QUERIES)
    storeSums<P::DEPTH>(dq, [&](int d, float v) { p.storeDq(h, i, d, v); });
}
