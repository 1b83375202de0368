/* Training, evaluation and inference from C, and from languages that call C. What dlc/run.h is for
 * C++: the same runs, with the same bits.
 *
 *   dlc_run *run;
 *   dlc_options options = {.size = sizeof options, .module = "lenet.so", .data = "idx:mnist"};
 *   if (dlc_run_open(&options, &run) || dlc_run_train(run, NULL))
 *     fprintf(stderr, "%s\n", dlc_message());
 *   dlc_run_free(run);
 *
 * Handles: `dlc_run` and `dlc_ranks` are opaque. The value of a handle is no address, and none is
 * given twice. A call with a handle that was freed, is NULL, of another kind, of another copy of
 * the library, or was made before a fork that this process came from, returns DLC_NOT_ALIVE and
 * does nothing.
 *
 * Ownership: dlc_run_free() and dlc_ranks_free() free all that there is to free. Structs and texts
 * that are passed are the caller's, and are read before the call returns; an array's `data` is read
 * where it lies, and how long it must stay is said at each function. A text that is returned is the
 * library's.
 *
 * Threads: distinct handles from distinct threads. A handle that another thread is at work in
 * returns DLC_IN_USE, dlc_run_stop() excepted; a run and the ranks that it was opened with count as
 * one. A callback is called on the thread that called the library, and may call what its comment
 * says; other calls of that run, or of its ranks, return DLC_IN_USE.
 *
 * Failure: a status, and dlc_message() says why. What fails has changed nothing, and the run may go
 * on. No call ends the program or writes to its streams. A callback returns 0, or another number to
 * end what is being done: that returns DLC_FAILED, and its message has the callback's name and the
 * number. It must return: longjmp() out of it is not allowed.
 *
 * Structs that begin with `size` may grow at the end in later versions. Callers set it to sizeof,
 * and all that they do not use to zero, which means "as if it were not there". What a program that
 * was compiled earlier does not have is as if it were zero.
 *
 * Texts are UTF-8 and end with a zero. Arrays are row-major and without gaps.
 */
#ifndef DLC_C_H
#define DLC_C_H

#include "dlc/abi.h"
#include "dlc/version.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ----------------------------------------------------------------------------------------------
 * status */

typedef enum dlc_status {
  DLC_OK = 0,
  DLC_INVALID_ARGUMENT = 1, /* what cannot be: an unknown name, a wrong size or dtype */
  DLC_IO = 2,               /* the operating system refused: no such file, no space */
  DLC_DAMAGED = 3,          /* a file is not what it claims to be */
  DLC_UNSUPPORTED = 4,      /* sound, but this machine or this version cannot serve it */
  DLC_OUT_OF_MEMORY = 5,
  DLC_FAILED = 6,    /* the computation went wrong, such as a loss that is not a number; a rank was
                        lost; or a callback returned another number than 0 */
  DLC_NOT_ALIVE = 7, /* the handle is none of this process's: see above */
  DLC_IN_USE = 8     /* another thread is at work in it, or a callback may not call this */
} dlc_status;

/* Why the last call on this thread that failed did so: one line of at most about 1,000 bytes, lower
 * case, without a full stop; "" if none has failed. Fields of structs stand in backquotes. It lives
 * until the next call on this thread that fails. */
DLC_API const char *dlc_message(void);

/* The version of the library, as DLC_VERSION is that of this header: "0.1.0". */
DLC_API const char *dlc_version(void);

/* ----------------------------------------------------------------------------------------------
 * arrays */

/* Beside the dtype of an array that lies on the CUDA device of the run, where cudaMalloc() or
 * cudaMallocManaged() gave its memory: DLC_F32 | DLC_ON_DEVICE. See dlc_run_set_stream(). The
 * memory of the CPU and of SIMT is the host's, so in runs on them it says nothing. Samples for
 * `train`, `test` and dlc_run_evaluate() lie on the host. */
#define DLC_ON_DEVICE 0x10000u

/* An array that the library reads. A single number has rank 0. */
typedef struct dlc_array {
  const char *name;
  uint32_t dtype; /* dlc_dtype, perhaps with DLC_ON_DEVICE */
  uint32_t rank;  /* at most DLC_MAX_RANK */
  uint64_t shape[DLC_MAX_RANK];
  const void *data;
} dlc_array;

/* One that it writes. The same in memory. */
typedef struct dlc_output {
  const char *name;
  uint32_t dtype;
  uint32_t rank;
  uint64_t shape[DLC_MAX_RANK];
  void *data;
} dlc_output;

