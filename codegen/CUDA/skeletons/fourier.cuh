// fourier: convolution by Fourier transforms of tiles of HIGH x WIDE pixels (overlap-save), see
// tiles.cuh. A block transforms LANES of them, first rows, then columns, one a thread; between,
// they stand in shared memory. Of a real tile the points that mirror others are left out: rows
// leave WIDE / 2 + 1 points, of which the first and the last are real, and so two of their columns.
//
//   S::HIGH, WIDE              even, or 1
//   S::Left, Right             row(x, points): COLUMNS pixels to WIDE / 2 + 1 points; real(x,
//   points),
//                              complex(x, points): ROWS numbers of a column to its points
//   S::Result                  the other way round: to ROWS x COLUMNS pixels
//
// Complex numbers are arrays of real parts, then of imaginary ones. A complex product is three of
// real numbers, of which `left` and `right` have one factor each:
//
//   (a + ib)(c + id) = (s - u) + i (s + t),   s = (a + b) c, t = a (d - c), u = b (c + d)
template <class S> struct Fourier {
  static constexpr int HALF_H = S::HIGH / 2 + 1, HALF_W = S::WIDE / 2 + 1;
  static constexpr int REAL = S::WIDE == 1 ? 1 : 2, COMPLEX = HALF_W - REAL;
  static constexpr bool HAS_LAST = S::HIGH > 1; // a column's last point is real like its first
  static constexpr int REAL_PRODUCTS = 3 * HALF_H - (HAS_LAST ? 4 : 2);
  static_assert(S::PRODUCTS == 3 * COMPLEX * S::HIGH + REAL * REAL_PRODUCTS);
  // Rows of odd pitch: neighbours of a column lie in other banks.
  struct Rows {
    typename S::T at[S::HIGH][S::WIDE + 1][S::LANES];
  };

  // Where a row's point stands: the real ones first, then the parts of the others in turn.
  static __device__ int slot(int point, int part) {
    return point == 0 ? 0 : 2 * point == S::WIDE ? 1 : 2 * point + part;
  }
  static __device__ bool isReal(int point, int size) { return point == 0 || 2 * point == size; }
  // The first product of a column's point.
  static __device__ int ofReal(int column, int point) {
    return 3 * COMPLEX * S::HIGH + column * REAL_PRODUCTS + (point == 0 ? 0 : 3 * point - 2);
  }
  static __device__ int ofComplex(int column, int point) { return 3 * (column * S::HIGH + point); }
};

// The factors of an operand.
struct LeftFactors {
  template <class T> static __device__ T of(int product, T re, T im) {
    return product == 0 ? re + im : product == 1 ? re : im;
  }
};
struct RightFactors {
  template <class T> static __device__ T of(int product, T re, T im) {
    return product == 0 ? re : product == 1 ? im - re : re + im;
  }
};

// Numbers of LANES tiles or filters from `first` on: elements of an operand [PRODUCTS, PLACES].
template <class Codelets, class Factors, int PLACES, class Z, class Rows, class Load>
__device__ void fourierToPoints(const Z &z, Rows &rows, int at, int first, const Load &load) {
  using T = typename Z::T;
  using F = Fourier<Z>;
  for (int e = threadIdx.x; e < Codelets::ROWS * Z::LANES; e += Z::THREADS) {
    int lane = e % Z::LANES, row = e / Z::LANES;
    T pixels[Codelets::COLUMNS], points[2 * F::HALF_W];
#pragma unroll
    for (int j = 0; j < Codelets::COLUMNS; ++j)
      pixels[j] = first + lane < PLACES ? load(first + lane, row, j) : T(0);
    Codelets::row(pixels, points);
#pragma unroll
    for (int i = 0; i < 2 * F::HALF_W; ++i)
      if (i < F::HALF_W || !F::isReal(i - F::HALF_W, Z::WIDE))
        rows.at[row][F::slot(i % F::HALF_W, i / F::HALF_W)][lane] = points[i];
  }
  __syncthreads();
  for (int e = threadIdx.x; e < (F::REAL + F::COMPLEX) * Z::LANES; e += Z::THREADS) {
    int lane = e % Z::LANES, column = e / Z::LANES, place = at + first + lane;
    if (first + lane >= PLACES)
      continue;
    auto store = [&](int product, int part, T re, T im) {
      z.partial[place + (product + part) * PLACES] = Factors::of(part, re, im);
    };
    if (column < F::REAL) {
      T numbers[Codelets::ROWS], points[2 * F::HALF_H];
#pragma unroll
      for (int i = 0; i < Codelets::ROWS; ++i)
        numbers[i] = rows.at[i][column][lane];
      Codelets::real(numbers, points);
#pragma unroll
      for (int k = 0; k < F::HALF_H; ++k)
        if (F::isReal(k, Z::HIGH))
          z.partial[place + F::ofReal(column, k) * PLACES] = points[k];
        else
#pragma unroll
          for (int part = 0; part < 3; ++part)
            store(F::ofReal(column, k), part, points[k], points[F::HALF_H + k]);
    } else {
      T numbers[2 * Codelets::ROWS], points[2 * Z::HIGH];
      int slot = 2 * (column - F::REAL + 1);
#pragma unroll
      for (int i = 0; i < 2 * Codelets::ROWS; ++i)
        numbers[i] = rows.at[i % Codelets::ROWS][slot + i / Codelets::ROWS][lane];
      Codelets::complex(numbers, points);
#pragma unroll
      for (int k = 0; k < Z::HIGH; ++k)
#pragma unroll
        for (int part = 0; part < 3; ++part)
          store(F::ofComplex(column - F::REAL, k), part, points[k], points[Z::HIGH + k]);
    }
  }
}

