// scatter_elements: sums of what has one number, each by a thread of its own, which looks at all
// numbers: they stay in the cache, a value is read once, and no two threads write to one place.
//
//   P::COUNT           numbers
//   p.number(j)        which part of the result value j is added to
//   p.values(b, j, k)
template <class P> __device__ auto scatterElement(const P &p, int b, int n, int k) {
  typename P::T sum = 0;
  for (int j = 0; j < P::COUNT; ++j)
    if (p.number(j) == n)
      sum += p.values(b, j, k);
  return sum;
}