/* ----------------------------------------------------------------------------------------------
 * what the library has to say beside its results */

typedef enum dlc_severity {
  DLC_SEVERITY_NOTE = 0,    /* worth knowing, and nothing is wrong */
  DLC_SEVERITY_WARNING = 1, /* goes on, but perhaps not as it was meant */
  DLC_SEVERITY_ERROR = 2    /* a failure of all ranks, which each is about to return: see log.h */
} dlc_severity;

/* Hears a line, without the end of one; `line` lives until it returns. Called on the thread that
 * calls the library, and for warnings about ranks on one of the library's own; on rank 0 alone, but
 * for errors, and for the warning that rank 0 is stopped, which is rank 1's. Of a checkpoint that
 * could not be written dlc_observer hears. Calls nothing of the library. */
typedef void (*dlc_log)(void *user, dlc_severity severity, const char *line);

/* ----------------------------------------------------------------------------------------------
 * ranks: the processes that train one model together */

typedef struct dlc_ranks dlc_ranks;

typedef struct dlc_ranks_options {
  size_t size;    /* sizeof(dlc_ranks_options) */
  double timeout; /* seconds that a rank may keep the others waiting, twenty times as long while it
                     loads, evaluates, writes or is in the program's own code; 0: 30 */
  dlc_log log;    /* hears warnings: of a rank that is stopped */
  void *user;     /* what `log` gets */
} dlc_ranks_options;

/* The ranks that mpirun or srun started this process among; one where it was started alone. MPI is
 * initialised by a thread of the library's, and is nobody else's. `options` may be NULL. */
DLC_API dlc_status dlc_ranks_launched(const dlc_ranks_options *options, dlc_ranks **out_ranks);

/* The processes of a communicator of the program's own: `communicator` is MPI_Comm_c2f() of it,
 * what Fortran has as it is. The program has initialised MPI with MPI_THREAD_SERIALIZED or more;
 * with that level it makes no call of MPI while a function of a run or of ranks is at work on this
 * process. All processes of the communicator call this. It is duplicated, and may be freed. Fails
 * with DLC_UNSUPPORTED if MPI is not initialised, was finalised, or has another level. */
DLC_API dlc_status dlc_ranks_join(int communicator, const dlc_ranks_options *options,
                                  dlc_ranks **out_ranks);

/* Which rank this process is, from 0, and of how many. Any thread may ask, callbacks too. */
DLC_API dlc_status dlc_ranks_rank(dlc_ranks *ranks, unsigned *out_rank);
DLC_API dlc_status dlc_ranks_size(dlc_ranks *ranks, unsigned *out_size);

/* Ends what the ranks do together, when all have come here; before MPI_Finalize(). Without it the
 * others take the end of this process for a failure. */
DLC_API dlc_status dlc_ranks_leave(dlc_ranks *ranks);

/* Frees the handle. Runs that were opened with it go on, and keep the ranks until they are freed.
 */
DLC_API dlc_status dlc_ranks_free(dlc_ranks *ranks);

/* ----------------------------------------------------------------------------------------------
 * a run */

typedef struct dlc_run dlc_run;

/* Fills the inputs of the entry that trains, whole ones, in the entry's order: batch number `batch`
 * of epoch number `epoch`, both from 0, in order; a run that is resumed asks for those behind its
 * checkpoint. `inputs` lives until it returns. May call what reads metrics and progress. */
typedef int (*dlc_fill)(void *user, uint64_t epoch, uint64_t batch, const dlc_output *inputs,
                        size_t count);

/* A setting in the place of the module's: "optimizer.learning_rate". */
typedef struct dlc_override {
  const char *name;
  double value;
} dlc_override;

