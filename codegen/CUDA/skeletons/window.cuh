// window: pooling of x [IMAGES, D, H, W] and its gradients. An image is one channel of one sample;
// axes that the model does not have are of size 1.
//
//   P::IMAGES, P::D, P::H, P::W     sizes; D, H, W are of type Axis
//   p.x(i, d, h, w)                 an element of the input; average backward: none
//   p.dy(i, o, p, q)                an element of the output's gradient; backward only
//   p.index(i, o, p, q)             the winner's tap; max backward and gather only
//   p.store(i, o, p, q, v[, tap])   finishes and stores an element of the result
//
// Gradients gather, each element from the windows that hold it: nothing is added in memory,
// so the order is the same always.

// Taps of output `out` that count in an average: those inside of the tensor, or of the tensor with
// its padding.
__device__ constexpr int countedTaps(const Axis &a, int out, bool padding) {
  int count = 0;
  for (int tap = 0; tap < a.kernel; ++tap) {
    int in = out * a.stride + tap * a.dilation - a.low;
    count += padding ? in < a.in + a.high : in >= 0 && in < a.in;
  }
  return count;
}

template <class T> struct Winner {
  T value;
  int tap;
};

// The first largest element of the window, NaN before all; without an element inside: -infinity,
// tap 0.
template <class P> __device__ auto maxPool(const P &p, int i, int o, int y, int x) {
  using T = typename P::T;
  Winner<T> best{-T(infinity()), -1};
  for (int t = 0; t < P::D.kernel; ++t)
    for (int r = 0; r < P::H.kernel; ++r)
      for (int s = 0; s < P::W.kernel; ++s) {
        int d = inputAt(P::D, o, t), h = inputAt(P::H, y, r), w = inputAt(P::W, x, s);
        if (d < 0 || h < 0 || w < 0)
          continue;
        T v = p.x(i, d, h, w);
        if (best.tap < 0 || v > best.value || (v != v && best.value == best.value))
          best = {v, (t * P::H.kernel + r) * P::W.kernel + s};
      }
  return Winner<T>{best.value, best.tap < 0 ? 0 : best.tap};
}

// Calls f(o, y, x, tap) for each window that holds an element, by rising tap.
template <class P, class F> __device__ void eachWindow(int d, int h, int w, const F &f) {
  for (int i = 0; i < windowsHolding(P::D); ++i)
    for (int j = 0; j < windowsHolding(P::H); ++j)
      for (int k = 0; k < windowsHolding(P::W); ++k) {
        Window t = windowHolding(P::D, d, i), r = windowHolding(P::H, h, j),
               s = windowHolding(P::W, w, k);
        if (t.out >= 0 && r.out >= 0 && s.out >= 0)
          f(t.out, r.out, s.out, (t.tap * P::H.kernel + r.tap) * P::W.kernel + s.tap);
      }
}

template <class P> __device__ auto maxPoolBackward(const P &p, int i, int d, int h, int w) {
  typename P::T sum = 0;
  eachWindow<P>(d, h, w, [&](int o, int y, int x, int tap) {
    // Loaded whether it is wanted or not: that waits for nothing.
    typename P::T dy = p.dy(i, o, y, x);
    if (p.index(i, o, y, x) == tap)
      sum += dy;
  });
  return sum;
}

template <class P> __device__ auto maxPoolGather(const P &p, int i, int o, int y, int x) {
  int tap = p.index(i, o, y, x);
  int d = inputAt(P::D, o, tap / (P::H.kernel * P::W.kernel));
  int h = inputAt(P::H, y, tap / P::W.kernel % P::H.kernel),
      w = inputAt(P::W, x, tap % P::W.kernel);
  return d >= 0 && h >= 0 && w >= 0 ? p.x(i, d, h, w) : typename P::T(0);
}

template <class P> __device__ auto countOf(int o, int y, int x) {
  return typename P::T(countedTaps(P::D, o, P::COUNT_PADDING) *
                       countedTaps(P::H, y, P::COUNT_PADDING) *
                       countedTaps(P::W, x, P::COUNT_PADDING));
}

template <class P> __device__ auto averagePool(const P &p, int i, int o, int y, int x) {
  typename P::T sum = 0;
  for (int t = 0; t < P::D.kernel; ++t)
    for (int r = 0; r < P::H.kernel; ++r)
      for (int s = 0; s < P::W.kernel; ++s) {
        int d = inputAt(P::D, o, t), h = inputAt(P::H, y, r), w = inputAt(P::W, x, s);
        if (d >= 0 && h >= 0 && w >= 0)
          sum += p.x(i, d, h, w);
      }
  return sum / countOf<P>(o, y, x);
}

template <class P> __device__ auto averagePoolBackward(const P &p, int i, int d, int h, int w) {
  typename P::T sum = 0;
  eachWindow<P>(d, h, w,
                [&](int o, int y, int x, int) { sum += p.dy(i, o, y, x) / countOf<P>(o, y, x); });
  return sum;
}

// The kernel: p.element(i, d, h, w) computes one element of [IMAGES, SIZE_D, SIZE_H, SIZE_W] and
// stores it; a thread takes PER_THREAD of them, THREADS apart. They are numbered as they lie in
// memory: INNER images, the channels where these are innermost and else 1, lie beside each other at
// each pixel.
template <class P> __device__ void window(const P &p) {
  int first = blockIdx.x * P::THREADS * P::PER_THREAD + threadIdx.x;
#pragma unroll
  for (int i = 0; i < P::PER_THREAD; ++i) {
    int e = first + i * P::THREADS;
    if (e >= P::ELEMENTS)
      return;
    int pixel = e / P::INNER;
    int w = pixel % P::SIZE_W, h = pixel / P::SIZE_W % P::SIZE_H,
        d = pixel / (P::SIZE_W * P::SIZE_H) % P::SIZE_D;
    p.element(pixel / (P::SIZE_W * P::SIZE_H * P::SIZE_D) * P::INNER + e % P::INNER, d, h, w);
  }
}
