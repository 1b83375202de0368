/* The contract between a compiled module (model.so) and the runtime that loads it. Plain C,
 * versioned, append-only.
 *
 * A module is one ELF shared library with
 *   - one exported symbol, dlc_module_query, which returns the dlc_module below;
 *   - the section .dlc.plan: the plan, one position-independent little-endian blob (offsets,
 *     never pointers);
 *   - the note .note.dlc: what a loader must know BEFORE dlopen, because dlopen runs code
 *     (struct dlc_note);
 *   - for the CPU and the SIMT device, the kernels: native functions of type dlc_kernel_fn;
 *   - for CUDA, the kernels' cubins and PTX, as the plan's images.
 *
 * The blob is a dlc_plan_header followed by a directory of tables. A table is an array of structs
 * of one kind; its `stride` is the size of the struct as the writer knew it. A reader of another
 * version reads min(stride, sizeof) bytes of each element and takes the rest as zero; it skips
 * table kinds that it does not know. So structs and tables only grow at the end, and a zero always
 * means "as before". What cannot be expressed so raises DLC_ABI_VERSION.
 *
 * Ownership: everything here is immutable, owned by the module, and lives as long as it stays
 * loaded. Threads: all of it may be read by any number of threads at once.
 */
#ifndef DLC_ABI_H
#define DLC_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DLC_ABI_VERSION 1u
#define DLC_NOTE_NAME "dlc" /* owner name of the ELF note, with its terminating zero */
#define DLC_NOTE_TYPE 1u
#define DLC_NOTE_MAGIC 0x31434c4445544f4eull /* "NOTEDLC1" in memory order */
#define DLC_PLAN_MAGIC 0x31434c444e414c50ull /* "PLANDLC1" in memory order */
#define DLC_NONE 0xffffffffu                 /* "no index" in any uint32_t index field */
#define DLC_MAX_RANK 8
#define DLC_MAX_BLOCKS 2
#define DLC_ALIGNMENT 64u /* bytes: every buffer offset, arena and state base */

/* ----------------------------------------------------------------------------------------------
 * the note */

/* A plan is for the CPU or for CUDA. A CUDA plan may carry its kernels once more as native code:
 * the SIMT device runs it. */
typedef enum dlc_target { DLC_TARGET_CPU = 1, DLC_TARGET_CUDA = 2, DLC_TARGET_SIMT = 3 } dlc_target;

/* CPU features, those of x86-64 and of ARM. A module runs only where all bits of its note are
 * present. */
typedef enum dlc_cpu_feature {
  DLC_CPU_AVX2_FMA = 1 << 0, /* x86-64-v3: AVX2, FMA, BMI, F16C */
  DLC_CPU_AVX512 = 1 << 1,   /* x86-64-v4: AVX-512 F, BW, CD, DQ, VL */
  DLC_CPU_AVX512_VNNI = 1 << 2,
  DLC_CPU_AVX512_BF16 = 1 << 3,
  DLC_CPU_AMX_BF16 = 1 << 4,
  DLC_CPU_NEON = 1 << 5, /* Armv8-A in 64 bits: Advanced SIMD */
  DLC_CPU_AVX_NE_CONVERT = 1 << 6
} dlc_cpu_feature;

/* Descriptor of the ELF note. `file_hash` is XXH3-128 (seed 0, canonical byte order) of the whole
 * file with these 16 bytes taken as zero: a truncated or damaged file is found before any of its
 * code is mapped. */
typedef struct dlc_note {
  uint64_t magic;       /* DLC_NOTE_MAGIC */
  uint32_t size;        /* of this struct, in bytes */
  uint32_t abi_version; /* DLC_ABI_VERSION of the compiler that wrote it */
  uint32_t targets;     /* bit set of 1 << dlc_target */
  uint32_t reserved;
  uint64_t cpu_features;  /* bit set of dlc_cpu_feature */
  uint64_t plan_size;     /* bytes of the blob */
  uint8_t graph_hash[16]; /* XXH3-128 of the blob: ranks compare it */
  uint8_t file_hash[16];
  char compiler[32]; /* "dlc 0.1.0", zero-padded */
  char cpu_name[32]; /* LLVM's name of the CPU compiled for, zero-padded: for messages only */
} dlc_note;

/* ----------------------------------------------------------------------------------------------
 * kernels */

