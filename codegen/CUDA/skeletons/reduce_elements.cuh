// reduce_elements: single elements of what a reduction computes by the block, as the definition
// says. For kernels that need the anchor's value at other places than its own: right, and slow.

template <class P> __device__ auto reduceElement(const P &p, int k) {
  typename P::T v = P::IS_SUM ? typename P::T(0) : p.x(k, 0);
  for (int r = 0; r < P::REDUCED; ++r)
    v = P::Op::combine(v, p.x(k, r));
  return v;
}
