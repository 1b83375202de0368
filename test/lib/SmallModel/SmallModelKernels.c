/* The native half of a hand-made module: softmax regression with momentum, small enough to be
 * checked by eye. It lets the runtime be tested without the compiler. Plan and note are empty here;
 * test/lib/ModuleFileWriter fills them in and seals the file.
 *
 * Shapes: N samples, F features, C classes. Immediates are given at each kernel. */
#include "dlc/abi.h"

#define PLAN_CAPACITY 65536
#define STORE_STACK 16384

__attribute__((section(".dlc.plan"), aligned(64), used, visibility("hidden")))
const volatile uint8_t plan_bytes[PLAN_CAPACITY] = {1};

struct note_section {
  uint32_t name_size, descriptor_size, type;
  char name[4];
  dlc_note descriptor;
};
__attribute__((section(".note.dlc"), aligned(4), used, visibility("hidden")))
const volatile struct note_section note = {
    4, sizeof(dlc_note), DLC_NOTE_TYPE, "dlc", {.magic = DLC_NOTE_MAGIC, .size = sizeof(dlc_note)}};

static float exponential(float x) {
  /* e^x = (e^(x/256))^256, by six terms of the series. */
  float y = x / 256.0f, term = 1.0f, sum = 1.0f;
  for (int i = 1; i < 6; ++i) {
    term *= y / (float)i;
    sum += term;
  }
  for (int i = 0; i < 8; ++i)
    sum *= sum;
  return sum;
}

static float logarithm(float x) {
  /* Newton's iteration on e^y = x, x >= 1. */
  float y = 0.0f;
  for (int i = 0; i < 40; ++i) {
    float e = exponential(y);
    y += 2.0f * (x - e) / (x + e);
  }
  return y;
}

/* logits[n, c] = sum_f image[n, f] weight[c, f] + bias[c]. One task for each sample. Immediates: F,
 * C. */
static void logits(const dlc_args *args, uint32_t task, void *scratch) {
  const float *image = args->buffers[0], *weight = args->buffers[1], *bias = args->buffers[2];
  float *out = args->buffers[3], *row = scratch;
  const uint64_t features = args->constants[0], classes = args->constants[1];
  for (uint64_t f = 0; f < features; ++f)
    row[f] = image[task * features + f];
  for (uint64_t c = 0; c < classes; ++c) {
    float sum = bias[c];
    for (uint64_t f = 0; f < features; ++f)
      sum += row[f] * weight[c * features + f];
    out[task * classes + c] = sum;
  }
}

/* Cross entropy of one sample, its gradient by the logits, and whether it was right. One task for
 * each sample. Immediates: N, C. */
static void cross_entropy(const dlc_args *args, uint32_t task, void *scratch) {
  const float *logit = args->buffers[0];
  const int32_t *label = args->buffers[1];
  float *loss = args->buffers[2], *right = args->buffers[3], *gradient = args->buffers[4];
  const uint64_t samples = args->constants[0], classes = args->constants[1];
  const float *row = logit + task * classes;
  float largest = row[0], sum = 0;
  uint64_t best = 0;
  for (uint64_t c = 1; c < classes; ++c)
    if (row[c] > largest) {
      largest = row[c];
      best = c;
    }
  for (uint64_t c = 0; c < classes; ++c)
    sum += exponential(row[c] - largest);
  const uint64_t wanted = (uint64_t)label[task];
  loss[task] = logarithm(sum) + largest - (wanted < classes ? row[wanted] : 0.0f);
  right[task] = best == wanted;
  for (uint64_t c = 0; c < classes; ++c)
    gradient[task * classes + c] =
        (exponential(row[c] - largest) / sum - (c == wanted ? 1.0f : 0.0f)) / (float)samples;
  (void)scratch;
}

/* Sums of losses and right answers over the valid samples, in order. One task. Buffers: loss,
 * right, valid or any i32, out loss, out right, out count. Immediates: N, whether valid counts. */
static void sum_samples(const dlc_args *args, uint32_t task, void *scratch) {
  const float *loss = args->buffers[0], *right = args->buffers[1];
  const int32_t *valid = args->buffers[2];
  const uint64_t count = args->constants[1] ? (uint64_t)*valid : args->constants[0];
  float losses = 0, rights = 0;
  for (uint64_t n = 0; n < count; ++n) {
    losses += loss[n];
    rights += right[n];
  }
  *(float *)args->buffers[3] = losses;
  *(float *)args->buffers[4] = rights;
  *(float *)args->buffers[5] = (float)count;
  (void)task, (void)scratch;
}

