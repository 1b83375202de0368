// winograd: convolution by minimal filtering: stride and dilation 1, one group, two axes.
//
//   y[f, tile] = result (sum over c of (left w[f, c]) * (right x[c, tile]))     * point by point
//
// A tile is OUT_H x OUT_W pixels of the plane that tiles cut, and what it is computed from; filters
// and tiles become POINTS numbers each by small matrices along H and W. Backward data is the same
// with filters turned; the filter's gradient takes tiles of dy and x to points, multiplies over all
// tiles, and takes the sums to taps. Three launches:
//
//   winogradOperands   points of both operands:  left [POINTS, rows, lanes], right alike
//   gemm               a product a point:        sums [SPLIT, POINTS, M, N]
//   winogradResults    adds the parts in order, takes sums to pixels or taps, finishes them
//
//   S::IMAGES, CHANNELS, FILTERS, H, W     see convolution.cuh, as are p.x, p.w, p.y, p.finish
//   S::OUT_H, OUT_W, TILES_H, TILES_W      pixels of a tile, tiles of an image
//   S::M, N, K, TILE_M, ..., SPLIT         see gemm.cuh; what is read by quads is padded to fours
//   S::Left, Right, Result                 transforms: high(from, to), wide(from, to), their sizes
//   S::LEFT_AT, RIGHT_AT                   places in the workspace; the sums stand first
//   S::LEFT_BLOCKS, THREADS                blocks of winogradOperands that make `left`; a block
//   p.partial                              the workspace
//
// Lanes are what neighbours in memory are, and neighbouring threads work on: filters or tiles.
template <class S> struct WinogradSizes : S {
  using T = typename S::T;
  static constexpr int POINTS = S::Right::ROWS * S::Right::COLUMNS, BATCH = POINTS;
  static constexpr int TILES = S::IMAGES * S::TILES_H * S::TILES_W;
  static constexpr bool A_QUADS = true, B_QUADS = true;

  static __device__ int image(int tile) { return tile / (S::TILES_H * S::TILES_W); }
  static __device__ int top(int tile) { return tile / S::TILES_W % S::TILES_H * S::OUT_H; }
  static __device__ int first(int tile) { return tile % S::TILES_W * S::OUT_W; }

  // An element outside of its plane is zero, and so are the tiles that only fill a quad.
  __device__ T xAt(int c, int tile, int h, int w) const {
    bool inside = tile < TILES && h >= 0 && h < S::H.in && w >= 0 && w < S::W.in;
    return inside ? this->x(image(tile), c, 0, h, w) : T(0);
  }
  __device__ T yAt(int f, int tile, int h, int w) const {
    bool inside = tile < TILES && h >= 0 && h < S::H.out && w >= 0 && w < S::W.out;
    return inside ? this->y(image(tile), f, 0, h, w) : T(0);
  }
  __device__ void store(int b, int m, int n, T c) const {
    this->partial[(b * S::M + m) * S::N + n] = c;
  }
};

// Operands of the data directions: [POINTS, K, M] and [POINTS, K, N].
template <class S> struct WinogradData : WinogradSizes<S> {
  static constexpr bool A_ALONG_K = false, B_ALONG_K = false;
  static constexpr int LEFT_ROWS = S::K, LEFT_LANES = S::M, RIGHT_ROWS = S::K, RIGHT_LANES = S::N;

  __device__ auto aQuad(int b, int m, int k) const {
    return loadQuad(this->partial, S::LEFT_AT + (b * S::K + k) * S::M + m);
  }
  __device__ auto bQuad(int b, int k, int n) const {
    return loadQuad(this->partial, S::RIGHT_AT + (b * S::K + k) * S::N + n);
  }
};

template <class S> struct WinogradForward : WinogradData<S> {
  using Z = WinogradSizes<S>;
  using T = typename S::T;
  static constexpr int RESULT_M = S::FILTERS, RESULT_N = Z::TILES;

  __device__ T left(int c, int f, int i, int j) const {
    return f < S::FILTERS ? this->w(f, c, 0, i, j) : T(0);
  }
  __device__ T right(int c, int tile, int i, int j) const {
    return this->xAt(c, tile, Z::top(tile) + i - S::H.low, Z::first(tile) + j - S::W.low);
  }
  __device__ void result(int f, int tile, int i, int j, T v) const {
    int p = Z::top(tile) + i, q = Z::first(tile) + j;
    if (p < S::H.out && q < S::W.out)
      this->finish(Z::image(tile), f, 0, p, q, v);
  }
};

template <class S> struct WinogradBackwardData : WinogradData<S> {
  using Z = WinogradSizes<S>;
  using T = typename S::T;
  static constexpr int RESULT_M = S::CHANNELS, RESULT_N = Z::TILES;
  static constexpr int LAST_H = S::H.kernel - 1, LAST_W = S::W.kernel - 1;

  __device__ T left(int f, int c, int i, int j) const {
    return c < S::CHANNELS ? this->w(f, c, 0, LAST_H - i, LAST_W - j) : T(0);
  }
  __device__ T right(int f, int tile, int i, int j) const {
    return this->yAt(f, tile, Z::top(tile) + i + S::H.low - LAST_H,
                     Z::first(tile) + j + S::W.low - LAST_W);
  }
  __device__ void result(int c, int tile, int i, int j, T v) const {
    int h = Z::top(tile) + i, w = Z::first(tile) + j;
    if (h < S::H.in && w < S::W.in)
      this->finish(Z::image(tile), c, 0, h, w, v);
  }
};