typedef struct dlc_options {
  size_t size; /* sizeof(dlc_options) */

  const char *module; /* file that dlc wrote */
  const char *device; /* "cpu", "cuda" or "simt"; NULL: what the module was compiled for */
  uint32_t threads;   /* that run kernels, the calling one included; 0: one for each core. Results
                         do not depend on it */

  int resume;    /* go on where `checkpoint` ends; it must be there */
  int overwrite; /* whether `checkpoint` may be one that is there already, and is replaced */

  /* Training and test data as dlc-run's --data, "images:DIR" or "npz:FILE" (docs/formats.md); NULL:
   * none, or the following. */
  const char *data;
  /* Training data in the place of `data`: an array for each input of that name, whose first axis
   * counts samples. u8 becomes floats in [0, 1], other types keep their values. Nothing is copied:
   * `data` of the arrays stays until the run is freed, and what is changed there is trained on. */
  const dlc_array *train;
  size_t train_count;
  /* The same for evaluation, in the place of the test data of `data` and of `test_data`. */
  const dlc_array *test;
  size_t test_count;
  /* Batches that the program makes, in the place of training data. */
  dlc_fill batches_fill;
  uint64_t batches_per_epoch; /* of each rank; 0: not known, as where the program steps by itself */
  void *user;                 /* what `batches_fill` and `log` get */

  /* What happens to images on their way into a batch: a list of transforms, as dlc-run's --augment,
   * "crop:4,flip" or "@FILE"; NULL: that of the checkpoint that is resumed, of `weights` what
   * stands there for evaluation, or nothing. */
  const char *augment;

  uint64_t seed;   /* of initial values, order and all that is drawn; 0: that of the checkpoint that
                      is resumed, or 0; see `seed_given` */
  uint64_t epochs; /* in all, those before a resumption included; 0: the module's setting, or 1 */
  uint64_t steps;  /* at most so many batches in one call of dlc_run_train(); 0: no limit */
  const dlc_override *overrides;
  size_t override_count;

  const char *checkpoint;    /* file that dlc_run_train() writes after each epoch and at its end, on
                                rank 0 */
  uint64_t checkpoint_every; /* it is written each so many batches as well; 0: not */
  const char *init_from;     /* a file of weights to begin with, as far as it has the model's */

  dlc_ranks *ranks;     /* who trains together; NULL: this process alone */
  uint64_t check_ranks; /* compare the parameters of all ranks each so many batches;
                          0: before checkpoints alone */
  dlc_log log;          /* hears what there is to say until the run is freed */

  int seed_given; /* whether `seed` is given where it is 0, so that no other is resumed */

  /* How samples become batches beside the training; no bit depends on it. */
  uint32_t load_workers; /* threads; 0: one for samples that lie in memory, else one for two
                            processors */
  uint32_t load_ahead;   /* batches that are made ahead of the one that is trained on, beside one of
                            each worker; 0: 3 */

  const char *test_data; /* test data alone, in the place of those of `data`, as that has them */
  const char *weights;   /* a file whose weights the run begins with, as dlc_run_load() takes them:
                            to evaluate or to infer */

  uint64_t keep; /* how many checkpoints stay: `checkpoint`, and before it CHECKPOINT.step-N of
                    N batches; 0 and 1: the last one alone */
  const char
      *save_best;          /* a metric of evaluations, as "accuracy" or "error:min": the checkpoint
                              behind the best of them is CHECKPOINT.best as well; NULL: there is none */
  uint64_t evaluate_every; /* evaluate within an epoch too, each so many batches, and write
                              `checkpoint` behind it; 0: not */
  uint64_t patience; /* end dlc_run_train() behind so many evaluations of which none was better
                        than the best before them; 0: never */
  double min_delta;  /* by more than this */
  const char *patience_metric; /* in which metric; NULL: that of `save_best`, else the first loss */
  double time_limit; /* end dlc_run_train() behind the first batch that ends after so many seconds,
                        as if it were complete; 0: never */
  const char *log_file;      /* file that dlc_run_train() adds a line to, on rank 0, for each step,
                                evaluation and epoch: JSON, or CSV where its name ends with .csv */
  const char *const *rename; /* "REGEX=REPLACEMENT" each, which make the module's names of those in
                                `init_from`, as sed does: \1 is the first group */
  size_t rename_count;

  double limit; /* what dlc_run_train() takes of each epoch's batches, of the training and of each
                   evaluation, on each rank: a part of them, below 1, or at most so many, a whole
                   number; 0: all */
  uint64_t overfit_batches; /* train on the first so many batches of each rank in each epoch, in
                               their order and with the same draws, and evaluate on their samples:
                               what can be learnt by heart is; 0: not */
  int fast_dev_run; /* a call of dlc_run_train() is one batch, or as many as the first update
                       of all steps takes, and an evaluation of one, and writes no file */
  int check_finite; /* name the first tensor that is not finite where a step fails for it,
                       and look at all parameters behind each step. Much slower */
  uint64_t norms;   /* DLC_REPORT_WEIGHT_NORMS and DLC_REPORT_GRADIENT_NORMS have those of each so
                       many steps, summed on the host; 0: of none */
  double share; /* work at most this part of the time and rest behind each step for others, above 0
                   and up to 1; all ranks rest alike; 0: 1 */
  uint64_t max_bad_records; /* damaged samples of a pass over the data, of each rank, that are left
                               out where one more fails as the first does if this is 0; dlc/data.h
                               says what takes their place */
  const char
      *tensorboard;    /* folder that a run writes a file of its own to, on rank 0, of events that
                          TensorBoard shows: what `log_file` has, what the model is, and the
                          images of its first batch, 64 at most, where libdlc_images.so is */
  uint64_t histograms; /* with it, how each parameter's values are spread, behind each so many
                          epochs; 0: not */
} dlc_options;

