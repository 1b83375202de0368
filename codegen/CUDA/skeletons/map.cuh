// map: y[i] = f(x[i], ...), element by element over one index space.
//
//   P::ELEMENTS    elements of the space
//   P::QUADS       a thread takes four neighbours with one access to each operand, else one element
//   p.four(i)      computes and stores elements i to i + 3, i a multiple of 4
//   p.one(i)       computes and stores element i
template <class P> __device__ void map(const P &p) {
  constexpr int WIDTH = P::QUADS ? 4 : 1;
  int i = (blockIdx.x * P::THREADS + threadIdx.x) * WIDTH;
  if constexpr (P::QUADS) {
    if (i + 4 <= P::ELEMENTS) {
      p.four(i);
      return;
    }
  }
  for (int last = i + WIDTH < P::ELEMENTS ? i + WIDTH : P::ELEMENTS; i < last; ++i)
    p.one(i);
}
