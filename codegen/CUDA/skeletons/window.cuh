// window: pooling of x [IMAGES, D, H, W] and its gradients. An image is one channel of one sample;
// axes that the model does not have are of size 1.
//
//   P::IMAGES, P::D, P::H, P::W     sizes; D, H, W are of type Axis
//   P::LANES                        images that are taken together: 4 channels that are neighbours
//                                   in memory, or 1
//   p.x(i, d, h, w)                 of images i to i + LANES - 1 an element of the input; of one,
//                                   where it is gathered; average backward: none
//   p.dy(i, o, p, q)                the same of the output's gradient; backward only
//   p.index(i, o, p, q)             the winners' taps; max backward and gather only
//   p.store(i, o, p, q, v[, tap])   finishes and stores these elements of the result
//   P::STEPS                        of a gradient: whether a thread takes whole steps, see below
//
// Gradients gather, each element from the windows that hold it: nothing is added in memory,
// so the order is the same always.

// Taps of output `out` that count in an average: those inside of the tensor, or of the tensor with
// its padding.
__device__ constexpr int countedTaps(const Axis &a, int out, bool padding) {
  int count = 0;
  for (int tap = 0; tap < a.kernel; ++tap) {
    int in = coveredBy(a, out, tap);
    count += padding ? in < a.in + a.high : in >= 0 && in < a.in;
  }
  return count;
}

template <class P> using Values = Lanes<typename P::T, P::LANES>;

template <class P> struct Winners {
  Values<P> value;
  Lanes<int, P::LANES> tap;
};

// Calls f(d, h, w, tap) for each element inside of the window; INSIDE: all of them are.
template <bool INSIDE, class P, class F>
__device__ void eachTapOf(int o, int y, int x, const F &f) {
  for (int t = 0; t < P::D.kernel; ++t)
    for (int r = 0; r < P::H.kernel; ++r)
      for (int s = 0; s < P::W.kernel; ++s)
        if (INSIDE ||
            (inputAt(P::D, o, t) >= 0 && inputAt(P::H, y, r) >= 0 && inputAt(P::W, x, s) >= 0))
          f(coveredBy(P::D, o, t), coveredBy(P::H, y, r), coveredBy(P::W, x, s),
            (t * P::H.kernel + r) * P::W.kernel + s);
}
// With channels innermost neighbouring threads mostly stand at one pixel. Else some of each warp
// stand at a border, and it would go both ways.
template <class P, class F> __device__ void eachTap(int o, int y, int x, const F &f) {
  constexpr bool ALWAYS = isInside(P::D, 0) && isInside(P::D, P::D.out - 1) && isInside(P::H, 0) &&
                          isInside(P::H, P::H.out - 1) && isInside(P::W, 0) &&
                          isInside(P::W, P::W.out - 1);
  if (ALWAYS || (P::LANES > 1 && isInside(P::D, o) && isInside(P::H, y) && isInside(P::W, x)))
    eachTapOf<true, P>(o, y, x, f);
  else
    eachTapOf<false, P>(o, y, x, f);
}

// The first largest element of the window, NaN before all; without an element inside: -infinity,
// tap 0.
template <class P> __device__ Winners<P> maxPool(const P &p, int i, int o, int y, int x) {
  Winners<P> best;
  for (int l = 0; l < P::LANES; ++l) {
    best.value.v[l] = -typename P::T(infinity());
    best.tap.v[l] = -1;
  }
  int first = -1;
  eachTap<P>(o, y, x, [&](int d, int h, int w, int tap) {
    Values<P> v = p.x(i, d, h, w);
    first = first < 0 ? tap : first;
#pragma unroll
    for (int l = 0; l < P::LANES; ++l)
      if (!(v.v[l] <= best.value.v[l]) && best.value.v[l] == best.value.v[l]) {
        best.value.v[l] = v.v[l];
        best.tap.v[l] = tap;
      }
  });
  // Where all elements inside are -infinity none is larger than what `best` starts with.
  for (int l = 0; l < P::LANES; ++l)
    if (best.tap.v[l] < 0)
      best.tap.v[l] = first < 0 ? 0 : first;
  return best;
}