// Operands [POINTS, M, K] and [POINTS, N, K].
template <class S> struct WinogradBackwardFilter : WinogradSizes<S> {
  using Z = WinogradSizes<S>;
  using T = typename S::T;
  static constexpr bool A_ALONG_K = true, B_ALONG_K = true;
  static constexpr int LEFT_ROWS = S::M, LEFT_LANES = S::K, RIGHT_ROWS = S::N, RIGHT_LANES = S::K;
  static constexpr int RESULT_M = S::M, RESULT_N = S::N;

  __device__ T left(int f, int tile, int i, int j) const {
    return this->yAt(f, tile, Z::top(tile) + i, Z::first(tile) + j);
  }
  __device__ T right(int c, int tile, int i, int j) const {
    return this->xAt(c, tile, Z::top(tile) + i - S::H.low, Z::first(tile) + j - S::W.low);
  }
  __device__ auto aQuad(int b, int m, int k) const {
    return loadQuad(this->partial, S::LEFT_AT + (b * S::M + m) * S::K + k);
  }
  __device__ auto bQuad(int b, int k, int n) const {
    return loadQuad(this->partial, S::RIGHT_AT + (b * S::N + n) * S::K + k);
  }
  __device__ void result(int f, int c, int i, int j, T v) const { this->finish(f, c, 0, i, j, v); }
};

// A matrix in registers, transformed along H, then along W.
template <class Transform, class T>
__device__ void transformTile(const T (&from)[Transform::ROWS_IN][Transform::COLUMNS_IN],
                              T (&to)[Transform::ROWS][Transform::COLUMNS]) {
  T between[Transform::ROWS][Transform::COLUMNS_IN];
#pragma unroll
  for (int j = 0; j < Transform::COLUMNS_IN; ++j) {
    T column[Transform::ROWS_IN], points[Transform::ROWS];
#pragma unroll
    for (int i = 0; i < Transform::ROWS_IN; ++i)
      column[i] = from[i][j];
    Transform::high(column, points);
#pragma unroll
    for (int i = 0; i < Transform::ROWS; ++i)
      between[i][j] = points[i];
  }
#pragma unroll
  for (int i = 0; i < Transform::ROWS; ++i)
    Transform::wide(between[i], to[i]);
}

// Points of one tile or filter: element `e` of an operand [POINTS, ROWS, LANES].
template <class Transform, int ROWS, int LANES, class Z, class Load>
__device__ void storePoints(const Z &z, int place, int e, const Load &load) {
  typename Z::T from[Transform::ROWS_IN][Transform::COLUMNS_IN];
  typename Z::T to[Transform::ROWS][Transform::COLUMNS];
  if (e >= ROWS * LANES)
    return;
#pragma unroll
  for (int i = 0; i < Transform::ROWS_IN; ++i)
#pragma unroll
    for (int j = 0; j < Transform::COLUMNS_IN; ++j)
      from[i][j] = load(e / LANES, e % LANES, i, j);
  transformTile<Transform>(from, to);
#pragma unroll
  for (int i = 0; i < Transform::ROWS; ++i)
#pragma unroll
    for (int j = 0; j < Transform::COLUMNS; ++j)
      z.partial[place + (i * Transform::COLUMNS + j) * ROWS * LANES + e] = to[i][j];
}

template <class Z> __device__ void winogradOperands(const Z &z) {
  if (blockIdx.x < Z::LEFT_BLOCKS)
    storePoints<typename Z::Left, Z::LEFT_ROWS, Z::LEFT_LANES>(
        z, Z::LEFT_AT, blockIdx.x * Z::THREADS + threadIdx.x,
        [&](int row, int lane, int i, int j) { return z.left(row, lane, i, j); });
  else
    storePoints<typename Z::Right, Z::RIGHT_ROWS, Z::RIGHT_LANES>(
        z, Z::RIGHT_AT, (blockIdx.x - Z::LEFT_BLOCKS) * Z::THREADS + threadIdx.x,
        [&](int row, int lane, int i, int j) { return z.right(row, lane, i, j); });
}

template <class Z> __device__ void winogradResults(const Z &z) {
  using Result = typename Z::Result;
  int e = blockIdx.x * Z::THREADS + threadIdx.x, m = e / Z::N, n = e % Z::N;
  if (m >= Z::RESULT_M || n >= Z::RESULT_N)
    return;
  typename Z::T from[Result::ROWS_IN][Result::COLUMNS_IN] = {}, to[Result::ROWS][Result::COLUMNS];
#pragma unroll 1
  for (int part = 0; part < Z::SPLIT; ++part)
#pragma unroll
    for (int i = 0; i < Result::ROWS_IN; ++i)
#pragma unroll
      for (int j = 0; j < Result::COLUMNS_IN; ++j) {
        int point = part * Z::POINTS + i * Result::COLUMNS_IN + j;
        from[i][j] += z.partial[(point * Z::M + m) * Z::N + n];
      }
  transformTile<Result>(from, to);
#pragma unroll
  for (int i = 0; i < Result::ROWS; ++i)
#pragma unroll
    for (int j = 0; j < Result::COLUMNS; ++j)
      z.result(m, n, i, j, to[i][j]);
}
