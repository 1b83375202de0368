// reduce_channels: y[k] = x[0, k] op x[1, k] op ... op x[REDUCED - 1, k], where neighbours along k
// are neighbours in memory; for all reductions of the kernel in one walk.
//
//   P::KEPT, REDUCED, PARTS, Totals, p.add(v, k, r), p.partial, p.store(k, v)     as in reduce_rows
//   P::LANES             threads that take a row's channels, a power of two
//   P::QUADS             a thread takes four neighbours along k
//
// A block takes channels of up to 32 threads, or a part of their rows, and as many rows at a time
// as its threads make: each load of a warp is whole lines of memory. The rows' values meet in
// shared memory, in the order of the rows.
template <class P> __device__ void reduceChannels(const P &p) {
  constexpr int WIDTH = P::QUADS ? 4 : 1, LANES = P::LANES, ROWS = P::THREADS / LANES;
  constexpr int PART = divideUp(P::REDUCED, P::PARTS);
  struct Partials {
    typename P::Totals value[ROWS][LANES * WIDTH];
  };
  SHARED(Partials, shared);
  int row = threadIdx.x / LANES, lane = threadIdx.x % LANES;
  int first = blockIdx.x / P::PARTS * LANES * WIDTH, k = first + lane * WIDTH;
  int part = blockIdx.x % P::PARTS;
  int begin = part * PART, end = begin + PART < P::REDUCED ? begin + PART : P::REDUCED;
  if (k < P::KEPT) {
    typename P::Totals v[WIDTH];
#pragma unroll
    for (int i = 0; i < WIDTH; ++i)
      v[i].clear();
#pragma unroll 4
    for (int r = begin + row; r < end; r += ROWS) {
      if constexpr (P::QUADS)
        p.add(v, k, r);
      else
        p.add(v[0], k, r);
    }
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) {
      v[i].finish();
      shared.value[row][lane * WIDTH + i] = v[i];
    }
  }
  __syncthreads();
  int own = threadIdx.x;
  if (own >= LANES * WIDTH || first + own >= P::KEPT)
    return;
  auto v = shared.value[0][own];
  for (int other = 1; other < ROWS; ++other)
    v.merge(shared.value[other][own]);
  if constexpr (P::PARTS > 1)
    v.template save<P::KEPT * P::PARTS>(p.partial, (first + own) * P::PARTS + part);
  else
    p.store(first + own, v);
}
