// softmax: cross entropy of x [ROWS, CLASSES] with a label a row, its gradient, and accuracy.
//
//   P::ROWS, CLASSES    sizes
//   p.x(row, c)         a logit
//   p.label(row)        the row's label; outside of [0, CLASSES) there is no loss and no gradient
//   p.dloss(row)        the loss's gradient; backward only
//   p.store(row, v)     finishes and stores a row's value; backward: p.store(row, c, v)
//
// A warp takes a row, a lane every 32nd class. Logits are read again in each pass over the row:
// they stay in the cache.
template <class P> struct Row {
  typename P::T largest, sum; // max x, and sum of exp(x - max x)
};

__device__ inline float exponential(float x) { return expf(x); }
__device__ inline double exponential(double x) { return exp(x); }
__device__ inline float logarithm(float x) { return logf(x); }
__device__ inline double logarithm(double x) { return log(x); }

template <class P> __device__ Row<P> softmaxRow(const P &p, int row, int lane) {
  using T = typename P::T;
  T largest = -T(infinity()), sum = 0;
  for (int c = lane; c < P::CLASSES; c += 32)
    largest = maximum(largest, T(p.x(row, c)));
  largest = combineWarp<Max>(largest);
  for (int c = lane; c < P::CLASSES; c += 32)
    sum += exponential(p.x(row, c) - largest);
  return {largest, combineWarp<Sum>(sum)};
}

template <class P> __device__ void crossEntropy(const P &p) {
  int row = (blockIdx.x * P::THREADS + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= P::ROWS) // the whole warp
    return;
  Row<P> r = softmaxRow(p, row, lane);
  auto label = p.label(row);
  if (lane == 0)
    p.store(row, label >= 0 && label < P::CLASSES
                     ? logarithm(r.sum) + (r.largest - p.x(row, int(label)))
                     : typename P::T(0));
}

template <class P> __device__ void crossEntropyBackward(const P &p) {
  using T = typename P::T;
  int row = (blockIdx.x * P::THREADS + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= P::ROWS)
    return;
  Row<P> r = softmaxRow(p, row, lane);
  auto label = p.label(row);
  bool valid = label >= 0 && label < P::CLASSES;
  for (int c = lane; c < P::CLASSES; c += 32) {
    T probability = exponential(p.x(row, c) - r.largest) / r.sum;
    p.store(row, c, valid ? p.dloss(row) * (probability - T(c == label)) : T(0));
  }
}

// The first of equal logits is the largest, NaN never is; the smallest class among the lanes' best
// wins.
template <class P> __device__ void accuracy(const P &p) {
  using T = typename P::T;
  int row = (blockIdx.x * P::THREADS + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= P::ROWS)
    return;
  T best = p.x(row, 0);
  int winner = 0;
  for (int c = lane; c < P::CLASSES; c += 32)
    if (p.x(row, c) > best) {
      best = p.x(row, c);
      winner = c;
    }
  for (int step = 16; step > 0; step /= 2) {
    T other = __shfl_xor_sync(0xffffffffu, best, step);
    int otherWinner = __shfl_xor_sync(0xffffffffu, winner, step);
    if (other > best || (other == best && otherWinner < winner)) {
      best = other;
      winner = otherWinner;
    }
  }
  if (lane == 0)
    p.store(row, T(winner == p.label(row)));
}