/* Loads the module, opens the device, initialises or resumes, and checks all that can be checked
 * before the first batch. Among several ranks all call it, and all fail alike. *out_run is NULL if
 * it fails. */
DLC_API dlc_status dlc_run_open(const dlc_options *options, dlc_run **out_run);

/* Frees the run, which writes nothing. DLC_IN_USE, and nothing is freed, in its own callbacks and
 * while another thread is at work in it. */
DLC_API dlc_status dlc_run_free(dlc_run *run);

/* Where a run stands. */
typedef struct dlc_progress {
  size_t size; /* sizeof(dlc_progress): set by who asks, in callbacks by the library */
  uint64_t seed;
  uint64_t step;           /* batches trained on since the run began */
  uint64_t epoch;          /* epochs completed */
  uint64_t position;       /* batches done in the current one */
  uint64_t epochs;         /* those that dlc_run_train() goes up to */
  uint64_t steps_in_epoch; /* batches of an epoch; 0: not known, or nothing was trained yet */
  uint64_t samples;        /* of the last batch; in on_epoch of the epoch */
  double seconds;          /* that these took */
  uint64_t saved_step;     /* the step that the last checkpoint of this run holds; UINT64_MAX: none
                              was written */
  uint64_t bad_records;    /* damaged samples that `max_bad_records` left out, added over the ranks:
                              of the epoch that ended last, since it began or was resumed */
  uint64_t test_bad_records; /* and of the last evaluation */
} dlc_progress;

/* Hears how a run goes. Returns 0 to go on. */
typedef int (*dlc_observe)(void *user, dlc_run *run, const dlc_progress *progress);
/* Hears why something failed, in a line as dlc_message() has it, which lives until this returns. */
typedef int (*dlc_observe_failure)(void *user, dlc_run *run, const dlc_progress *progress,
                                   const char *reason);

/* Each may be NULL. All may call what reads metrics and progress, and dlc_run_stop(). */
typedef struct dlc_observer {
  size_t size; /* sizeof(dlc_observer) */
  void *user;
  dlc_observe on_step;     /* after a batch; may call dlc_run_set() */
  dlc_observe on_epoch;    /* after an epoch, and at the end within one; may call dlc_run_set(),
                              dlc_run_evaluate(), dlc_run_predict() and what reads weights */
  dlc_observe should_stop; /* before each batch, or behind each among several ranks; another number
                              than 0 ends the training as if it were complete, which is no failure
                              */
  dlc_observe on_checkpoint; /* `checkpoint` was written, while training went on, and holds
                                `saved_step`; on rank 0 */
  dlc_observe_failure on_checkpoint_failed; /* after it could not be, where the training goes on and
                                               the next one is tried; on rank 0 */
} dlc_observer;

/* Trains up to `epochs`, or `steps` batches, evaluates after each epoch where there are test data,
 * and writes the checkpoint; `observer` may be NULL. Fails with DLC_INVALID_ARGUMENT where there
 * are no training data; with DLC_FAILED if a loss, a result or a variable is not finite; with
 * DLC_IO, at the end, if checkpoints could not be written. A callback of `observer` that fails ends
 * the training as if it were complete, on all ranks: the checkpoint is written, and this rank
 * returns DLC_FAILED. Afterwards it may be called again. */
DLC_API dlc_status dlc_run_train(dlc_run *run, const dlc_observer *observer);

/* Ends dlc_run_train() after the batch that it is at, as if it were complete; the next one goes on.
 * Where none is at work, the next one ends at once. From any thread, a callback, or a signal's
 * handler; it leaves dlc_message() as it is. */
DLC_API dlc_status dlc_run_stop(dlc_run *run);