/* What a CPU kernel sees. Buffers are in the order of the record's arguments; workspaces, if any,
 * come last. `constants` are the record's immediate 64-bit integers (sizes that are not
 * part of the kernel's identity). */
typedef struct dlc_args {
  uint32_t size; /* of this struct */
  uint32_t buffer_count;
  void *const *buffers;
  const uint64_t *constants;
  const struct dlc_simt *simt; /* SIMT device only */
} dlc_args;

/* What the SIMT device tells a kernel, and hears from it. There a task is one block of the grid,
 * run by one fiber a thread; `scratch` holds the fibers' stacks and the block's shared memory. */
typedef struct dlc_simt {
  uint32_t size;                /* of this struct */
  uint32_t grid;                /* blocks of the launch */
  uint64_t seed;                /* of the order in which warps and threads run between barriers */
  const uint64_t *buffer_bytes; /* size of each buffer: an access outside of it is a failure */
  /* Reports a divergent barrier or an access outside of a buffer: kernel source line, thread, what
   * happened. Does not return. */
  void (*fail)(const struct dlc_simt *simt, uint32_t block, uint32_t thread, const char *file,
               uint32_t line, const char *message);
  void *user; /* the device's own */
} dlc_simt;

/* Runs task number `task` of the launch's grid. Pure: reads and writes its buffers and `scratch`
 * only, keeps nothing, calls nothing. Tasks of one launch may run in any order and at the same
 * time; each has a scratch of dlc_kernel.scratch_bytes, aligned to DLC_ALIGNMENT, with undefined
 * contents. */
typedef void (*dlc_kernel_fn)(const dlc_args *args, uint32_t task, void *scratch);

typedef struct dlc_module {
  uint32_t size; /* of this struct */
  uint32_t abi_version;
  const uint8_t *plan; /* the blob, aligned to DLC_ALIGNMENT */
  uint64_t plan_size;
  const dlc_kernel_fn *kernels; /* CPU kernels, indexed by dlc_kernel.function */
  uint32_t kernel_count;
  uint32_t reserved;
} dlc_module;

/* The only exported symbol. Null if this module cannot serve a loader whose newest known ABI is
 * `newest_abi`. */
typedef const dlc_module *(*dlc_module_query_fn)(uint32_t newest_abi);
const dlc_module *dlc_module_query(uint32_t newest_abi);

/* ----------------------------------------------------------------------------------------------
 * the blob */

typedef enum dlc_table_kind {
  DLC_TABLE_STRINGS = 1,      /* bytes, stride 1; every string is followed by a zero */
  DLC_TABLE_CONSTANTS = 2,    /* bytes, stride 1; buffers of DLC_SPACE_CONSTANT */
  DLC_TABLE_VARIABLES = 3,    /* dlc_variable */
  DLC_TABLE_SCALARS = 4,      /* dlc_scalar */
  DLC_TABLE_ENTRIES = 5,      /* dlc_entry */
  DLC_TABLE_VALUES = 6,       /* dlc_value: inputs and outputs of entries */
  DLC_TABLE_METRICS = 7,      /* dlc_metric */
  DLC_TABLE_TERMS = 8,        /* dlc_term */
  DLC_TABLE_KERNELS = 9,      /* dlc_kernel */
  DLC_TABLE_RECORDS = 10,     /* dlc_record */
  DLC_TABLE_ARGUMENTS = 11,   /* dlc_argument */
  DLC_TABLE_IMMEDIATES = 12,  /* uint64_t */
  DLC_TABLE_STEPS = 13,       /* dlc_step */
  DLC_TABLE_SETTINGS = 14,    /* dlc_setting */
  DLC_TABLE_IMAGES = 15,      /* dlc_image */
  DLC_TABLE_IMAGE_BYTES = 16, /* stride 1: cubins and PTX, at multiples of DLC_ALIGNMENT */
  DLC_TABLE_CALLS = 17,       /* dlc_library_call */
  DLC_TABLE_SCHEDULE = 18     /* dlc_schedule_part */
} dlc_table_kind;

typedef struct dlc_table {
  uint32_t kind;   /* dlc_table_kind */
  uint32_t stride; /* bytes of one element */
  uint64_t offset; /* from the blob's start, a multiple of DLC_ALIGNMENT */
  uint64_t count;  /* elements */
} dlc_table;

