// simt: CUDA C++ on a CPU. A task is one block of the grid; each of its threads is a fiber with a
// stack of its own.
//
// Threads run one at a time, each until it reaches a barrier, a shuffle or its end. In what order
// they run is drawn from the device's seed, block by block and interval by interval: what is right
// under one order only is found under another. Shared memory is full of NaN when a block begins. An
// access outside of a buffer and a barrier that not all threads reach end the launch with a report:
// dlc_simt.fail.
//
// Needs nothing but a compiler for x86-64: no libc, no thread-local memory. A fiber finds itself by
// its stack pointer, since stacks stand at multiples of their size.
#define DLC_SIMT
#define __global__
#define __device__
#define __host__
#define __constant__ static const
#define __launch_bounds__(...)

struct Dim3 {
  unsigned x;
};

namespace simt {

constexpr uint64_t STACK = 1 << 15, SHARED_BYTES = 48 << 10;
constexpr unsigned WARP = 32, MAX_THREADS = 1024;

enum class State : uint8_t { Ready, AtBarrier, AtShuffle, Done };

struct Block;

/// A thread. Stands at the low end of its stack, but not exactly: at equal places of all stacks,
/// fibers would fight for the same lines of the cache.
struct Fiber {
  Block *block;
  Dim3 thread;
  const char *file; ///< where it waits
  unsigned line;
  unsigned mask; ///< lanes that it shuffles with
  unsigned
      turn; ///< of `exchanged`: the next shuffle must not overwrite what others still have to read
  uint64_t exchanged[2];
};

struct Failure {
  const char *file;
  unsigned line, thread;
  char message[128];
};

struct Block {
  const dlc_args *args;
  void (*kernel)(const dlc_args *args);
  char *stacks, *shared;
  void *scheduler; ///< stack pointer of the task
  Dim3 number, grid, size;
  bool poisoned, failed;
  Failure failure;
  State states[MAX_THREADS];
  void *stackPointers[MAX_THREADS];

  Fiber &fiber(unsigned thread);
};

inline uint64_t shiftOf(uint64_t stack) { return stack / STACK % 32 * 128; }

inline Fiber &fiberOn(uint64_t stack) {
  return *reinterpret_cast<Fiber *>((stack & ~(STACK - 1)) + shiftOf(stack));
}

inline Fiber &self() {
  uint64_t stack;
  asm("mov %%rsp, %0" : "=r"(stack));
  return fiberOn(stack);
}

inline Fiber &Block::fiber(unsigned thread) {
  return fiberOn(reinterpret_cast<uint64_t>(stacks) + thread * STACK);
}

/// Saves the running stack in *save and continues on `to`. Registers that a call preserves travel
/// on the stacks.
__attribute__((naked, noinline)) static void switchStack(void **save, void *to) {
  asm volatile("push %rbp\n push %rbx\n push %r12\n push %r13\n push %r14\n push %r15\n"
               "mov %rsp, (%rdi)\n mov %rsi, %rsp\n"
               "pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbx\n pop %rbp\n ret\n");
}

//===- Failures -------------------------------------------------------------------------------===//

struct Message {
  Failure &failure;
  unsigned length = 0;

