// reduce_parts: the second phase of reductions whose results several blocks have computed parts of.
//
//   P::KEPT, PARTS, Totals, p.store(k, v)                     as in reduce_rows
//   p.partial [values of Totals, KEPT, PARTS]                 from PARTS_AT on
//   P::PARTS_THREADS                                          of a block
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
    next.template load<P::KEPT * P::PARTS>(p.partial, P::PARTS_AT + k * P::PARTS + part);
    v.merge(next);
  }
  v = mergeWarp(v);
  if (lane == 0)
    p.store(k, v);
}

// Before it: leaves part number `at`, counted through all results, of a block of PARTS_THREADS, of
// which each has combined some elements to v.
template <class P> __device__ void leavePart(const P &p, typename P::Totals v, int at) {
  v.finish();
  v = mergeBlock<P::PARTS_THREADS>(v);
  if (threadIdx.x == 0)
    v.template save<P::KEPT * P::PARTS>(p.partial, P::PARTS_AT + at);
}
