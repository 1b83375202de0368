// reduce_rows: y[k] = x[k, 0] op x[k, 1] op ... op x[k, REDUCED - 1], where neighbours along r are
// neighbours in memory.
//
//   P::KEPT, REDUCED     sizes
//   P::THREADS           of a block
//   P::PARTS             blocks that share a row, where there are few rows; each writes a part
//   P::Op, T             how to combine: Sum, Max, Min; and the type of it
//   p.x(k, r)            one element
//   p.partial            workspace [KEPT, PARTS], if PARTS > 1, for reduce_parts
//   p.store(k, v)        finishes and stores a row's value
//
// A thread combines every THREADS-th element, a warp its lanes, the first warp the warps: the order
// is the same always.

// Combines v over the block's threads; thread 0 gets the result.
template <class P> __device__ typename P::T combineBlock(typename P::T v, int warps) {
  using T = typename P::T;
  struct Warps {
    T value[P::THREADS / 32];
  };
  SHARED(Warps, shared);
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  v = combineWarp<typename P::Op>(v);
  if (lane == 0)
    shared.value[warp] = v;
  __syncthreads();
  if (threadIdx.x == 0)
    for (int w = 1; w < warps; ++w)
      v = P::Op::combine(v, shared.value[w]);
  return v;
}

// This thread's share of elements [first, last) of row k. Max and min begin with the first one,
// which its thread then meets again.
template <class P> __device__ typename P::T combineRange(const P &p, int k, int first, int last) {
  using T = typename P::T;
  T v = P::IS_SUM ? T(0) : p.x(k, first);
#pragma unroll 4
  for (int r = first + threadIdx.x; r < last; r += P::THREADS)
    v = P::Op::combine(v, p.x(k, r));
  return v;
}

template <class P> __device__ void reduceRows(const P &p) {
  int k = blockIdx.x / P::PARTS, part = blockIdx.x % P::PARTS;
  constexpr int PART = divideUp(P::REDUCED, P::PARTS);
  int first = part * PART, last = first + PART < P::REDUCED ? first + PART : P::REDUCED;
  auto v = combineRange(p, k, first, last);
  v = combineBlock<P>(v, P::THREADS / 32);
  if (threadIdx.x != 0)
    return;
  if constexpr (P::PARTS > 1)
    p.partial[blockIdx.x] = v;
  else
    p.store(k, v);
}
