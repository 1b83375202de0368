// axis: the index arithmetic of windows and convolutions.

// One axis: output o covers inputs o * stride + tap * dilation - low.
struct Axis {
  int in, out, kernel, stride, dilation, low, high;
};

// The input that `tap` of output `out` covers; outside of the tensor: -1.
__device__ constexpr int inputAt(const Axis &a, int out, int tap) {
  int in = out * a.stride + tap * a.dilation - a.low;
  return in < a.in ? in : -1;
}
// The output whose `tap` covers input `in`; if there is none: -1.
__device__ constexpr int outputAt(const Axis &a, int in, int tap) {
  int start = in + a.low - tap * a.dilation;
  return start >= 0 && start % a.stride == 0 && start / a.stride < a.out ? start / a.stride : -1;
}

// How many windows hold an input at most.
__device__ constexpr int windowsHolding(const Axis &a) {
  return ((a.kernel - 1) * a.dilation + a.stride) / a.stride;
}

// Of the windows that may hold input `in` the `number`th, by rising tap: its output, -1 if it does
// not, and its tap.
struct Window {
  int out, tap;
};
__device__ constexpr Window windowHolding(const Axis &a, int in, int number) {
  int start = in + a.low, out = start / a.stride - number, offset = start - out * a.stride;
  bool holds = offset >= 0 && offset % a.dilation == 0 && offset / a.dilation < a.kernel &&
               out >= 0 && out < a.out;
  return {holds ? out : -1, offset / a.dilation};
}
