// product_elements: single elements of what gemm computes by the block, as the definition says. For
// kernels that need the anchor's value at other places than its own: right, and slow.

template <class P> __device__ auto productElement(const P &p, int b, int m, int n) {
  typename P::T sum = 0;
  for (int k = 0; k < P::K; ++k)
    sum += p.a(b, m, k) * p.b(b, k, n);
  return sum;
}
