// tiles: convolutions as products of transformed tiles: one group, two axes, and where a tile is
// more than a pixel stride and dilation 1.
//
//   y[f, tile] = result (sum over c of (left w[f, c]) * (right x[c, tile]))     * number by number
//
// A tile is OUT_H x OUT_W pixels of the plane that tiles cut, and what it is computed from; filters
// and tiles become PRODUCTS numbers each by transforms along H and W. Backward data is the same
// with filters turned; the filter's gradient takes tiles of dy and x to numbers, multiplies over
// all tiles, and takes the sums to taps. Three launches, the first and last in winograd.cuh,
// fourier.cuh, patches.cuh:
//
//   ...Operands   numbers of both operands:  left [K_PARTS, PRODUCTS, rows, lanes], right alike
//   gemm          a product a number:        sums [SPLIT, PRODUCTS, M, N]
//   ...Results    adds the parts in order, takes sums to pixels or taps, finishes them
//
//   S::IMAGES, CHANNELS, FILTERS, H, W     see convolution.cuh, as are p.x, p.w, p.y, p.finish
//   S::OUT_H, OUT_W, TILES_H, TILES_W      pixels of a tile, tiles of an image
//   S::PRODUCTS                            numbers of a tile, and of a filter
//   S::M, N, K, TILE_M, ..., SPLIT         see gemm.cuh; what is read by quads is padded to fours
//   S::K_PARTS                             1, or SPLIT where a library multiplies parts of k apart
//   S::LEFT_AT, RIGHT_AT                   places in the workspace; the sums stand first
//   S::LEFT_BLOCKS                         blocks of ...Operands that make `left`
//   S::LANES, THREADS                      tiles or filters of a block of transforms; its threads
//   S::KEPT, PARTS, PARTS_AT, Totals       see reduce_parts, if the result is reduced too: blocks
//   of
//                                          ...ResultsReduced have tiles of one channel each
//   S::Left, Right, Result                 the transforms
//   p.partial                              the workspace
//
// Lanes are what neighbours in memory are, and neighbouring threads work on: filters or tiles.
template <class S> struct TilesSizes : S {
  using T = typename S::T;
  static constexpr int BATCH = S::PRODUCTS;
  static constexpr int TILES = S::IMAGES * S::TILES_H * S::TILES_W;
  static constexpr bool A_QUADS = true, B_QUADS = true;

  static __device__ int image(int tile) { return tile / (S::TILES_H * S::TILES_W); }
  static __device__ int top(int tile) { return tile / S::TILES_W % S::TILES_H * S::OUT_H; }
  static __device__ int first(int tile) { return tile % S::TILES_W * S::OUT_W; }

  // Of a number of an operand, whose lanes may be along k.
  template <int ROWS, int LANES> static __device__ int placeOf(int point, int row, int lane) {
    constexpr int PART = LANES / S::K_PARTS;
    return ((lane / PART * S::PRODUCTS + point) * ROWS + row) * PART + lane % PART;
  }

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

// Operands of the data directions: [PRODUCTS, K, M] and [PRODUCTS, K, N].
template <class S> struct TilesData : TilesSizes<S> {
  static constexpr bool A_ALONG_K = false, B_ALONG_K = false;
  static constexpr int LEFT_ROWS = S::K, LEFT_LANES = S::M, RIGHT_ROWS = S::K, RIGHT_LANES = S::N;

  __device__ auto aQuad(int b, int m, int k) const {
    return loadQuad(this->partial, S::LEFT_AT + (b * S::K + k) * S::M + m);
  }
  __device__ auto bQuad(int b, int k, int n) const {
    return loadQuad(this->partial, S::RIGHT_AT + (b * S::K + k) * S::N + n);
  }
};

template <class S> struct TilesForward : TilesData<S> {
  using Z = TilesSizes<S>;
  using T = typename S::T;
  static constexpr int RESULT_M = S::FILTERS, RESULT_N = Z::TILES;

  __device__ T left(int c, int f, int i, int j) const {
    return f < S::FILTERS ? this->w(f, c, 0, i, j) : T(0);
  }
  __device__ T right(int c, int tile, int i, int j) const {
    return this->xAt(c, tile, Z::top(tile) * S::H.stride + i * S::H.dilation - S::H.low,
                     Z::first(tile) * S::W.stride + j * S::W.dilation - S::W.low);
  }
  template <class... Totals>
  __device__ void result(int f, int tile, int i, int j, T v, Totals &...totals) const {
    int p = Z::top(tile) + i, q = Z::first(tile) + j;
    if (p < S::H.out && q < S::W.out)
      this->finish(Z::image(tile), f, 0, p, q, v, totals...);
  }
};

template <class S> struct TilesBackwardData : TilesData<S> {
  using Z = TilesSizes<S>;
  using T = typename S::T;
  static constexpr int RESULT_M = S::CHANNELS, RESULT_N = Z::TILES;
  static constexpr int LAST_H = S::H.kernel - 1, LAST_W = S::W.kernel - 1;

  __device__ T left(int f, int c, int i, int j) const {
    return c < S::CHANNELS ? this->w(f, c, 0, LAST_H - i, LAST_W - j) : T(0);
  }
  __device__ T right(int f, int tile, int i, int j) const {
    return this->yAt(f, tile,
                     (Z::top(tile) + (i - LAST_H) * S::H.dilation + S::H.low) / S::H.stride,
                     (Z::first(tile) + (j - LAST_W) * S::W.dilation + S::W.low) / S::W.stride);
  }
  template <class... Totals>
  __device__ void result(int c, int tile, int i, int j, T v, Totals &...totals) const {
    int h = Z::top(tile) + i, w = Z::first(tile) + j;
    if (h < S::H.in && w < S::W.in)
      this->finish(Z::image(tile), c, 0, h, w, v, totals...);
  }
};

// Operands [PRODUCTS, M, K] and [PRODUCTS, N, K].
template <class S> struct TilesBackwardFilter : TilesSizes<S> {
  using Z = TilesSizes<S>;
  using T = typename S::T;
  static constexpr bool A_ALONG_K = true, B_ALONG_K = true;
  static constexpr int LEFT_ROWS = S::M, LEFT_LANES = S::K, RIGHT_ROWS = S::N, RIGHT_LANES = S::K;
  static constexpr int RESULT_M = S::M, RESULT_N = S::N;

  __device__ T left(int f, int tile, int i, int j) const {
    return this->yAt(f, tile, Z::top(tile) + i, Z::first(tile) + j);
  }
  __device__ T right(int c, int tile, int i, int j) const {
    return this->xAt(c, tile, Z::top(tile) * S::H.stride + i * S::H.dilation - S::H.low,
                     Z::first(tile) * S::W.stride + j * S::W.dilation - S::W.low);
  }
  __device__ auto aQuad(int b, int m, int k) const {
    return loadQuad(this->partial, S::LEFT_AT + (b * S::M + m) * S::K + k);
  }
  __device__ auto bQuad(int b, int k, int n) const {
    return loadQuad(this->partial, S::RIGHT_AT + (b * S::N + n) * S::K + k);
  }
  __device__ void result(int f, int c, int i, int j, T v) const { this->finish(f, c, 0, i, j, v); }
};

// ...Results where a thread takes sums of its own: calls f(m, n).
template <class Z, class F> __device__ void eachResult(const Z &z, const F &f) {
  int e = blockIdx.x * Z::THREADS + threadIdx.x, m = e / Z::N, n = e % Z::N;
  if (m < Z::RESULT_M && n < Z::RESULT_N)
    f(m, n);
}

// ...ResultsReduced so: calls f(m, n, totals).
template <class Z, class F> __device__ void eachResultReduced(const Z &z, const F &f) {
  static_assert(Z::PARTS == divideUp(Z::RESULT_N, Z::LANES) && Z::PARTS_THREADS == Z::THREADS);
  int m = blockIdx.x / Z::PARTS, n = blockIdx.x % Z::PARTS * Z::LANES + threadIdx.x;
  typename Z::Totals v;
  v.clear();
  if (n < Z::RESULT_N)
    f(m, n, v);
  leavePart(z, v, blockIdx.x);
}
