// reduce_parts: the second phase of reductions whose results several blocks have computed parts of.
//
//   P::KEPT, PARTS, Totals, p.partial [values of Totals, KEPT, PARTS], p.store(k, v)
//                                                                     as in reduce_rows
//   P::PARTS_THREADS                                                  of a block
//
// A warp combines the parts of one result: a lane every 32nd, then the lanes, in the same order
// always.
template <class P> __device__ void reduceParts(const P &p) {
  int k = blockIdx.x * (P::PARTS_THREADS / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (k >= P::KEPT)
    return;
  typename P::Totals v;
  v.clear();
  v.finish();
#pragma unroll 4
  for (int part = lane; part < P::PARTS; part += 32) {
    typename P::Totals next;
    next.template load<P::KEPT * P::PARTS>(p.partial, k * P::PARTS + part);
    v.merge(next);
  }
  v = mergeWarp(v);
  if (lane == 0)
    p.store(k, v);
}
