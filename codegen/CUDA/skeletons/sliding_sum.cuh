// sliding_sum: sums of neighbours along the middle axis of x [OUTER, EXTENT, INNER].
//
//   P::OUTER, EXTENT, INNER, P::BEFORE, AFTER    sizes, and the neighbours on each side
//   P::PIECE, PIECES                             elements of the axis that a thread takes
//   P::THREADS                                   of a block
//   p.x(o, c, i)                                 an element, computed
//   p.store(o, c, i, v)                          finishes and stores an element of the result
//
// A thread goes along the axis with the elements of one sum in registers, so each is computed once
// a piece. Sums are added up in the order of the axis, whatever the pieces.
template <class P> __device__ typename P::T elementOrZero(const P &p, int o, int c, int i) {
  return c >= 0 && c < P::EXTENT ? typename P::T(p.x(o, c, i)) : typename P::T(0);
}

template <class P> __device__ void slidingSum(const P &p) {
  using T = typename P::T;
  constexpr int SIZE = P::BEFORE + P::AFTER + 1;
  int e = blockIdx.x * P::THREADS + threadIdx.x;
  if (e >= P::OUTER * P::PIECES * P::INNER)
    return;
  int i = e % P::INNER, first = e / P::INNER % P::PIECES * P::PIECE, o = e / (P::INNER * P::PIECES);
  T near[SIZE];
#pragma unroll
  for (int t = 1; t < SIZE; ++t)
    near[t] = elementOrZero(p, o, first - P::BEFORE + t - 1, i);
  for (int c = first; c < minimum(first + P::PIECE, P::EXTENT); ++c) {
#pragma unroll
    for (int t = 1; t < SIZE; ++t)
      near[t - 1] = near[t];
    near[SIZE - 1] = elementOrZero(p, o, c + P::AFTER, i);
    T sum = 0;
#pragma unroll
    for (int t = 0; t < SIZE; ++t)
      sum += near[t];
    p.store(o, c, i, sum);
  }
}