/* A piece of the strings table: `offset` counts from the table's start, `length` excludes the
 * terminating zero. Names are printable UTF-8 of at most 4,096 bytes. */
typedef struct dlc_string {
  uint32_t offset, length;
} dlc_string;

/* A run of elements [first, first + count) of the table named at the field. Those of values,
 * metrics, terms, records, schedule parts and images follow each other in the order of their owners
 * and leave nothing out; arguments and immediates may be shared. */
typedef struct dlc_range {
  uint32_t first, count;
} dlc_range;

typedef struct dlc_plan_header {
  uint64_t magic;           /* DLC_PLAN_MAGIC */
  uint32_t size;            /* of this struct */
  uint32_t table_count;     /* dlc_table structs that follow it */
  uint64_t total_size;      /* bytes of the blob */
  uint64_t state_bytes;     /* size of the state that holds the variables */
  uint64_t scalars_bytes;   /* size of the scalars block */
  dlc_string model;         /* name of the model */
  dlc_string documentation; /* its /// text */
  dlc_string report;        /* compile report, JSON */
  uint32_t data_parallel;   /* 1: several ranks may train together, each with a replica */
  uint32_t reserved;
} dlc_plan_header;

typedef enum dlc_dtype {
  DLC_F32 = 1,
  DLC_F64 = 2,
  DLC_BF16 = 3,
  DLC_F16 = 4,
  DLC_I32 = 5,
  DLC_I64 = 6,
  DLC_U8 = 7,
  DLC_BOOL = 8
} dlc_dtype;

/* A physical layout is a bijection of the logical shape: blocks first split an axis into (axis /
 * size, size), the inner parts standing last in the order given, then `order` permutes the outer
 * axes; a block that does not divide its axis is padded with zeros. All zero means row-major. */
typedef struct dlc_layout {
  uint8_t order[DLC_MAX_RANK]; /* order[i]: the logical axis that stands at place i; used if
                                  `permuted` */
  uint8_t permuted;
  uint8_t block_count;
  uint8_t block_axis[DLC_MAX_BLOCKS];
  uint32_t block_size[DLC_MAX_BLOCKS];
} dlc_layout;

/* The type of a tensor: logical shape and physical layout. */
typedef struct dlc_type {
  uint32_t dtype; /* dlc_dtype */
  uint32_t rank;  /* <= DLC_MAX_RANK */
  uint64_t shape[DLC_MAX_RANK];
  dlc_layout layout;
  uint32_t reserved;
} dlc_type;

typedef enum dlc_space {
  DLC_SPACE_ARENA = 1,    /* one per context; undefined contents before the first write of a step */
  DLC_SPACE_STATE = 2,    /* the variables; one per State */
  DLC_SPACE_INPUT = 3,    /* `index`: which input of the entry */
  DLC_SPACE_CONSTANT = 4, /* offset into the constants table; read-only */
  DLC_SPACE_SCALARS = 5   /* the scalars block; read-only for kernels */
} dlc_space;

typedef enum dlc_access { DLC_READ = 1, DLC_WRITE = 2 } dlc_access; /* bit set */

/* A buffer: `bytes` bytes at `offset` of a space. */
typedef struct dlc_argument {
  uint32_t space;  /* dlc_space */
  uint32_t index;  /* DLC_SPACE_INPUT: number of the input in its entry; else 0 */
  uint64_t offset; /* a multiple of DLC_ALIGNMENT, in DLC_SPACE_SCALARS of 4 */
  uint64_t bytes;
  uint32_t access; /* dlc_access */
  uint32_t dtype;  /* dlc_dtype of its elements, gaps between tensors included; 0: bytes, such as a
                      workspace */
} dlc_argument;

/* ----------------------------------------------------------------------------------------------
 * variables */

typedef enum dlc_role {
  DLC_ROLE_PARAMETER = 1,
  DLC_ROLE_SLOT = 2,
  DLC_ROLE_STATISTIC = 3,
  DLC_ROLE_STATE = 4,
  DLC_ROLE_COUNTER = 5,
  DLC_ROLE_METRIC = 6,
  DLC_ROLE_DERIVED = 7
} dlc_role;

