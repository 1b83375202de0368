// reductions: what reductions keep on their way, for reduce_rows, reduce_channels, reduce_parts,
// and for convolutions whose result is reduced. A kernel has any number of them over the same
// elements; its struct prints
//
//   P::Totals            a struct with a total of each, and the functions below for all together
//   p.add(v, k, r)       adds element r of those that are combined to element k; with QUADS of
//   those
//                        to elements k to k + 3, to four totals
//   p.store(k, v)        finishes and stores element k
//
//   clear()              nothing is combined yet
//   add(x)               one more element
//   finish()             behind the last element that a thread adds
//   merge(b)             two finished totals as one
//   shuffled(bits)       the total of another lane of the warp
//   save, load           in memory: its values STRIDE apart, from p[at] on

// The value with which a maximum or minimum begins.
template <class T> struct Limits {
  static __device__ T lowest() { return T(-1) < T(0) ? T(1ull << (8 * sizeof(T) - 1)) : T(0); }
  static __device__ T highest() { return T(~lowest()); }
};
template <> struct Limits<float> {
  static __device__ float lowest() { return -infinity(); }
  static __device__ float highest() { return infinity(); }
};
template <> struct Limits<double> {
  static __device__ double lowest() { return -infinity(); }
  static __device__ double highest() { return infinity(); }
};

template <class Op> struct Begin;
template <> struct Begin<Sum> {
  template <class T> static __device__ T value() { return T(0); }
};
template <> struct Begin<Max> {
  template <class T> static __device__ T value() { return Limits<T>::lowest(); }
};
template <> struct Begin<Min> {
  template <class T> static __device__ T value() { return Limits<T>::highest(); }
};

template <class Op, class T> struct Total {
  T value;
  __device__ void clear() { value = Begin<Op>::template value<T>(); }
  __device__ void add(T x) { value = Op::combine(value, x); }
  __device__ void finish() {}
  __device__ void merge(const Total &b) { value = Op::combine(value, b.value); }
  __device__ Total shuffled(int bits) const {
    return {static_cast<T>(__shfl_xor_sync(0xffffffffu, value, bits))};
  }
  template <int STRIDE, class B> __device__ void save(B p, int at) const { p[at] = value; }
  template <int STRIDE, class B> __device__ void load(B p, int at) { value = p[at]; }
};

// Count, mean and sum of squared deviations from it. A thread sums differences from its first
// element, which loses nothing where the mean is large; two totals become one by Chan, Golub and
// LeVeque's formula.
template <class T> struct Moments {
  T count, mean, m2, origin; // until finish(): the differences' count, sum, and sum of squares
  __device__ void clear() { count = mean = m2 = origin = 0; }
  __device__ void add(T x) {
    if (count == T(0))
      origin = x;
    T difference = x - origin;
    count += 1;
    mean += difference;
    m2 += difference * difference;
  }
  // Where nothing is counted all else is zero: what it is divided by does not matter.
  static __device__ T atLeastOne(T count) { return maximum(count, T(1)); }
  __device__ void finish() {
    T shift = mean / atLeastOne(count);
    m2 = maximum(m2 - mean * shift, T(0));
    mean = origin + shift;
  }
  __device__ void merge(const Moments &b) {
    T all = count + b.count, share = b.count / atLeastOne(all), distance = b.mean - mean;
    mean += distance * share;
    m2 += b.m2 + distance * (count * share) * distance;
    count = all;
  }
  __device__ Moments shuffled(int bits) const {
    return {static_cast<T>(__shfl_xor_sync(0xffffffffu, count, bits)),
            static_cast<T>(__shfl_xor_sync(0xffffffffu, mean, bits)),
            static_cast<T>(__shfl_xor_sync(0xffffffffu, m2, bits)), origin};
  }
  template <int STRIDE, class B> __device__ void save(B p, int at) const {
    p[at] = count;
    p[at + STRIDE] = mean;
    p[at + 2 * STRIDE] = m2;
  }
  template <int STRIDE, class B> __device__ void load(B p, int at) {
    count = p[at];
    mean = p[at + STRIDE];
    m2 = p[at + 2 * STRIDE];
    origin = 0;
  }
};

// Merges a total of each lane of a warp, always in the same order; the first lane has the result.
template <class Totals> __device__ inline Totals mergeWarp(Totals v) {
  for (int step = 16; step > 0; step /= 2)
    v.merge(v.shuffled(step));
  return v;
}

// Merges v over a block of THREADS; thread 0 gets the result.
template <int THREADS, class Totals> __device__ Totals mergeBlock(Totals v) {
  struct Warps {
    Totals value[THREADS / 32];
  };
  SHARED(Warps, shared);
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  v = mergeWarp(v);
  if (lane == 0)
    shared.value[warp] = v;
  __syncthreads();
  if (threadIdx.x == 0)
    for (int w = 1; w < THREADS / 32; ++w)
      v.merge(shared.value[w]);
  return v;
}
