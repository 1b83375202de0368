// reduce_elements: single elements of what reductions compute by the block, as the definition says:
// P::Totals and p.add(v, k, r) as in reduce_rows. For kernels that need the anchor's value at other
// places than its own: right, and slow.

template <class P> __device__ auto reduceElement(const P &p, int k) {
  typename P::Totals v;
  v.clear();
  for (int r = 0; r < P::REDUCED; ++r)
    p.add(v, k, r);
  v.finish();
  return v;
}