typedef enum dlc_initialiser_kind {
  DLC_INIT_CONSTANT = 1,         /* a */
  DLC_INIT_UNIFORM = 2,          /* in [a, b) */
  DLC_INIT_NORMAL = 3,           /* mean a, standard deviation b */
  DLC_INIT_TRUNCATED_NORMAL = 4, /* the same, redrawn outside two standard deviations */
  DLC_INIT_ORTHOGONAL = 5,       /* gain a */
  DLC_INIT_COPY = 6 /* slots only: the value of the parameter `of`, of the same shape and dtype, or
                       f32 where that has 16 bits */
} dlc_initialiser_kind;

/* Random initialisers draw Philox4x32-10 with key = seed, counter = (element / 4, sample 0, step 0,
 * hash), hash = the low 32 bits of XXH3-64 of the variable's name: a value depends on the seed, the
 * name and its place only. */
typedef struct dlc_variable {
  dlc_string name; /* checkpoint key */
  dlc_type type;
  uint32_t role;        /* dlc_role */
  uint32_t initialiser; /* dlc_initialiser_kind */
  double a, b;          /* its parameters */
  uint64_t offset;      /* in the state, a multiple of DLC_ALIGNMENT */
  uint64_t bytes;       /* storage, padding of the layout included */
  uint32_t of; /* DLC_ROLE_SLOT: the parameter it belongs to (index of a variable), else DLC_NONE */
  uint32_t reserved;
} dlc_variable;

/* A number that the runtime writes before each step and kernels read by pointer. Where
 * data_parallel is set, "ranks.scale" is 1 / ranks, by which the update multiplies reduced
 * gradients, and "ranks.count", an i32, what it divides those of f64 by.
 * Random numbers of a step are Philox4x32-10 with key = seed and counter = (element within the
 * sample / 4, index of the sample in the batch of all ranks, step, hash of the call's path), or for
 * a weight that is rounded by chance (0, hash of its name, step, hash of the entry's name): i32
 * "random.seed_low" and "random.seed_high" are the seed's words, "random.step" counts batches, and
 * "random.first_sample" is the index of this rank's first sample. */
typedef struct dlc_scalar {
  dlc_string name;    /* "optimizer.learning_rate"; "step": runs of the entry so far, counted by the
                         trainer, or by the Context where no caller sets it */
  uint32_t dtype;     /* DLC_F32, DLC_F64, DLC_I32 or DLC_I64 */
  uint32_t scheduled; /* 1: the trainer multiplies it by the schedule's factor */
  uint64_t offset;    /* in the scalars block, a multiple of the size */
  double value;       /* default */
} dlc_scalar;

/* ----------------------------------------------------------------------------------------------
 * entries */

typedef enum dlc_entry_kind {
  DLC_ENTRY_TRAIN = 1,
  DLC_ENTRY_EVALUATE = 2,
  DLC_ENTRY_INFER = 3,
  DLC_ENTRY_PREPARE = 4, /* makes derived variables; a run may leave out those nobody reads */
  DLC_ENTRY_ACCUMULATE = 5
} dlc_entry_kind;

typedef struct dlc_entry {
  dlc_string name;      /* train_step, evaluate, infer_n1, ... */
  uint32_t kind;        /* dlc_entry_kind */
  uint32_t valid_input; /* number of the input `valid: i32[]` (samples that count), or DLC_NONE */
  dlc_range inputs;     /* of values */
  dlc_range outputs;    /* of values */
  dlc_range metrics;    /* of metrics */
  dlc_range records;    /* of records */
  uint64_t arena_bytes;
  uint32_t streams; /* streams used: 0 .. streams - 1 */
  uint32_t events;  /* events used: 0 .. events - 1 */
  uint64_t batch;   /* samples of one run, 0 if the entry has no batch axis */
} dlc_entry;

typedef enum dlc_value_kind {
  DLC_VALUE_INPUT = 1,
  DLC_VALUE_RESULT = 2,      /* a result of the model, by its name in the source */
  DLC_VALUE_ACCUMULATOR = 3, /* sum or count of a loss or metric; f32 or f64, row-major */
  DLC_VALUE_GRADIENT = 4, /* gradient of a variable (`of`) or of an input: named gradient.<name> */
  DLC_VALUE_CHECK = 5 /* numbers that a run leaves finite unless a gradient that is clipped was not:
                         then the run has failed; f32 or f64, row-major */
} dlc_value_kind;

