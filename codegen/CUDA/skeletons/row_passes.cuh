// row_passes: softmax, norms, losses, their gradients: what needs all of a row first. A block, or
// where rows are short a warp, takes a row and passes over it several times, while it is in the
// cache.
//
//   P::COUNT, LENGTH       rows, elements of a row
//   P::THREADS             of a row; a warp's if a block takes several
//   P::ROWS                of a block
//   P::Row                 what the row's reductions give, passes before the running one
//   p.passes(row, k)       all passes over row k: calls the two functions below, in order
//   p.storeRow(row, k)     stores what is one element a row
//
// reducePass: all reductions of one pass, and what is stored on the way
//   Totals                 as in reductions
//   p.add(v, row, k, r)    adds element r of row k
//   p.keep(v, row)         puts the totals' results into the row
// storePass: a pass that only stores
//   p.store(row, k, r)     element r of row k
//
// A thread takes every THREADS-th element, as in reduce_rows. Every thread has the row's values.
template <class P> __device__ int threadOfRow() { return threadIdx.x % P::THREADS; }

template <class P> __device__ void syncRow() {
  if constexpr (P::THREADS > 32)
    __syncthreads();
  else
    __syncwarp();
}

// Merges v over the row's threads; the first of them gets the result.
template <class P, class Totals> __device__ Totals mergeRow(Totals v) {
  if constexpr (P::THREADS > 32)
    return mergeBlock<P::THREADS>(v);
  else
    return mergeWarp(v);
}

template <class Totals, class P>
__device__ void reducePass(const P &p, typename P::Row &row, int k) {
  struct Kept {
    typename P::Row row[P::ROWS];
  };
  SHARED(Kept, shared);
  const int own = threadIdx.x / P::THREADS;
  Totals v;
  v.clear();
#pragma unroll 4
  for (int r = threadOfRow<P>(); r < P::LENGTH; r += P::THREADS)
    p.add(v, row, k, r);
  v.finish();
  v = mergeRow<P>(v);
  if (threadOfRow<P>() == 0) {
    p.keep(v, row);
    shared.row[own] = row;
  }
  syncRow<P>();
  row = shared.row[own];
  syncRow<P>(); // the next pass writes there
}

template <class P> __device__ void storePass(const P &p, const typename P::Row &row, int k) {
#pragma unroll 4
  for (int r = threadOfRow<P>(); r < P::LENGTH; r += P::THREADS)
    p.store(row, k, r);
}

template <class P> __device__ void rowPasses(const P &p) {
  int k = blockIdx.x * P::ROWS + threadIdx.x / P::THREADS;
  if (k >= P::COUNT) // all threads of the row
    return;
  typename P::Row row;
  p.passes(row, k);
  syncRow<P>(); // a row's result may lie where others have read
  if (threadOfRow<P>() == 0)
    p.storeRow(row, k);
}
