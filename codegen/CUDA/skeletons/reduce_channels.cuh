// reduce_channels: y[k] = x[0, k] op x[1, k] op ... op x[REDUCED - 1, k], where neighbours along k
// are neighbours in memory; for all reductions of the kernel in one walk.
//
//   P::KEPT, REDUCED, PARTS, Totals, p.add(v, k, r), p.partial, p.store(k, v)     as in reduce_rows
//
// A block takes 32 channels, or a part of their rows, a warp every WARPS-th row of it: each load of
// a warp is one line of memory. The warps' values meet in shared memory, in the order of the warps.
template <class P> __device__ void reduceChannels(const P &p) {
  constexpr int WARPS = P::THREADS / 32, PART = divideUp(P::REDUCED, P::PARTS);
  struct Partials {
    typename P::Totals value[WARPS][32];
  };
  SHARED(Partials, shared);
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  int k = blockIdx.x / P::PARTS * 32 + lane, part = blockIdx.x % P::PARTS;
  int first = part * PART, last = first + PART < P::REDUCED ? first + PART : P::REDUCED;
  if (k < P::KEPT) {
    typename P::Totals v;
    v.clear();
#pragma unroll 4
    for (int r = first + warp; r < last; r += WARPS)
      p.add(v, k, r);
    v.finish();
    shared.value[warp][lane] = v;
  }
  __syncthreads();
  if (warp != 0 || k >= P::KEPT)
    return;
  auto v = shared.value[0][lane];
  for (int w = 1; w < WARPS; ++w)
    v.merge(shared.value[w][lane]);
  if constexpr (P::PARTS > 1)
    v.template save<P::KEPT * P::PARTS>(p.partial, k * P::PARTS + part);
  else
    p.store(k, v);
}