typedef struct dlc_value {
  dlc_string name;
  dlc_type type;
  uint32_t kind;         /* dlc_value_kind */
  uint32_t batch_axis;   /* axis that counts samples, or DLC_NONE */
  dlc_argument location; /* outputs: where the value stands after a run, until the next run; inputs:
                            their own space */
  uint32_t of;           /* DLC_VALUE_GRADIENT of a variable: its index, else DLC_NONE */
  uint32_t classes; /* inputs of whole numbers: if not 0, each is a class, from 0 to classes - 1 */
  int64_t ignored;  /* beside classes: one more number that is taken; 0 for none, as 0 is a class */
} dlc_value;

typedef enum dlc_metric_kind { DLC_METRIC_LOSS = 1, DLC_METRIC_METRIC = 2 } dlc_metric_kind;
typedef enum dlc_finish {
  DLC_FINISH_NONE = 0,
  DLC_FINISH_EXP = 1,
  DLC_FINISH_AREA = 2, /* of a curve that histograms describe: see dlc_metric */
  DLC_FINISH_TABLE = 3 /* the sum is shown as it is */
} dlc_finish;

/* value = finish(sum over terms of coefficient * sum / count), where sum and count are first added
 * up over batches and ranks, in double. With DLC_FINISH_AREA and DLC_FINISH_TABLE there is one
 * term, whose sum alone counts: f32[outputs, 2, bins], in which bins of rising scores count the
 * answers no (0) and yes (1), and the value is the mean over the outputs that have both of the area
 * under the receiver operating curve; or f32[classes, classes]. All other sums and counts are
 * scalars. */
typedef struct dlc_metric {
  dlc_string name; /* "loss", "accuracy" */
  uint32_t kind;   /* dlc_metric_kind */
  uint32_t finish; /* dlc_finish */
  dlc_range terms; /* of terms */
} dlc_metric;

typedef struct dlc_term {
  uint32_t sum;   /* number of the accumulator among the entry's outputs */
  uint32_t count; /* the same, or DLC_NONE: the constant below */
  double constant_count;
  double coefficient;
} dlc_term;

/* The training loop: entry `entry` runs on each `every`-th batch, in table order. Before each run
 * its scheduled scalars are multiplied by the schedule's factor. The parts of a schedule run one
 * after the other, the last one for ever; `schedule` is empty: the factor is 1. A step whose entry
 * accumulates gradients is followed by the step of its update, whose `every` is a multiple. */
typedef struct dlc_step {
  uint32_t entry;
  uint32_t every;
  dlc_range schedule; /* of schedule parts */
} dlc_step;

/* The factor as a function of t, the runs of the step since the part began; n in runs. Behind its
 * end a curve that has one keeps its last value. */
typedef enum dlc_schedule_kind {
  DLC_SCHEDULE_CONSTANT = 1,    /* a */
  DLC_SCHEDULE_STEP = 2,        /* a ^ floor(t / n) */
  DLC_SCHEDULE_EXPONENTIAL = 3, /* a ^ (t / n) */
  DLC_SCHEDULE_POLYNOMIAL = 4,  /* from 1 to b over n: b + (1 - b) * (1 - t / n) ^ a */
  DLC_SCHEDULE_COSINE = 5,      /* from 1 to a over n, half a cosine */
  DLC_SCHEDULE_COSINE_RESTARTS =
      6,                      /* the same again and again, each b times as long as the one before */
  DLC_SCHEDULE_ONE_CYCLE = 7, /* half cosines from b to 1 at a * n - 1, then to c at n - 1 */
  DLC_SCHEDULE_CYCLIC = 8,    /* from a to 1 over n, back over n, again */
  DLC_SCHEDULE_WARMUP = 9,    /* from a to 1 over n */
  DLC_SCHEDULE_PLATEAU =
      10 /* times a whenever more than b evaluations in a row were no better than the best one by
          * one part in 10,000; c: 1 if more of `metric` is better, 0 if less is */
} dlc_schedule_kind;

typedef struct dlc_schedule_part {
  uint32_t kind;      /* dlc_schedule_kind */
  uint32_t in_epochs; /* 1: n and length count epochs, 0: runs of the step */
  double length;      /* of the part; of the last one ignored */
  double n;
  double a, b, c;
  dlc_string metric; /* PLATEAU: of the evaluate entry */
} dlc_schedule_part;

/* Defaults that the source gives to the trainer: "epochs"; "reference_batch", where learning rates
 * are those of the compiled batch and grow with the number of ranks. */