  Message &operator<<(const char *text) {
    for (; *text && length + 1 < sizeof(failure.message); ++text)
      failure.message[length++] = *text;
    failure.message[length] = 0;
    return *this;
  }
  Message &operator<<(int64_t number) {
    char digits[24], *start = digits + sizeof(digits);
    *--start = 0;
    uint64_t rest = number < 0 ? 0 - uint64_t(number) : number;
    do
      *--start = '0' + rest % 10;
    while (rest /= 10);
    if (number < 0)
      *--start = '-';
    return *this << start;
  }
};

/// Gives the processor to the scheduler; returns when that lets the thread go on.
inline void leave(Fiber &fiber, State state) {
  Block &block = *fiber.block;
  block.states[fiber.thread.x] = state;
  switchStack(&block.stackPointers[fiber.thread.x], block.scheduler);
}

/// Leaves the thread for good: the scheduler reports on the task's own stack.
[[noreturn]] __attribute__((noinline, cold)) static void giveUp(Fiber &fiber) {
  fiber.block->failed = true;
  leave(fiber, State::Done);
  __builtin_unreachable();
}

[[noreturn]] __attribute__((noinline, cold)) static void outside(int64_t index, uint64_t size,
                                                                 unsigned buffer, const char *what,
                                                                 const char *file, unsigned line) {
  Fiber &fiber = self();
  Failure &failure = fiber.block->failure;
  failure.file = file;
  failure.line = line;
  failure.thread = fiber.thread.x;
  Message(failure) << what << " of element " << index << " of buffer " << int64_t(buffer)
                   << ", which has " << int64_t(size);
  giveUp(fiber);
}

//===- Buffers --------------------------------------------------------------------------------===//

/// An index, and the place in the source that uses it.
struct Place {
  int64_t index;
  const char *file;
  unsigned line;
  Place(int64_t index, const char *file = __builtin_FILE(), unsigned line = __builtin_LINE())
      : index(index), file(file), line(line) {}
};

/// A buffer argument of the launch: every access is checked.
template <class T> struct Buffer {
  T *start;
  uint64_t size; ///< elements
  unsigned number;

  Buffer(const dlc_args *args, unsigned number)
      : start(static_cast<T *>(args->buffers[number])),
        size(args->simt->buffer_bytes[number] / sizeof(T)), number(number) {}

  T &operator[](Place at) const {
    if (uint64_t(at.index) >= size) [[unlikely]]
      outside(at.index, size, number, "access", at.file, at.line);
    return start[at.index];
  }
};

//===- Threads --------------------------------------------------------------------------------===//

static void wait(State state, const char *file, unsigned line) {
  Fiber &fiber = self();
  fiber.file = file;
  fiber.line = line;
  leave(fiber, state);
}

template <class T>
inline T shuffle(unsigned mask, T value, unsigned lane, const char *file, unsigned line) {
  static_assert(sizeof(T) <= sizeof(uint64_t));
  Fiber &fiber = self();
  unsigned turn = fiber.turn++ % 2;
  __builtin_memcpy(&fiber.exchanged[turn], &value, sizeof(T));
  fiber.mask = mask;
  wait(State::AtShuffle, file, line);
  Fiber &source = fiber.block->fiber(fiber.thread.x / WARP * WARP + lane % WARP);
  __builtin_memcpy(&value, &source.exchanged[turn], sizeof(T));
  return value;
}

template <class T> inline T &shared() {
  static_assert(sizeof(T) <= SHARED_BYTES, "too much shared memory");
  Block &block = *self().block;
  if (!block.poisoned) {
    __builtin_memset(block.shared, 0xff, sizeof(T));
    block.poisoned = true;
  }
  return *reinterpret_cast<T *>(block.shared);
}

[[noreturn]] static void start() {
  Fiber &fiber = self();
  fiber.block->kernel(fiber.block->args);
  leave(fiber, State::Done);
  __builtin_unreachable();
}

//===- The scheduler --------------------------------------------------------------------------===//

/// SplitMix64.
struct Random {
  uint64_t state;
  uint64_t next() {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
};

static_assert(sizeof(Block) <= 16 << 10, "Generators.cpp, simtScratchBytes");

struct Scheduler {
  Block &block;
  Random random;
  unsigned threads, warps;

  [[noreturn]] void fail() {
    const dlc_simt *simt = block.args->simt;
    simt->fail(simt, block.number.x, block.failure.thread, block.failure.file, block.failure.line,
               block.failure.message);
    __builtin_trap();
  }

  void resume(unsigned thread) {
    switchStack(&block.scheduler, block.stackPointers[thread]);
    if (block.failed)
      fail();
  }

  /// Lanes of a warp that shuffle with each other, all arrived: they may go on.
  bool releaseShuffles(unsigned warp) {
    unsigned present = 0, first = warp * WARP,
             count = threads - first < WARP ? threads - first : WARP;
    bool released = false;
    for (unsigned lane = 0; lane < count; ++lane)
      present |= unsigned(block.states[first + lane] == State::AtShuffle) << lane;
    if (!present)
      return false;
    unsigned exist = count == WARP ? ~0u : (1u << count) - 1;
    for (unsigned lane = 0; lane < count; ++lane) {
      if (block.states[first + lane] != State::AtShuffle ||
          (block.fiber(first + lane).mask & exist & ~present))
        continue;
      block.states[first + lane] = State::Ready;
      released = true;
    }
    return released;
  }

  /// Runs a warp's lanes in random order until each has ended, or waits for other warps or in vain.
  void runWarp(unsigned warp) {
    do {
      uint64_t draw = random.next();
      unsigned step = (draw & (WARP - 1)) | 1, offset = draw >> 32;
      for (unsigned i = 0; i < WARP; ++i) {
        unsigned thread = warp * WARP + (i * step + offset) % WARP;
        if (thread < threads && block.states[thread] == State::Ready)
          resume(thread);
      }
    } while (releaseShuffles(warp));
  }

