// winograd: convolution by minimal filtering: the transforms of tiles.cuh are small matrices,
// applied along H and W by one thread to its tile.
//
//   S::Left, Right, Result     high(from, to), wide(from, to), and their sizes

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

// Points of one tile or filter: row `e / LANES` of an operand, lane `e % LANES`.
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
      z.partial[place + Z::template placeOf<ROWS, LANES>(i * Transform::COLUMNS + j, e / LANES,
                                                         e % LANES)] = to[i][j];
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

template <class Z, class... Totals>
__device__ void storeResult(const Z &z, int m, int n, Totals &...totals) {
  using Result = typename Z::Result;
  typename Z::T from[Result::ROWS_IN][Result::COLUMNS_IN] = {}, to[Result::ROWS][Result::COLUMNS];
#pragma unroll 1
  for (int part = 0; part < Z::SPLIT; ++part)
#pragma unroll
    for (int i = 0; i < Result::ROWS_IN; ++i)
#pragma unroll
      for (int j = 0; j < Result::COLUMNS_IN; ++j) {
        int point = part * Z::PRODUCTS + i * Result::COLUMNS_IN + j;
        from[i][j] += z.partial[(point * Z::M + m) * Z::N + n];
      }
  transformTile<Result>(from, to);
#pragma unroll
  for (int i = 0; i < Result::ROWS; ++i)
#pragma unroll
    for (int j = 0; j < Result::COLUMNS; ++j)
      z.result(m, n, i, j, to[i][j], totals...);
}

template <class Z> __device__ void winogradResults(const Z &z) {
  eachResult(z, [&](int m, int n) { storeResult(z, m, n); });
}

template <class Z> __device__ void winogradResultsReduced(const Z &z) {
  eachResultReduced(
      z, [&](int m, int n, typename Z::Totals &totals) { storeResult(z, m, n, totals); });
}