// Steps divide the padded input into pieces that start where a window starts: the number of the one
// that input `at`, or if P::STEPS is set step `at`, stands in, and how far behind its start.
struct Step {
  int number, rest;
};
template <class P> __device__ constexpr Step stepOf(const Axis &a, int at) {
  return P::STEPS ? Step{at, 0} : Step{(at + a.low) / a.stride, (at + a.low) % a.stride};
}
// Elements of a gradient that a thread takes along an axis, and the first.
template <class P> __device__ constexpr int elementsAlong(const Axis &a) {
  return P::STEPS ? a.stride : 1;
}
template <class P> __device__ constexpr int firstInput(const Axis &a, int at) {
  return P::STEPS ? at * a.stride - a.low : at;
}
// Whether these elements, and as many windows before them as may hold one, are all there.
template <class P> __device__ constexpr bool isWhole(const Axis &a, int at) {
  return stepOf<P>(a, at).number >= windowsHolding(a) - 1 && stepOf<P>(a, at).number < a.out &&
         firstInput<P>(a, at) >= 0 && firstInput<P>(a, at) + elementsAlong<P>(a) <= a.in;
}
template <class P> __device__ constexpr bool areWhole(const Axis &a) {
  return isWhole<P>(a, 0) && isWhole<P>(a, P::STEPS ? (a.in + a.low - 1) / a.stride : a.in - 1);
}

// Sums up, for each element that a thread takes, what load(o, y, x) gives of the windows that hold
// it, by rising tap, where counts(v, l, tap) says so; and stores it. WHOLE: see isWhole.
template <bool WHOLE, class P, class Load, class Counts>
__device__ void sumWindowsOf(const P &p, int i, int d, int h, int w, const Load &load,
                             const Counts &counts) {
  constexpr int ALONG_H = elementsAlong<P>(P::H), ALONG_W = elementsAlong<P>(P::W),
                ELEMENTS = elementsAlong<P>(P::D) * ALONG_H * ALONG_W;
  constexpr int HOLDING_H = windowsHolding(P::H), HOLDING_W = windowsHolding(P::W),
                WINDOWS = windowsHolding(P::D) * HOLDING_H * HOLDING_W;
  const Step inD = stepOf<P>(P::D, d), inH = stepOf<P>(P::H, h), inW = stepOf<P>(P::W, w);
  Values<P> sum[ELEMENTS] = {};
#pragma unroll(WINDOWS <= 16 ? WINDOWS : 1)
  for (int n = 0; n < WINDOWS; ++n) {
    int nD = n / (HOLDING_H * HOLDING_W), nH = n / HOLDING_W % HOLDING_H, nW = n % HOLDING_W;
    auto tapOf = [&](int e) {
      int t = tapHolding(P::D, inD.rest + e / (ALONG_H * ALONG_W), nD),
          r = tapHolding(P::H, inH.rest + e / ALONG_W % ALONG_H, nH),
          s = tapHolding(P::W, inW.rest + e % ALONG_W, nW);
      return t < 0 || r < 0 || s < 0 ? -1 : (t * P::H.kernel + r) * P::W.kernel + s;
    };
    int o = inD.number - nD, y = inH.number - nH, x = inW.number - nW;
    bool isThere =
        WHOLE || (o >= 0 && o < P::D.out && y >= 0 && y < P::H.out && x >= 0 && x < P::W.out);
    // Nothing but loads depends on a condition: they wait for nothing, and adding 0 changes no sum.
    decltype(load(o, y, x)) v = {};
    if (isThere && (ELEMENTS > 1 || tapOf(0) >= 0))
      v = load(o, y, x);
#pragma unroll
    for (int e = 0; e < ELEMENTS; ++e)
#pragma unroll
      for (int l = 0; l < P::LANES; ++l)
        if (counts(v, l, tapOf(e)))
          sum[e].v[l] += v.dy.v[l];
  }
#pragma unroll
  for (int e = 0; e < ELEMENTS; ++e) {
    int atD = firstInput<P>(P::D, d) + e / (ALONG_H * ALONG_W),
        atH = firstInput<P>(P::H, h) + e / ALONG_W % ALONG_H,
        atW = firstInput<P>(P::W, w) + e % ALONG_W;
    if (WHOLE ||
        (atD >= 0 && atD < P::D.in && atH >= 0 && atH < P::H.in && atW >= 0 && atW < P::W.in))
      p.store(i, atD, atH, atW, sum[e]);
  }
}