  void runWarps() {
    uint8_t order[MAX_THREADS / WARP];
    for (unsigned i = 0; i < warps; ++i) {
      unsigned other = random.next() % (i + 1);
      order[i] = order[other];
      order[other] = i;
    }
    for (unsigned i = 0; i < warps; ++i)
      runWarp(order[i]);
  }

  unsigned firstIn(State state) const {
    unsigned thread = 0;
    while (block.states[thread] != state)
      ++thread;
    return thread;
  }

  /// Fails at a thread that waits in vain.
  [[noreturn]] void reportDivergence(unsigned thread, const char *what) {
    Fiber &fiber = block.fiber(thread);
    block.failure = {fiber.file, fiber.line, thread, {}};
    Message(block.failure) << what;
    fail();
  }

  void run() {
    for (;;) {
      runWarps();
      unsigned inState[4] = {};
      for (unsigned thread = 0; thread < threads; ++thread)
        ++inState[unsigned(block.states[thread])];
      if (inState[unsigned(State::Done)] == threads)
        return;
      if (inState[unsigned(State::AtShuffle)])
        reportDivergence(firstIn(State::AtShuffle),
                         "divergent shuffle: not all lanes of its mask reach it");
      if (inState[unsigned(State::Done)])
        reportDivergence(firstIn(State::AtBarrier),
                         "divergent barrier: not all threads of the block reach it");
      const Fiber &first = block.fiber(0);
      for (unsigned thread = 1; thread < threads; ++thread)
        if (block.fiber(thread).line != first.line || block.fiber(thread).file != first.file)
          reportDivergence(thread,
                           "divergent barrier: threads of the block wait at different ones");
      for (unsigned thread = 0; thread < threads; ++thread)
        block.states[thread] = State::Ready;
    }
  }
};

/// Runs block number `task` of `threads` threads.
static void run(const dlc_args *args, uint32_t task, void *scratch, unsigned threads,
                void (*kernel)(const dlc_args *)) {
  char *stacks =
      reinterpret_cast<char *>((reinterpret_cast<uint64_t>(scratch) + STACK - 1) & ~(STACK - 1));
  Block &block = *reinterpret_cast<Block *>(stacks + threads * STACK);
  block.args = args;
  block.kernel = kernel;
  block.stacks = stacks;
  block.shared = stacks + threads * STACK + (sizeof(Block) + 63) / 64 * 64;
  block.number = {task};
  block.grid = {args->simt->grid};
  block.size = {threads};
  block.poisoned = block.failed = false;
  for (unsigned thread = 0; thread < threads; ++thread) {
    char *stack = stacks + thread * STACK;
    void **top =
        reinterpret_cast<void **>(stack + STACK - shiftOf(reinterpret_cast<uint64_t>(stack)));
    *--top = nullptr;
    *--top = reinterpret_cast<void *>(&start);
    for (int i = 0; i < 6; ++i)
      *--top = nullptr;
    block.fiber(thread) = {&block, {thread}, nullptr, 0, 0, 0, {}};
    block.states[thread] = State::Ready;
    block.stackPointers[thread] = top;
  }
  Random random{args->simt->seed ^ (uint64_t(task) << 32)};
  Scheduler{block, random, threads, (threads + WARP - 1) / WARP}.run();
}

} // namespace simt

//===- What CUDA C++ offers -------------------------------------------------------------------===//

#define threadIdx (::simt::self().thread)
#define blockIdx (::simt::self().block->number)
#define blockDim (::simt::self().block->size)
#define gridDim (::simt::self().block->grid)
#define SHARED(Type, name) Type &name = ::simt::shared<Type>()
#define __syncthreads() ::simt::wait(::simt::State::AtBarrier, __FILE__, __LINE__)
#define __syncwarp() (void)::simt::shuffle(0xffffffffu, 0, 0, __FILE__, __LINE__)
#define __shfl_sync(mask, value, lane) ::simt::shuffle(mask, value, lane, __FILE__, __LINE__)
#define __shfl_xor_sync(mask, value, bits)                                                         \
  ::simt::shuffle(mask, value, ::simt::self().thread.x ^ (bits), __FILE__, __LINE__)
template <class T> using Buffer = simt::Buffer<T>;

namespace simt {
template <class T> struct Plain {
  using Type = T;
};
template <class T> struct Plain<const T> {
  using Type = T;
};
} // namespace simt

template <class T> struct Quad;
template <class T>
inline Quad<typename simt::Plain<T>::Type> loadQuad(Buffer<T> buffer, simt::Place at) {
  if (at.index < 0 || at.index % 4 != 0 || uint64_t(at.index) + 4 > buffer.size) [[unlikely]]
    simt::outside(at.index, buffer.size, buffer.number, "load of a quad", at.file, at.line);
  return *reinterpret_cast<const Quad<typename simt::Plain<T>::Type> *>(buffer.start + at.index);
}
template <class T> inline void storeQuad(Buffer<T> buffer, simt::Place at, const Quad<T> &quad) {
  if (at.index < 0 || at.index % 4 != 0 || uint64_t(at.index) + 4 > buffer.size) [[unlikely]]
    simt::outside(at.index, buffer.size, buffer.number, "store of a quad", at.file, at.line);
  *reinterpret_cast<Quad<T> *>(buffer.start + at.index) = quad;
}

inline float __int_as_float(int bits) { return __builtin_bit_cast(float, bits); }
inline int __float_as_int(float number) { return __builtin_bit_cast(int, number); }
inline float sqrtf(float x) { return __builtin_sqrtf(x); }
inline double sqrt(double x) { return __builtin_sqrt(x); }

// exp, log, tanh, erf and pow in double, by series after a reduction of the argument: errors of a
// few units in the last place (pow: times |y log x|).
inline double exp(double x) {
  if (x != x)
    return x;
  x = x > 710 ? 710 : x < -746 ? -746 : x;
  int64_t n = int64_t(x * 1.4426950408889634 + (x < 0 ? -0.5 : 0.5));
  double r = (x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10, sum = 1;
  for (int k = 14; k > 0; --k)
    sum = 1 + sum * r / k;
  // In two steps: 2^n need not be a normal number.
  int64_t half = n / 2;
  sum *= __builtin_bit_cast(double, (half + 1023) << 52);
  return sum * __builtin_bit_cast(double, (n - half + 1023) << 52);
}
inline double log(double x) {
  if (!(x > 0))
    return x == 0 ? -__builtin_inf() : __builtin_nan("");
  if (x > 1.7976931348623157e308)
    return x;
  int64_t exponent = 0;
  if (x < 2.2250738585072014e-308) {
    x *= 18014398509481984.0; // 2^54
    exponent = -54;
  }
  int64_t bits = __builtin_bit_cast(int64_t, x);
  exponent += (bits >> 52) - 1023;
  double m = __builtin_bit_cast(double, (bits & 0xfffffffffffff) | 0x3ff0000000000000);
  if (m > 1.4142135623730951) {
    m /= 2;
    ++exponent;
  }
  double s = (m - 1) / (m + 1), z = s * s, sum = 0;
  for (int k = 25; k > 0; k -= 2)
    sum = sum * z + 1.0 / k;
  return exponent * 6.93147180559945286227e-01 + 2 * s * sum;
}
inline double tanh(double x) {
  double a = x < 0 ? -x : x;
  if (a > 20)
    return x < 0 ? -1 : 1;
  double e = exp(2 * a) - 1;
  if (a < 0.2) { // exp(2 a) - 1 without cancellation
    e = 1;
    for (int k = 16; k > 1; --k)
      e = 1 + e * 2 * a / k;
    e *= 2 * a;
  }
  double t = e / (e + 2);
  return x < 0 ? -t : t;
}
inline double floor(double x) {
  if (!(x > -4503599627370496.0 && x < 4503599627370496.0))
    return x; // whole, or NaN
  double whole = double(int64_t(x));
  return whole > x ? whole - 1 : whole;
}
inline double erf(double x) {
  if (x > 6 || x < -6)
    return x < 0 ? -1 : 1;
  // 2 / sqrt(pi) exp(-x^2) times the sum of 2^n x^(2n+1) / (1 * 3 * ... * (2n+1)).
  double term = x, sum = x;
  for (int n = 1; n < 200 && sum != sum + term; ++n) {
    term *= 2 * x * x / (2 * n + 1);
    sum += term;
  }
  return 1.1283791670955126 * exp(-x * x) * sum;
}
inline double pow(double x, double y) {
  if (y == 0)
    return 1;
  double magnitude = exp(y * log(x < 0 ? -x : x));
  if (!(x < 0))
    return magnitude;
  if (floor(y) != y)
    return __builtin_nan("");
  return floor(y / 2) * 2 == y ? magnitude : -magnitude;
}
inline float floorf(float x) { return float(floor(double(x))); }
inline float expf(float x) { return float(exp(double(x))); }
inline float logf(float x) { return float(log(double(x))); }
inline float tanhf(float x) { return float(tanh(double(x))); }
inline float erff(float x) { return float(erf(double(x))); }
inline float powf(float x, float y) { return float(pow(double(x), double(y))); }
