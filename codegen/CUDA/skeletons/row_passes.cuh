// row_passes: softmax, norms, their gradients: what needs all of a row first. A block takes a row
// and passes over it several times, while it is in the cache.
//
//   P::LENGTH              elements of a row
//   P::THREADS             of a block
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
template <class Totals, class P>
__device__ void reducePass(const P &p, typename P::Row &row, int k) {
  struct Kept {
    typename P::Row row;
  };
  SHARED(Kept, shared);
  Totals v;
  v.clear();
#pragma unroll 4
  for (int r = threadIdx.x; r < P::LENGTH; r += P::THREADS)
    p.add(v, row, k, r);
  v.finish();
  v = mergeBlock<P>(v, P::THREADS / 32);
  if (threadIdx.x == 0) {
    p.keep(v, row);
    shared.row = row;
  }
  __syncthreads();
  row = shared.row;
  __syncthreads(); // the next pass writes there
}

template <class P> __device__ void storePass(const P &p, const typename P::Row &row, int k) {
#pragma unroll 4
  for (int r = threadIdx.x; r < P::LENGTH; r += P::THREADS)
    p.store(row, k, r);
}

template <class P> __device__ void rowPasses(const P &p) {
  int k = blockIdx.x;
  typename P::Row row;
  p.passes(row, k);
  __syncthreads(); // a row's result may lie where others have read
  if (threadIdx.x == 0)
    p.storeRow(row, k);
}
