// convolution_elements: single elements of what convolution computes by the block, as the
// definition says. For kernels that need the anchor's value at other places than its own: right,
// and slow.

template <class S>
__device__ auto convolutionElement(const S &s, int n, int f, int o, int p, int q) {
  using Z = Forward<S>;
  return productElement(Z{{s}}, f / Z::GF, f % Z::GF,
                        n * Z::OUT + o * Z::OUT_HW + p * S::W.out + q);
}
template <class S>
__device__ auto convolutionBackwardDataElement(const S &s, int n, int c, int d, int h, int w) {
  using Z = BackwardData<S>;
  return productElement(Z{{s}}, c / Z::GC, c % Z::GC, n * Z::IN + d * Z::IN_HW + h * S::W.in + w);
}
template <class S>
__device__ auto convolutionBackwardFilterElement(const S &s, int f, int c, int t, int r, int q) {
  using Z = BackwardFilter<S>;
  return productElement(Z{{s}}, f / Z::GF, f % Z::GF,
                        c * Z::TAPS + t * Z::TAPS_HW + r * S::W.kernel + q);
}
