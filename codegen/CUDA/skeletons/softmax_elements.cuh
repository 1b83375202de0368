// softmax_elements: single elements of what softmax computes by the block, as the definition says.
// For kernels that need the anchor's value at other places than its own: right, and slow.

// A row of softmax on one thread.
template <class P> __device__ Row<P> rowElement(const P &p, int row) {
  using T = typename P::T;
  T largest = -T(infinity()), sum = 0;
  for (int c = 0; c < P::CLASSES; ++c)
    largest = maximum(largest, T(p.x(row, c)));
  for (int c = 0; c < P::CLASSES; ++c)
    sum += exponential(p.x(row, c) - largest);
  return {largest, sum};
}
template <class P> __device__ auto crossEntropyElement(const P &p, int row) {
  Row<P> r = rowElement(p, row);
  auto label = p.label(row);
  return label >= 0 && label < P::CLASSES ? logarithm(r.sum) + (r.largest - p.x(row, int(label)))
                                          : typename P::T(0);
}
template <class P> __device__ auto crossEntropyBackwardElement(const P &p, int row, int c) {
  using T = typename P::T;
  Row<P> r = rowElement(p, row);
  auto label = p.label(row);
  T probability = exponential(p.x(row, c) - r.largest) / r.sum;
  return label >= 0 && label < P::CLASSES ? p.dloss(row) * (probability - T(c == label)) : T(0);
}
template <class P> __device__ auto accuracyElement(const P &p, int row) {
  int winner = 0;
  for (int c = 0; c < P::CLASSES; ++c)
    if (p.x(row, c) > p.x(row, winner))
      winner = c;
  return typename P::T(winner == p.label(row));
}