/* Trains on one batch of the caller's: an array for each input of the entry that trains, of its
 * dtype, and its shape but for axes of extent 1; read until the call returns. Rates follow the
 * module's schedule; one that counts epochs needs `batches_per_epoch`. Nothing is evaluated and
 * nothing written.
 * All ranks call it together, each with a batch of its own. One that has no more gives none, with
 * `count` 0: it adds zeros to sums over ranks, and gradients, losses and statistics are means over
 * the ranks that have a batch; learning rates are those of all ranks. Where no rank has one nothing
 * is done, and dlc_progress has 0 samples. On CUDA, and with modules that accumulate gradients,
 * each rank needs a batch: all return DLC_UNSUPPORTED. Where one rank's arrays do not fit all
 * fail. */
DLC_API dlc_status dlc_run_step(dlc_run *run, const dlc_array *batch, size_t count);

/* Losses and metrics of the present weights on the test data, or on `count` arrays as `train` has
 * them, each sample once; DLC_REPORT_TEST has them then. Ranks share the batches. */
DLC_API dlc_status dlc_run_evaluate(dlc_run *run, const dlc_array *arrays, size_t count);

/* Runs an entry that infers, the first one if `entry` is NULL, with the present weights: those in
 * training, or their averages where the model keeps some. An array for each input; where samples
 * are counted by the first axis of all inputs, any number of samples. Writes some of the entry's
 * outputs, or all, to the caller's memory, in shapes of as many samples. Each rank by itself. */
DLC_API dlc_status dlc_run_predict(dlc_run *run, const char *entry, const dlc_array *inputs,
                                   size_t input_count, const dlc_output *outputs,
                                   size_t output_count);

/* Writes a checkpoint, from which a run resumes to the bit. All ranks call it; rank 0 writes. */
DLC_API dlc_status dlc_run_save(dlc_run *run, const char *path);
/* Takes the weights of a checkpoint, or of a file of PyTorch's, for those of this run; counters and
 * optimizer stay. All ranks call it; rank 0 reads. */
DLC_API dlc_status dlc_run_load(dlc_run *run, const char *path);

/* The number of the CUDA device that the run is on, as CUDA counts them; -1 on the CPU and on SIMT.
 */
DLC_API dlc_status dlc_run_cuda_device(dlc_run *run, int *out_device);
/* The program's stream on that device, a cudaStream_t; NULL, as at first, is CUDA's default stream.
 * Arrays and weights that lie on the device are read and written behind all that this stream has
 * been given, and ahead of what it is given when the call has returned; the host waits for neither.
 * It must not record a graph. Runs on the CPU and on SIMT do not look at it: what a call has to do
 * there is done when it returns. */
DLC_API dlc_status dlc_run_set_stream(dlc_run *run, void *stream);

/* Sets one of the module's settings from the next step on, as `overrides` does. */
DLC_API dlc_status dlc_run_set(dlc_run *run, const char *setting, double value);

DLC_API dlc_status dlc_run_progress(dlc_run *run, dlc_progress *out_progress);

/* ----------------------------------------------------------------------------------------------
 * a sweep over learning rates */

typedef struct dlc_rate_options {
  size_t size;     /* sizeof(dlc_rate_options) */
  double from, to; /* the rates of the first and of the last batch, each by the same factor above
                      the one before; 0: 1e-7 and 10 */
  uint64_t steps;  /* 0: 100 */
} dlc_rate_options;

typedef struct dlc_rate_search {
  size_t size;         /* sizeof(dlc_rate_search): set by who asks */
  const char *setting; /* that the rates are of, as "optimizer.learning_rate"; others kept their
                          proportion. It lives until the run is freed */
  uint64_t count;      /* points of the curve: see dlc_run_rate_point() */
  double suggested;    /* where the smoothed loss fell the steepest; 0: it fell nowhere */
  int diverged;        /* whether the sweep ended early, as the loss rose to four times its least or
                          was not finite */
} dlc_rate_search;

/* A batch of the sweep: its loss, and the mean of it and those before, the later ones counting
 * more.
 */
typedef struct dlc_rate_point {
  double rate, loss, smoothed;
} dlc_rate_point;

/* Trains a copy of the present weights, batch by batch at higher learning rates in the place of the
 * schedule's, on the training data from the first epoch's first batch on, to find one that fits;
 * `options` may be NULL. Nothing of the run changes and no file is written but `log_file`. All
 * ranks call it alike. */
DLC_API dlc_status dlc_run_find_rate(dlc_run *run, const dlc_rate_options *options,
                                     dlc_rate_search *out_search);
