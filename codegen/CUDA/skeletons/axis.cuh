// axis: the index arithmetic of windows and convolutions.

// One axis: output o covers inputs o * stride + tap * dilation - low.
struct Axis {
  int in, out, kernel, stride, dilation, low, high;
};

// The input that `tap` of output `out` covers, if it is inside of the tensor.
__device__ constexpr int coveredBy(const Axis &a, int out, int tap) {
  return out * a.stride + tap * a.dilation - a.low;
}
// The same; outside of the tensor: -1.
__device__ constexpr int inputAt(const Axis &a, int out, int tap) {
  int in = coveredBy(a, out, tap);
  return in < a.in ? in : -1;
}
// Whether all that output `out` covers is inside.
__device__ constexpr bool isInside(const Axis &a, int out) {
  return coveredBy(a, out, 0) >= 0 && coveredBy(a, out, a.kernel - 1) < a.in;
}
// The output whose `tap` covers input `in`; if there is none: -1.
__device__ constexpr int outputAt(const Axis &a, int in, int tap) {
  int start = in + a.low - tap * a.dilation;
  return start >= 0 && start % a.stride == 0 && start / a.stride < a.out ? start / a.stride : -1;
}

// How many windows hold an input at most.
__device__ constexpr int windowsHolding(const Axis &a) {
  return (a.kernel - 1) * a.dilation / a.stride + 1;
}

// The tap at which the `number`th window before the one that starts `rest` in front of an input
// holds it, by rising tap; if it does not: -1.
__device__ constexpr int tapHolding(const Axis &a, int rest, int number) {
  int offset = rest + number * a.stride;
  return offset % a.dilation == 0 && offset / a.dilation < a.kernel ? offset / a.dilation : -1;
}
