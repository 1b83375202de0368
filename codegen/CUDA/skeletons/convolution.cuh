// convolution: direct, in three directions, each as the product of gemm.cuh with operands that are
// never laid out in memory.
//
//   x [N, C, D, H, W], w [F, C / G, T, R, S], y [N, F, O, P, Q]
//   y[n, f, o, p, q] = sum over c, t, r, s of
//                      x[n, c, o * stride + t * dilation - low, ...] * w[f, c, t, r, s]
//   Axes that the model does not have are of size 1.
//
//   S::IMAGES, CHANNELS, FILTERS, GROUPS    N, C, F, G
//   S::D, H, W                              of type Axis, see window.cuh
//   p.x(n, c, d, h, w), p.w(f, c, t, r, s), p.y(n, f, o, p, q)
//                                           the operands; y is the gradient in the backward ones
//   p.finish(...)                           finishes and stores an element; indices as above; and
//                                           adds it to its channel's totals, if they come with it
template <class S> struct ConvolutionSizes : S {
  static constexpr int BATCH = S::GROUPS, GC = S::CHANNELS / S::GROUPS, GF = S::FILTERS / S::GROUPS;
  static constexpr int TAPS_HW = S::H.kernel * S::W.kernel, TAPS = S::D.kernel * TAPS_HW;
  static constexpr int IN_HW = S::H.in * S::W.in, IN = S::D.in * IN_HW;
  static constexpr int OUT_HW = S::H.out * S::W.out, OUT = S::D.out * OUT_HW;
};

// Y[f, (n o p q)] = W[f, (c t r s)] * X[(c t r s), (n o p q)]
template <class S> struct Forward : ConvolutionSizes<S> {
  using Z = ConvolutionSizes<S>;
  using T = typename S::T;
  static constexpr int M = Z::GF, N = S::IMAGES * Z::OUT, K = Z::GC * Z::TAPS;
  static constexpr bool A_ALONG_K = true, B_ALONG_K = false, A_QUADS = false, B_QUADS = false;

  __device__ T a(int g, int f, int k) const {
    return this->w(g * Z::GF + f, k / Z::TAPS, k / Z::TAPS_HW % S::D.kernel,
                   k / S::W.kernel % S::H.kernel, k % S::W.kernel);
  }
  __device__ T b(int g, int k, int n) const {
    int d = inputAt(S::D, n / Z::OUT_HW % S::D.out, k / Z::TAPS_HW % S::D.kernel);
    int h = inputAt(S::H, n / S::W.out % S::H.out, k / S::W.kernel % S::H.kernel);
    int w = inputAt(S::W, n % S::W.out, k % S::W.kernel);
    return d >= 0 && h >= 0 && w >= 0 ? this->x(n / Z::OUT, g * Z::GC + k / Z::TAPS, d, h, w)
                                      : T(0);
  }
  template <class... Totals>
  __device__ void store(int g, int f, int n, T v, Totals &...totals) const {
    this->finish(n / Z::OUT, g * Z::GF + f, n / Z::OUT_HW % S::D.out, n / S::W.out % S::H.out,
                 n % S::W.out, v, totals...);
  }
};

// DX[c, (n d h w)] = W[c, (f t r s)] * DY[(f t r s), (n d h w)]
template <class S> struct BackwardData : ConvolutionSizes<S> {
  using Z = ConvolutionSizes<S>;
  using T = typename S::T;
  static constexpr int M = Z::GC, N = S::IMAGES * Z::IN, K = Z::GF * Z::TAPS;
  static constexpr bool A_ALONG_K = true, B_ALONG_K = false, A_QUADS = false, B_QUADS = false;

  __device__ T a(int g, int c, int k) const {
    return this->w(g * Z::GF + k / Z::TAPS, c, k / Z::TAPS_HW % S::D.kernel,
                   k / S::W.kernel % S::H.kernel, k % S::W.kernel);
  }
  __device__ T b(int g, int k, int n) const {
    int o = outputAt(S::D, n / Z::IN_HW % S::D.in, k / Z::TAPS_HW % S::D.kernel);
    int y = outputAt(S::H, n / S::W.in % S::H.in, k / S::W.kernel % S::H.kernel);
    int x = outputAt(S::W, n % S::W.in, k % S::W.kernel);
    return o >= 0 && y >= 0 && x >= 0 ? this->y(n / Z::IN, g * Z::GF + k / Z::TAPS, o, y, x) : T(0);
  }
  template <class... Totals>
  __device__ void store(int g, int c, int n, T v, Totals &...totals) const {
    this->finish(n / Z::IN, g * Z::GC + c, n / Z::IN_HW % S::D.in, n / S::W.in % S::H.in,
                 n % S::W.in, v, totals...);
  }
};

// DW[f, (c t r s)] = DY[f, (n o p q)] * X[(n o p q), (c t r s)]
template <class S> struct BackwardFilter : ConvolutionSizes<S> {
  using Z = ConvolutionSizes<S>;
  using T = typename S::T;
  static constexpr int M = Z::GF, N = Z::GC * Z::TAPS, K = S::IMAGES * Z::OUT;
  static constexpr bool A_ALONG_K = true, B_ALONG_K = true, A_QUADS = false, B_QUADS = false;

  __device__ T a(int g, int f, int k) const {
    return this->y(k / Z::OUT, g * Z::GF + f, k / Z::OUT_HW % S::D.out, k / S::W.out % S::H.out,
                   k % S::W.out);
  }
  __device__ T b(int g, int k, int n) const {
    int d = inputAt(S::D, k / Z::OUT_HW % S::D.out, n / Z::TAPS_HW % S::D.kernel);
    int h = inputAt(S::H, k / S::W.out % S::H.out, n / S::W.kernel % S::H.kernel);
    int w = inputAt(S::W, k % S::W.out, n % S::W.kernel);
    return d >= 0 && h >= 0 && w >= 0 ? this->x(k / Z::OUT, g * Z::GC + n / Z::TAPS, d, h, w)
                                      : T(0);
  }
  __device__ void store(int g, int f, int n, T v) const {
    this->finish(g * Z::GF + f, n / Z::TAPS, n / Z::TAPS_HW % S::D.kernel,
                 n / S::W.kernel % S::H.kernel, n % S::W.kernel, v);
  }
};