template <class Z> __device__ void fourierOperands(const Z &z) {
  using F = Fourier<Z>;
  constexpr int LEFT = Z::LEFT_ROWS * Z::LEFT_LANES, RIGHT = Z::RIGHT_ROWS * Z::RIGHT_LANES;
  static_assert(Z::K_PARTS == 1);
  SHARED(typename F::Rows, rows);
  if (blockIdx.x < Z::LEFT_BLOCKS)
    fourierToPoints<typename Z::Left, LeftFactors, LEFT>(
        z, rows, Z::LEFT_AT, blockIdx.x * Z::LANES, [&](int place, int i, int j) {
          return z.left(place / Z::LEFT_LANES, place % Z::LEFT_LANES, i, j);
        });
  else
    fourierToPoints<typename Z::Right, RightFactors, RIGHT>(
        z, rows, Z::RIGHT_AT, (blockIdx.x - Z::LEFT_BLOCKS) * Z::LANES,
        [&](int place, int i, int j) {
          return z.right(place / Z::RIGHT_LANES, place % Z::RIGHT_LANES, i, j);
        });
}

// Places [first, last) of the results, LANES at most.
template <class Z, class... Totals>
__device__ void storeResults(const Z &z, int first, int last, Totals &...totals) {
  using T = typename Z::T;
  using F = Fourier<Z>;
  using Result = typename Z::Result;
  constexpr int PLACES = Z::M * Z::N;
  constexpr T SCALE = T(1) / T(Z::HIGH * Z::WIDE);
  SHARED(typename F::Rows, rows);
  for (int e = threadIdx.x; e < (F::REAL + F::COMPLEX) * Z::LANES; e += Z::THREADS) {
    int lane = e % Z::LANES, column = e / Z::LANES;
    if (first + lane >= last)
      continue;
    // The parts of k in order.
    auto sum = [&](int product) {
      T v = T(0);
#pragma unroll
      for (int part = 0; part < Z::SPLIT; ++part)
        v += z.partial[(part * Z::PRODUCTS + product) * PLACES + first + lane];
      return v;
    };
    auto point = [&](int product, T &re, T &im) {
      T s = sum(product);
      im = s + sum(product + 1);
      re = s - sum(product + 2);
    };
    if (column < F::REAL) {
      T points[2 * F::HALF_H], numbers[Result::ROWS];
#pragma unroll
      for (int k = 0; k < F::HALF_H; ++k)
        if (F::isReal(k, Z::HIGH)) {
          points[k] = sum(F::ofReal(column, k));
          points[F::HALF_H + k] = T(0);
        } else {
          point(F::ofReal(column, k), points[k], points[F::HALF_H + k]);
        }
      Result::real(points, numbers);
#pragma unroll
      for (int i = 0; i < Result::ROWS; ++i)
        rows.at[i][column][lane] = numbers[i];
    } else {
      T points[2 * Z::HIGH], numbers[2 * Result::ROWS];
#pragma unroll
      for (int k = 0; k < Z::HIGH; ++k)
        point(F::ofComplex(column - F::REAL, k), points[k], points[Z::HIGH + k]);
      Result::complex(points, numbers);
      int slot = 2 * (column - F::REAL + 1);
#pragma unroll
      for (int i = 0; i < 2 * Result::ROWS; ++i)
        rows.at[i % Result::ROWS][slot + i / Result::ROWS][lane] = numbers[i];
    }
  }
  __syncthreads();
  for (int e = threadIdx.x; e < Result::ROWS * Z::LANES; e += Z::THREADS) {
    int lane = e % Z::LANES, row = e / Z::LANES, m = (first + lane) / Z::N,
        n = (first + lane) % Z::N;
    if (first + lane >= last || m >= Z::RESULT_M || n >= Z::RESULT_N)
      continue;
    T points[2 * F::HALF_W], pixels[Result::COLUMNS];
#pragma unroll
    for (int i = 0; i < 2 * F::HALF_W; ++i)
      points[i] = i >= F::HALF_W && F::isReal(i - F::HALF_W, Z::WIDE)
                      ? T(0)
                      : rows.at[row][F::slot(i % F::HALF_W, i / F::HALF_W)][lane];
    Result::row(points, pixels);
#pragma unroll
    for (int j = 0; j < Result::COLUMNS; ++j)
      z.result(m, n, row, j, SCALE * pixels[j], totals...);
  }
}

template <class Z> __device__ void fourierResults(const Z &z) {
  storeResults(z, blockIdx.x * Z::LANES, Z::M * Z::N);
}

template <class Z> __device__ void fourierResultsReduced(const Z &z) {
  static_assert(Z::PARTS == divideUp(Z::RESULT_N, Z::LANES) && Z::PARTS_THREADS == Z::THREADS);
  int m = blockIdx.x / Z::PARTS, first = m * Z::N + blockIdx.x % Z::PARTS * Z::LANES;
  typename Z::Totals v;
  v.clear();
  storeResults(z, first, m * Z::N + Z::RESULT_N, v);
  __syncthreads(); // what is merged may stand where rows stood
  leavePart(z, v, blockIdx.x);
}