typedef struct dlc_setting {
  dlc_string name;
  double value;
} dlc_setting;

/* ----------------------------------------------------------------------------------------------
 * records */

typedef struct dlc_kernel {
  dlc_string symbol; /* conv3x3_bias_relu_64x56x56_<hash8>, with the phase if there are several */
  uint32_t target;   /* dlc_target: CPU or CUDA */
  uint32_t function; /* CPU, SIMT: index into dlc_module.kernels; CUDA without SIMT: DLC_NONE */
  uint64_t scratch_bytes; /* of one task */
  uint32_t arguments;     /* buffers it takes */
  uint32_t immediates;    /* 64-bit constants it takes */
  uint8_t key[16];        /* identity: spec, schedule, target features, generator version */
  uint32_t threads;       /* CUDA: threads of a block, one-dimensional */
  uint32_t shared_bytes;  /* CUDA: dynamic shared memory of a block */
  dlc_range images;       /* CUDA: of images */
} dlc_kernel;

/* Code of one CUDA kernel. Its function is `extern "C" __global__ void <symbol>(buffer pointers...,
 * 64-bit immediates...)`: the record's arguments, then its immediates, each as one parameter. */
typedef struct dlc_image {
  uint32_t kind;         /* dlc_image_kind */
  uint32_t architecture; /* 80 for sm_80; PTX: the lowest that it runs on */
  uint64_t offset;       /* in the image bytes */
  uint64_t bytes;
  uint32_t registers;   /* of a thread; cubin only */
  uint32_t spill_bytes; /* of a thread; cubin only */
  uint32_t static_shared_bytes;
  uint32_t reserved;
} dlc_image;

typedef enum dlc_image_kind { DLC_IMAGE_CUBIN = 1, DLC_IMAGE_PTX = 2 } dlc_image_kind;

/* A call of a library on the device: cuBLASLt for products, cuDNN for convolutions.
 * All tensors have `dtype`; sums are of f32, and a result of 16 bits is rounded once.
 * Product: result = epilogue(op_a(A) * op_b(B)), row-major. Arguments: result, A, B, then
 * those of the epilogue in the order of its bits (further results are written), then the workspace
 * if it has bytes. sizes: batch, m, n, k, then the batch strides of A, B, result in elements.
 * Convolution: sizes: spatial rank, batch, groups, input channels, output channels; then for each
 * spatial axis input size, filter size, output size, stride, padding below, padding above,
 * dilation. Arguments: forward y, x, w; backward data dx, dy, w; backward filter dw, dy, x; then
 * epilogue and workspace as above; all but bias and workspace lie as `layout` says. */
typedef enum dlc_library_op {
  DLC_CALL_PRODUCT = 1,
  DLC_CALL_CONVOLUTION = 2,
  DLC_CALL_BACKWARD_DATA = 3,
  DLC_CALL_BACKWARD_FILTER = 4
} dlc_library_op;

/* The steps behind a product or convolution of f32: BIAS, ADD, both, or for a product without a
 * batch one of SUMS_A and SUMS_B. A loader refuses the bits between them. */
typedef enum dlc_epilogue {
  DLC_EPILOGUE_BIAS = 1, /* + bias[column or output channel] */
  DLC_EPILOGUE_ADD = 2,  /* + a tensor of the result's shape; a product's may lie where that does */
  DLC_EPILOGUE_SUMS_A = 64, /* one more result, [m]: sums of op_a(A) over k, the gradient of the
                               bias beside a weight's */
  DLC_EPILOGUE_SUMS_B = 128 /* one more result, [n]: sums of op_b(B) over k */
} dlc_epilogue;

/* How images and filters lie in memory, outermost axis first. */
typedef enum dlc_call_layout {
  DLC_CALL_CHANNELS_LAST = 0, /* batch, space, channels; output channels, space, input channels */
  DLC_CALL_CHANNELS_FIRST = 1 /* batch, channels, space; output channels, input channels, space */
} dlc_call_layout;

/* What a call may do to operands of f32. */
typedef enum dlc_math {
  DLC_MATH_STRICT = 0, /* nothing */
  DLC_MATH_TF32 = 1    /* round them to 10 bits behind the point, as tensor cores do */
} dlc_math;

