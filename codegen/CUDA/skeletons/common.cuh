// common: what every kernel text begins with.
//
// Kernels take their buffers as Buffer<T>: a plain pointer here, a checked one where the same text
// runs on a CPU (codegen/CUDA/simt). A result may lie in an operand's memory, so none is
// __restrict__, and a thread loads what it needs of an element before it stores there. Indices are
// ints: no tensor of a kernel has 2^31 elements.
//
// bf16 and f16 are __nv_bfloat16 and __half in memory, and floats as soon as they are loaded: what
// is rounded where is written out in the kernel's own text, and skeletons compute, sum and exchange
// floats.
#ifndef DLC_SIMT
template <class T> using Buffer = T *;

// Shared memory of a block: a struct, so that its size is known.
#define SHARED(Type, name) __shared__ Type name
#endif

// Four neighbours, moved by one access: 16 bytes for float, 8 for bf16. Their index is a multiple
// of 4.
template <class T> struct alignas(4 * sizeof(T)) Quad {
  T v[4];
};

// What a function computes for N neighbours at once.
template <class T, int N> struct Lanes {
  T v[N];
};

#ifndef DLC_SIMT
template <class T> __device__ inline Quad<T> loadQuad(const T *p, int i) {
  return *reinterpret_cast<const Quad<T> *>(p + i);
}
template <class T> __device__ inline void storeQuad(T *p, int i, Quad<T> q) {
  *reinterpret_cast<Quad<T> *>(p + i) = q;
}
#endif

// NaN stays NaN, unlike in fmaxf.
template <class T> __device__ inline T maximum(T a, T b) { return a > b || a != a ? a : b; }
template <class T> __device__ inline T minimum(T a, T b) { return a < b || a != a ? a : b; }
template <class T> __device__ inline T magnitude(T a) { return a < 0 ? -a : a; }
// The halves of the product of two words.
__device__ inline int productLow(int a, int b) { return int(unsigned(a) * unsigned(b)); }
__device__ inline int productHigh(int a, int b) {
  return int((static_cast<unsigned long long>(unsigned(a)) * unsigned(b)) >> 32);
}
__device__ inline float infinity() { return __int_as_float(0x7f800000); }
__device__ inline float notANumber() { return __int_as_float(0x7fc00000); }

__host__ __device__ constexpr int divideUp(int a, int b) { return (a + b - 1) / b; }

// How a reduction combines: with whom it starts, and two values.
struct Sum {
  template <class T> static __device__ T combine(T a, T b) { return a + b; }
};
struct Max {
  template <class T> static __device__ T combine(T a, T b) { return maximum(a, b); }
};
struct Min {
  template <class T> static __device__ T combine(T a, T b) { return minimum(a, b); }
};

// Combines a value of each lane of a warp, in the same order always; every lane gets the result.
template <class Op, class T> __device__ inline T combineWarp(T v) {
  for (int step = 16; step > 0; step /= 2)
    v = Op::combine(v, static_cast<T>(__shfl_xor_sync(0xffffffffu, v, step)));
  return v;
}
