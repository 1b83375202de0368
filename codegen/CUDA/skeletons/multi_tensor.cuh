// multi_tensor: one element-wise function over many tensors at once, the optimizer's update; and
// what it adds up over each tensor.
//
//   Tensor i lies at the same place in the flat buffers of all streams. What lies between tensors
//   is not touched. A block takes one piece of the table, elements offset .. offset + size - 1 of
//   one tensor, offset a multiple of 4. Where there is no element, there is a block all the same,
//   and a piece of size 0.
//
//   P::THREADS, SUMS            of a block; values that are added up
//   P::Total                    float or double: what they are added up in
//   p.piece(row, column)        columns: tensor, offset, size, and the number of its first
//                               element in the tensor
//   p.given(tensor, start)      scalars and what belongs to the tensor, loaded once; start: where
//                               it begins in the flat buffers
//   p.four(i, given, sums)      updates elements i to i + 3 of the flat buffers, adds to sums
//   p.one(i, given, sums)       updates element i
//   p.partial                   workspace [blocks, SUMS], if there are sums
//   p.first(tensor)             the first piece of each, and behind the last
//   p.total(sum, tensor, v)     stores a sum
//
// A thread adds up every THREADS-th four of its piece, a warp its lanes, the first thread the
// warps; then a warp the pieces of a tensor: the order is the same always.
template <class P> struct PieceSums {
  typename P::Total v[P::SUMS > 0 ? P::SUMS : 1];
};

template <class P> __device__ void multiTensor(const P &p) {
  struct Warps {
    PieceSums<P> value[P::THREADS / 32];
  };
  int row = blockIdx.x, offset = p.piece(row, 1), size = p.piece(row, 2);
  const auto given = p.given(p.piece(row, 0), offset - p.piece(row, 3));
  PieceSums<P> sums = {};
  for (int i = threadIdx.x * 4; i < size; i += P::THREADS * 4) {
    if (i + 4 <= size)
      p.four(offset + i, given, sums);
    else
      for (int tail = i; tail < size; ++tail)
        p.one(offset + tail, given, sums);
  }
  if constexpr (P::SUMS > 0) {
    SHARED(Warps, shared);
    for (int s = 0; s < P::SUMS; ++s)
      sums.v[s] = combineWarp<Sum>(sums.v[s]);
    if (threadIdx.x % 32 == 0)
      shared.value[threadIdx.x / 32] = sums;
    __syncthreads();
    if (threadIdx.x == 0)
      for (int s = 0; s < P::SUMS; ++s) {
        typename P::Total total = shared.value[0].v[s];
        for (int w = 1; w < P::THREADS / 32; ++w)
          total += shared.value[w].v[s];
        p.partial[row * P::SUMS + s] = total;
      }
  }
}

// The second phase: a block of one warp adds up the pieces of one tensor.
template <class P> __device__ void multiTensorTotals(const P &p) {
  int tensor = blockIdx.x, lane = threadIdx.x;
  int first = p.first(tensor), last = p.first(tensor + 1);
  for (int s = 0; s < P::SUMS; ++s) {
    typename P::Total total = 0;
    for (int piece = first + lane; piece < last; piece += 32)
      total += p.partial[piece * P::SUMS + s];
    total = combineWarp<Sum>(total);
    if (lane == 0)
      p.total(s, tensor, total);
  }
}