template <class P, class Load, class Counts>
__device__ void sumWindows(const P &p, int i, int d, int h, int w, const Load &load,
                           const Counts &counts) {
  constexpr bool ALWAYS = areWhole<P>(P::D) && areWhole<P>(P::H) && areWhole<P>(P::W);
  if (ALWAYS || (P::LANES > 1 && isWhole<P>(P::D, d) && isWhole<P>(P::H, h) && isWhole<P>(P::W, w)))
    sumWindowsOf<true>(p, i, d, h, w, load, counts);
  else
    sumWindowsOf<false>(p, i, d, h, w, load, counts);
}

template <class P> __device__ void maxPoolBackward(const P &p, int i, int d, int h, int w) {
  struct Won {
    Values<P> dy;
    decltype(p.index(0, 0, 0, 0)) index;
  };
  sumWindows(
      p, i, d, h, w,
      [&](int o, int y, int x) { return Won{p.dy(i, o, y, x), p.index(i, o, y, x)}; },
      [](const Won &v, int l, int tap) { return v.index.v[l] == tap; });
}

template <class P> __device__ Values<P> maxPoolGather(const P &p, int i, int o, int y, int x) {
  auto index = p.index(i, o, y, x);
  Values<P> v;
#pragma unroll
  for (int l = 0; l < P::LANES; ++l) {
    int tap = index.v[l];
    int d = inputAt(P::D, o, tap / (P::H.kernel * P::W.kernel));
    int h = inputAt(P::H, y, tap / P::W.kernel % P::H.kernel),
        w = inputAt(P::W, x, tap % P::W.kernel);
    v.v[l] = d >= 0 && h >= 0 && w >= 0 ? p.x(i + l, d, h, w).v[0] : typename P::T(0);
  }
  return v;
}

template <class P> __device__ auto countOf(int o, int y, int x) {
  return typename P::T(countedTaps(P::D, o, P::COUNT_PADDING) *
                       countedTaps(P::H, y, P::COUNT_PADDING) *
                       countedTaps(P::W, x, P::COUNT_PADDING));
}

template <class P> __device__ Values<P> averagePool(const P &p, int i, int o, int y, int x) {
  Values<P> sum = {};
  eachTap<P>(o, y, x, [&](int d, int h, int w, int) {
    Values<P> v = p.x(i, d, h, w);
#pragma unroll
    for (int l = 0; l < P::LANES; ++l)
      sum.v[l] += v.v[l];
  });
  typename P::T count = countOf<P>(o, y, x);
  for (int l = 0; l < P::LANES; ++l)
    sum.v[l] /= count;
  return sum;
}

template <class P> __device__ void averagePoolBackward(const P &p, int i, int d, int h, int w) {
  struct Shared {
    Values<P> dy;
  };
  sumWindows(
      p, i, d, h, w,
      [&](int o, int y, int x) {
        Shared v = {p.dy(i, o, y, x)};
        typename P::T count = countOf<P>(o, y, x);
        for (int l = 0; l < P::LANES; ++l)
          v.dy.v[l] /= count;
        return v;
      },
      [](const Shared &, int, int tap) { return tap >= 0; });
}

// The kernel: p.element(i, d, h, w) computes an element of [IMAGES, SIZE_D, SIZE_H, SIZE_W] for
// LANES images, or those of a step, and stores them; a thread takes PER_THREAD of them, THREADS
// apart. They are numbered as they lie in memory: INNER images, the channels where these are
// innermost and else 1, lie beside each other at each pixel.
template <class P> __device__ void window(const P &p) {
  constexpr unsigned BESIDE = P::INNER / P::LANES, SIZE_D = P::SIZE_D, SIZE_H = P::SIZE_H,
                     SIZE_W = P::SIZE_W, ELEMENTS = P::IMAGES / P::LANES * SIZE_D * SIZE_H * SIZE_W;
  unsigned first = blockIdx.x * P::THREADS * P::PER_THREAD + threadIdx.x;
#pragma unroll
  for (int n = 0; n < P::PER_THREAD; ++n) {
    unsigned e = first + n * P::THREADS;
    if (e >= ELEMENTS)
      return;
    unsigned pixel = e / BESIDE, row = pixel / SIZE_W, plane = row / SIZE_H;
    p.element(plane / SIZE_D * P::INNER + e % BESIDE * P::LANES, plane % SIZE_D, row % SIZE_H,
              pixel % SIZE_W);
  }
}