/* Number `index` of the last sweep's curve. */
DLC_API dlc_status dlc_run_rate_point(dlc_run *run, size_t index, dlc_rate_point *out_point);

/* ----------------------------------------------------------------------------------------------
 * losses and metrics, of what was reported last */

typedef enum dlc_report {
  DLC_REPORT_BATCH = 1, /* the last batch alone */
  DLC_REPORT_EPOCH = 2, /* the batches of the epoch so far, or of the one that ended */
  DLC_REPORT_TEST = 3,  /* the last evaluation */
  DLC_REPORT_RATES = 4, /* the learning rates of the last update: names of scalars */
  /* The norms of parameters, by their names, and of their gradients in the last update, where the
   * module gives those (dlc --weight-gradients): of the last step that `norms` asked for. */
  DLC_REPORT_WEIGHT_NORMS = 5,
  DLC_REPORT_GRADIENT_NORMS = 6
} dlc_report;

/* How many a report has; 0 if there was none yet. */
DLC_API dlc_status dlc_run_metric_count(dlc_run *run, dlc_report report, size_t *out_count);
/* The name of number `index`, in the module's order; it lives until the run is freed. */
DLC_API dlc_status dlc_run_metric_name(dlc_run *run, dlc_report report, size_t index,
                                       const char **out_name);
/* The value of a number; 0 of a table. */
DLC_API dlc_status dlc_run_metric(dlc_run *run, dlc_report report, const char *name,
                                  double *out_value);
/* A square table: its rows and columns, 0 of a number; and, row by row, its values to `table`,
 * which has room for `count` of them, or is NULL. */
DLC_API dlc_status dlc_run_metric_table(dlc_run *run, dlc_report report, const char *name,
                                        size_t *out_side, double *table, size_t count);

/* ----------------------------------------------------------------------------------------------
 * what the module takes and gives */

/* Input or output number `index` of an entry: name, dtype and shape; its `data` is NULL. `entry`
 * may be NULL: for inputs the one that trains, for outputs the first one that infers. Fails with
 * DLC_INVALID_ARGUMENT behind the last one. The name lives until the run is freed. */
DLC_API dlc_status dlc_run_input(dlc_run *run, const char *entry, size_t index,
                                 dlc_array *out_input);
DLC_API dlc_status dlc_run_output(dlc_run *run, const char *entry, size_t index,
                                  dlc_array *out_output);

/* ----------------------------------------------------------------------------------------------
 * weights and other variables */

/* The weights as one block: all parameters and statistics in the order in which the module lists
 * them, each row-major in its own type, one right behind the other. */
DLC_API dlc_status dlc_run_weights_bytes(dlc_run *run, uint64_t *out_bytes);
DLC_API dlc_status dlc_run_read_weights(dlc_run *run, void *weights, uint64_t bytes);
DLC_API dlc_status dlc_run_write_weights(dlc_run *run, const void *weights, uint64_t bytes);
/* The same where the block lies on the device of the run. */
DLC_API dlc_status dlc_run_read_device_weights(dlc_run *run, void *weights, uint64_t bytes);
DLC_API dlc_status dlc_run_write_device_weights(dlc_run *run, const void *weights, uint64_t bytes);

/* Makes the weights, but for whole numbers, their mean over `ranks`, each counting `weight` times:
 * after local steps, or of data of different size. A rank without data gives 0. All ranks call it,
 * and end with the same bits. Slots of optimizers stay. A run that is only averaged needs no
 * `ranks` of its own. */
DLC_API dlc_status dlc_run_average_weights(dlc_run *run, dlc_ranks *ranks, double weight);

/* How many variables the module has: parameters, slots of optimizers, statistics, states,
 * counters, and those that are derived from others. */
DLC_API dlc_status dlc_run_variable_count(dlc_run *run, size_t *out_count);
/* Number `index`: name, dtype and shape; its `data` is NULL. Its dlc_role goes to *out_role, which
 * may be NULL. The name lives until the run is freed. */
DLC_API dlc_status dlc_run_variable(dlc_run *run, size_t index, dlc_array *out_variable,
                                    uint32_t *out_role);
/* Copies the variable of that name to or from the caller's memory: an array of its dtype, and its
 * shape but for axes of extent 1. A parameter that is written leaves its slots. */
DLC_API dlc_status dlc_run_read_variable(dlc_run *run, const dlc_output *variable);
DLC_API dlc_status dlc_run_write_variable(dlc_run *run, const dlc_array *variable);

#ifdef __cplusplus
}
#endif
#endif
