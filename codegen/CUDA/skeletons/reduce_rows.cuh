// reduce_rows: y[k] = x[k, 0] op x[k, 1] op ... op x[k, REDUCED - 1], where neighbours along r are
// neighbours in memory; for all reductions of the kernel in one walk.
//
//   P::KEPT, REDUCED     sizes
//   P::THREADS           of a block
//   P::PARTS             blocks that share a row, where there are few rows; each writes a part
//   P::Totals, p.add(v, k, r), p.store(k, v)     see reductions
//   p.partial            workspace [values of Totals, KEPT, PARTS], if PARTS > 1, for reduce_parts
//
// A thread combines every THREADS-th element, a warp its lanes, the first warp the warps: the order
// is the same always.

// This thread's share of elements [first, last) of row k.
template <class P>
__device__ typename P::Totals combineRange(const P &p, int k, int first, int last) {
  typename P::Totals v;
  v.clear();
#pragma unroll 4
  for (int r = first + threadIdx.x; r < last; r += P::THREADS)
    p.add(v, k, r);
  v.finish();
  return v;
}

template <class P> __device__ void reduceRows(const P &p) {
  int k = blockIdx.x / P::PARTS, part = blockIdx.x % P::PARTS;
  constexpr int PART = divideUp(P::REDUCED, P::PARTS);
  int first = part * PART, last = first + PART < P::REDUCED ? first + PART : P::REDUCED;
  auto v = combineRange(p, k, first, last);
  v = mergeBlock<P::THREADS>(v);
  if (threadIdx.x != 0)
    return;
  if constexpr (P::PARTS > 1)
    v.template save<P::KEPT * P::PARTS>(p.partial, blockIdx.x);
  else
    p.store(k, v);
}