/* Gradients of weight and bias. One task for each class. Immediates: N, F, C. */
static void weight_gradient(const dlc_args *args, uint32_t task, void *scratch) {
  const float *gradient = args->buffers[0], *image = args->buffers[1];
  float *weight = args->buffers[2], *bias = args->buffers[3];
  const uint64_t samples = args->constants[0], features = args->constants[1],
                 classes = args->constants[2];
  float sum = 0;
  for (uint64_t n = 0; n < samples; ++n)
    sum += gradient[n * classes + task];
  bias[task] = sum;
  for (uint64_t f = 0; f < features; ++f) {
    sum = 0;
    for (uint64_t n = 0; n < samples; ++n)
      sum += gradient[n * classes + task] * image[n * features + f];
    weight[task * features + f] = sum;
  }
  (void)scratch;
}

/* velocity = 0.9 velocity + gradient; parameter -= rate / (1 + step / 100) velocity. One task for
 * each block of elements. Scalars: rate, step. Immediates: elements, elements of a block. */
static void update(const dlc_args *args, uint32_t task, void *scratch) {
  float *parameter = args->buffers[0], *velocity = args->buffers[1];
  const float *gradient = args->buffers[2], *rate = args->buffers[3], *step = args->buffers[4];
  const uint64_t elements = args->constants[0], block = args->constants[1];
  const uint64_t begin = task * block, end = begin + block < elements ? begin + block : elements;
  for (uint64_t i = begin; i < end; ++i) {
    velocity[i] = 0.9f * velocity[i] + gradient[i];
    parameter[i] -= *rate / (1.0f + *step / 100.0f) * velocity[i];
  }
  (void)scratch;
}

/* Adds one to a counter. One task. */
static void count(const dlc_args *args, uint32_t task, void *scratch) {
  ++*(int32_t *)args->buffers[0];
  (void)task, (void)scratch;
}

struct store {
  const dlc_args *args;
  uint32_t task;
};

static void store_checked(struct store *store) {
  const dlc_args *args = store->args;
  const uint64_t at = store->task * args->constants[0];
  if ((at + 1) * sizeof(float) > args->simt->buffer_bytes[0])
    args->simt->fail(args->simt, store->task, 5, "small.cuh", 42, "writes outside of buffer 0");
  ((float *)args->buffers[0])[at] = 1.0f;
}

/* out[task * stride] = 1, on a stack of its own in the scratch, as the fibers of real kernels have.
 * Immediates: stride. */
static void store(const dlc_args *args, uint32_t task, void *scratch) {
  struct store store = {args, task};
#if defined(__x86_64__)
  char *stack = (char *)scratch + STORE_STACK;
  struct store *argument = &store;
  __asm__ volatile("movq %%rsp, %%rbx\n\tmovq %0, %%rsp\n\tcallq *%2\n\tmovq %%rbx, %%rsp"
                   : "+r"(stack), "+D"(argument)
                   : "r"(store_checked)
                   : "rbx", "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc",
                     "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7");
#else
  store_checked(&store);
#endif
}

/* values[i] *= factor[0]. One task. Immediates: count. */
static void scale(const dlc_args *args, uint32_t task, void *scratch) {
  float *values = args->buffers[0];
  const float *factor = args->buffers[1];
  for (uint64_t i = 0; i < args->constants[0]; ++i)
    values[i] *= factor[0];
  (void)task, (void)scratch;
}

/* Computes nothing. On the SIMT device, which knows their sizes, reads both ends of each buffer:
 * they must be there. */
static void touch(const dlc_args *args, uint32_t task, void *scratch) {
  for (uint32_t i = 0; args->simt && i < args->buffer_count; ++i) {
    const volatile uint8_t *bytes = args->buffers[i];
    const uint64_t size = args->simt->buffer_bytes[i];
    if (size != 0)
      (void)bytes[0], (void)bytes[size - 1];
  }
  (void)task, (void)scratch;
}

/* SmallModelSimt.cpp */
#define HIDDEN __attribute__((visibility("hidden")))
HIDDEN void simt_reverse(const dlc_args *args, uint32_t task, void *scratch);
HIDDEN void simt_no_barrier(const dlc_args *args, uint32_t task, void *scratch);
HIDDEN void simt_outside(const dlc_args *args, uint32_t task, void *scratch);
HIDDEN void simt_divergent(const dlc_args *args, uint32_t task, void *scratch);

static const dlc_kernel_fn kernels[] = {
    logits,       cross_entropy,   sum_samples,  weight_gradient, update, count, store,
    simt_reverse, simt_no_barrier, simt_outside, simt_divergent,  touch,  scale};
/* In a section of its own, where a test finds it in the file. */
__attribute__((section("dlc_descriptor"))) static dlc_module module = {
    sizeof(dlc_module), 0, 0, 0, kernels, sizeof(kernels) / sizeof(kernels[0]), 0};

__attribute__((visibility("default"))) const dlc_module *dlc_module_query(uint32_t newest_abi) {
  module.plan = (const uint8_t *)plan_bytes;
  /* Zero unless a test wrote something else into the file. */
  if (module.abi_version == 0)
    module.abi_version = note.descriptor.abi_version;
  if (module.plan_size == 0)
    module.plan_size = note.descriptor.plan_size;
  return newest_abi < module.abi_version ? 0 : &module;
}