#define DLC_CALL_SIZES 32
typedef struct dlc_library_call {
  uint32_t op;                       /* dlc_library_op */
  uint32_t epilogue;                 /* bit set of dlc_epilogue, applied in the order of the bits */
  uint32_t transpose_a, transpose_b; /* PRODUCT: the operand is stored transposed */
  uint64_t sizes[DLC_CALL_SIZES];
  uint64_t workspace_bytes;
  dlc_range engine; /* of immediates: cuDNN engine, then pairs of knob and value; empty: the
                       library's heuristic */
  uint32_t layout;  /* dlc_call_layout of a convolution's tensors */
  uint32_t math;    /* dlc_math */
  uint32_t dtype;   /* DLC_BF16 or DLC_F16; DLC_F32 if it is that or 0 */
  uint32_t reserved;
} dlc_library_call;

typedef enum dlc_record_kind {
  DLC_RECORD_LAUNCH = 1,  /* kernel, arguments, immediates, tasks */
  DLC_RECORD_LIBRARY = 2, /* `index`: the call; not on the CPU */
  DLC_RECORD_COPY = 3,    /* arguments: destination, source; equal sizes, no overlap */
  DLC_RECORD_FILL = 4,    /* arguments: destination; `value` is the byte */
  /* `index`: dlc_collective; `value`: its channel; arguments: the buffer, read and written. Only
   * where data_parallel is set. All ranks issue the same ones of a channel in the same order. */
  DLC_RECORD_COLLECTIVE = 5,
  DLC_RECORD_RECORD_EVENT =
      7, /* `index`: the event; completes when all earlier records of `stream` have */
  DLC_RECORD_WAIT_EVENT = 8 /* `index`: the event; later records of `stream` start after it */
} dlc_record_kind;

/* What all ranks do together with a buffer that each of them has. */
typedef enum dlc_collective {
  DLC_COLLECTIVE_SUM = 1, /* becomes the sum over the ranks, the same bits on each of them */
  /* The same of what each rank makes of its buffer, of f32, with what it has left out before added
   * (error feedback), in blocks of DLC_SUM_BLOCK elements; with one rank nothing is left out.
   * ONE_BIT: two f32, the means of elements that are negative and of those that are not, and a bit
   * for each element. TOP_K: the DLC_SUM_TOP elements of greatest magnitude, as f32, and their
   * places, as u16; 0 for the others. */
  DLC_COLLECTIVE_SUM_ONE_BIT = 2,
  DLC_COLLECTIVE_SUM_TOP_K = 3
} dlc_collective;

#define DLC_SUM_BLOCK 1024u
#define DLC_SUM_TOP 10u

/* Collectives of one channel run in order; those of different channels may overtake each other. */
#define DLC_CHANNEL_BUCKETS 0u /* large: gradients */
#define DLC_CHANNEL_SMALL 1u   /* small ones that the next layer waits for: statistics */
#define DLC_CHANNELS 2u

/* One step of the plan. Records of one stream run in order; records of different streams are
 * ordered by events only. */
typedef struct dlc_record {
  uint32_t kind; /* dlc_record_kind */
  uint32_t stream;
  uint32_t index;       /* kernel, library call or event */
  uint32_t tasks;       /* LAUNCH: size of the grid (CUDA: blocks); 0 does nothing */
  dlc_range arguments;  /* of arguments */
  dlc_range immediates; /* of immediates */
  uint32_t value;       /* FILL: the byte */
  uint32_t phase;       /* LAUNCH: number of this phase of a kernel that takes several launches */
  dlc_string name;      /* layer and stage: features.conv2/backward_filter */
  uint64_t flops;       /* multiply and add counted as two; for the report, the trace and floors */
  uint64_t bytes;       /* bytes that it must read and write at least */
  uint32_t condition;   /* dlc_condition; LAUNCH and LIBRARY only */
  uint32_t call;        /* of a condition: the library call, of a LIBRARY record its own; else 0 */
} dlc_record;

/* When a record runs. A library may refuse a call when the plan is loaded: launches that take its
 * part stand behind it. A call without them must be accepted. */
typedef enum dlc_condition {
  DLC_ALWAYS = 0,
  DLC_IF_ACCEPTED = 1, /* the call, and launches before and behind it that belong to it */
  DLC_IF_REFUSED = 2   /* launches that compute the same without the library */
} dlc_condition;

#ifdef __cplusplus
}
#endif
#endif
