! Training, evaluation and inference from Fortran: dlc/c.h, with keywords, arrays as they are and
! errors as Fortran has them. That header says what each call does and how it fails.
!
!   use dlc
!   type(dlc_run) :: run
!   call run%open(module='lenet.so', data='idx:mnist', seed=1)
!   call run%train()
!   print *, run%metric('accuracy', DLC_REPORT_TEST)
!   call run%close()
!
! A module file belongs to one compiler, so programs compile this file as one of their own.
!
! Arrays: Fortran's array(a, b, c, n) is what a model calls [n, c, b, a]. The numbers lie in memory
! as the model reads them, and nothing is copied: what counts samples is the last axis here and the
! first one there. An image(width, height, channels, n) fits f32[n, channels, height, width]. Actual
! arguments of dlc_array() have the attribute target.
!
! Errors: calls have `stat` and `message` at their end, as allocate() has stat and errmsg: 0 or a
! status, and why, where something has failed. Without `stat` a failure prints its message and ends
! the program with error stop 1.
!
! Ownership: a copy of a dlc_run or dlc_ranks is the same handle. close() and free() end it for all
! copies; what is called then fails with DLC_NOT_ALIVE.
module dlc
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: error_unit
  implicit none
  private
  public :: dlc_run, dlc_ranks, dlc_array, dlc_override, dlc_progress, dlc_rate_search
  public :: dlc_observer, dlc_batches, dlc_log, dlc_version

  !> Of calls: what `stat` is.
  integer, parameter, public :: DLC_OK = 0, DLC_INVALID_ARGUMENT = 1, DLC_IO = 2, DLC_DAMAGED = 3, &
      DLC_UNSUPPORTED = 4, DLC_OUT_OF_MEMORY = 5, DLC_FAILED = 6, DLC_NOT_ALIVE = 7, DLC_IN_USE = 8
  !> Of arrays.
  integer, parameter, public :: DLC_F32 = 1, DLC_F64 = 2, DLC_BF16 = 3, DLC_F16 = 4, DLC_I32 = 5, &
      DLC_I64 = 6, DLC_U8 = 7, DLC_BOOL = 8
  !> Beside the dtype of an array that lies on the CUDA device of the run: see c.h.
  integer, parameter, public :: DLC_ON_DEVICE = 65536
  integer, parameter, public :: DLC_MAX_RANK = 8, DLC_MAX_NAME = 256
  integer, parameter :: longest_message = 1100
  !> Of variables.
  integer, parameter, public :: DLC_ROLE_PARAMETER = 1, DLC_ROLE_SLOT = 2, DLC_ROLE_STATISTIC = 3, &
      DLC_ROLE_STATE = 4, DLC_ROLE_COUNTER = 5, DLC_ROLE_METRIC = 6, DLC_ROLE_DERIVED = 7
  !> Whose losses and metrics.
  integer, parameter, public :: DLC_REPORT_BATCH = 1, DLC_REPORT_EPOCH = 2, DLC_REPORT_TEST = 3, &
      DLC_REPORT_RATES = 4, DLC_REPORT_WEIGHT_NORMS = 5, DLC_REPORT_GRADIENT_NORMS = 6
  !> Of what the library has to say.
  integer, parameter, public :: DLC_SEVERITY_NOTE = 0, DLC_SEVERITY_WARNING = 1, &
      DLC_SEVERITY_ERROR = 2

  !> An array of the program's under the name that the model has for it. dlc_array('image', x) makes
  !> one of a real or integer array of rank 1 to 5; of integer(c_int8_t) it is u8. Others, such as
  !> bf16, set the components; so does what lies on the device: x%dtype = x%dtype + DLC_ON_DEVICE.
  type :: dlc_array
    character(DLC_MAX_NAME) :: name = ''
    integer :: dtype = 0, rank = 0
    !> In Fortran's order.
    integer(c_int64_t) :: shape(DLC_MAX_RANK) = 0
    type(c_ptr) :: data = c_null_ptr
    !> A section with gaps, which no call takes.
    logical :: gaps = .false.
  end type

  interface dlc_array
    module procedure :: &
          f32_1, f32_2, f32_3, f32_4, f32_5, &
          f64_1, f64_2, f64_3, f64_4, f64_5, &
          i32_1, i32_2, i32_3, i32_4, i32_5, &
          i64_1, i64_2, i64_3, i64_4, i64_5, &
          u8_1, u8_2, u8_3, u8_4, u8_5
  end interface

  !> dlc_override('optimizer.learning_rate', 0.01d0)
  type :: dlc_override
    character(DLC_MAX_NAME) :: name
    real(c_double) :: value
  end type

  !> Where a run stands: see c.h.
  type, bind(C) :: dlc_progress
    integer(c_size_t) :: size = 0
    integer(c_int64_t) :: seed = 0, step = 0, epoch = 0, position = 0, epochs = 0, &
        steps_in_epoch = 0, samples = 0
    real(c_double) :: seconds = 0
    !> -1: none was written.
    integer(c_int64_t) :: saved_step = -1
    integer(c_int64_t) :: bad_records = 0, test_bad_records = 0
  end type

  !> What a sweep over learning rates says: see c.h.
  type :: dlc_rate_search
    character(DLC_MAX_NAME) :: setting = ''
    !> 0: the loss fell nowhere.
    real(c_double) :: suggested = 0
    logical :: diverged = .false.
    !> The curve, batch by batch.
    real(c_double), allocatable :: rate(:), loss(:), smoothed(:)
  end type

  !> Hears what there is to say, in a type of the program's that extends it.
  type, abstract :: dlc_log
  contains
    procedure(hear), deferred :: hear
  end type

  !> Fills batches, in a type of the program's that extends it.
  type, abstract :: dlc_batches
  contains
    procedure(fill), deferred :: fill
  end type

  !> What callbacks reach: it stays where it is while a handle is open.
  type :: hooks
    class(dlc_log), pointer :: log => null()
    class(dlc_batches), pointer :: batches => null()
  end type

  !> The processes that train one model together.
  type :: dlc_ranks
    private
    type(c_ptr) :: handle = c_null_ptr
    type(hooks), pointer :: hooks => null()
  contains
    procedure :: launched => ranks_launched
    procedure :: join => ranks_join
    procedure :: rank => ranks_rank
    procedure :: size => ranks_size
    procedure :: leave => ranks_leave
    procedure :: free => ranks_free
  end type

  type :: dlc_run
    private
    type(c_ptr) :: handle = c_null_ptr
    type(hooks), pointer :: hooks => null()
  contains
    procedure :: open => run_open
    procedure :: close => run_close
    procedure :: train => run_train
    procedure :: stop => run_stop
    procedure :: step => run_step
    procedure :: evaluate => run_evaluate
    procedure :: predict => run_predict
    procedure :: save => run_save
    procedure :: load => run_load
    procedure :: cuda_device => run_cuda_device
    procedure :: set_stream => run_set_stream
    procedure :: set => run_set
    procedure :: progress => run_progress
    procedure :: find_rate => run_find_rate
    procedure :: metric => run_metric
    procedure :: metric_count => run_metric_count
    procedure :: metric_name => run_metric_name
    procedure :: metric_table => run_metric_table
    procedure :: input => run_input
    procedure :: output => run_output
    procedure :: variable_count => run_variable_count
    procedure :: variable => run_variable
    procedure :: read_variable => run_read_variable
    procedure :: write_variable => run_write_variable
    procedure :: weights_bytes => run_weights_bytes
    procedure :: read_weights => run_read_weights
    procedure :: write_weights => run_write_weights
    procedure :: average_weights => run_average_weights
  end type

  !> Hears how a run goes. A type of the program's extends it and overrides what it wants to hear.
  type :: dlc_observer
  contains
    procedure :: on_step
    procedure :: on_epoch
    procedure :: should_stop
    procedure :: on_checkpoint
    procedure :: on_checkpoint_failed
  end type

  abstract interface
    !> `line` is one sentence.
    subroutine hear(self, severity, line)
      import dlc_log
      class(dlc_log), intent(inout) :: self
      integer, intent(in) :: severity
      character(*), intent(in) :: line
    end subroutine

    !> Fills the inputs of the entry that trains: call c_f_pointer(inputs(1)%data, image,
    !> inputs(1)%shape(:4)). Batch number `batch` of epoch number `epoch`, both from 0. A result
    !> other than 0 ends the training with DLC_FAILED.
    integer function fill(self, epoch, batch, inputs)
      import dlc_batches, dlc_array, c_int64_t
      class(dlc_batches), intent(inout) :: self
      integer(c_int64_t), intent(in) :: epoch, batch
      type(dlc_array), intent(in) :: inputs(:)
    end function
  end interface

  ! The structs of c.h. An array that is read and one that is written are the same in memory.
  type, bind(C) :: c_array
    type(c_ptr) :: name = c_null_ptr
    integer(c_int32_t) :: dtype = 0, rank = 0
    integer(c_int64_t) :: shape(DLC_MAX_RANK) = 0
    type(c_ptr) :: data = c_null_ptr
  end type

  type, bind(C) :: c_override
    type(c_ptr) :: name = c_null_ptr
    real(c_double) :: value = 0
  end type

  type, bind(C) :: c_ranks_options
    integer(c_size_t) :: size = 0
    real(c_double) :: timeout = 0
    type(c_funptr) :: log = c_null_funptr
    type(c_ptr) :: user = c_null_ptr
  end type

  type, bind(C) :: c_options
    integer(c_size_t) :: size = 0
    type(c_ptr) :: module = c_null_ptr, device = c_null_ptr
    integer(c_int32_t) :: threads = 0
    integer(c_int) :: resume = 0, overwrite = 0
    type(c_ptr) :: data = c_null_ptr, train = c_null_ptr
    integer(c_size_t) :: train_count = 0
    type(c_ptr) :: test = c_null_ptr
    integer(c_size_t) :: test_count = 0
    type(c_funptr) :: batches_fill = c_null_funptr
    integer(c_int64_t) :: batches_per_epoch = 0
    type(c_ptr) :: user = c_null_ptr, augment = c_null_ptr
    integer(c_int64_t) :: seed = 0, epochs = 0, steps = 0
    type(c_ptr) :: overrides = c_null_ptr
    integer(c_size_t) :: override_count = 0
    type(c_ptr) :: checkpoint = c_null_ptr
    integer(c_int64_t) :: checkpoint_every = 0
    type(c_ptr) :: init_from = c_null_ptr, ranks = c_null_ptr
    integer(c_int64_t) :: check_ranks = 0
    type(c_funptr) :: log = c_null_funptr
    integer(c_int) :: seed_given = 0
    integer(c_int32_t) :: load_workers = 0, load_ahead = 0
    type(c_ptr) :: test_data = c_null_ptr, weights = c_null_ptr
    integer(c_int64_t) :: keep = 0
    type(c_ptr) :: save_best = c_null_ptr
    integer(c_int64_t) :: evaluate_every = 0, patience = 0
    real(c_double) :: min_delta = 0
    type(c_ptr) :: patience_metric = c_null_ptr
    real(c_double) :: time_limit = 0
    type(c_ptr) :: log_file = c_null_ptr, rename = c_null_ptr
    integer(c_size_t) :: rename_count = 0
    real(c_double) :: limit = 0
    integer(c_int64_t) :: overfit_batches = 0
    integer(c_int) :: fast_dev_run = 0, check_finite = 0
    integer(c_int64_t) :: norms = 0
    real(c_double) :: share = 0
    integer(c_int64_t) :: max_bad_records = 0
    type(c_ptr) :: tensorboard = c_null_ptr
    integer(c_int64_t) :: histograms = 0
  end type

  type, bind(C) :: c_rate_options
    integer(c_size_t) :: size = 0
    real(c_double) :: from = 0, to = 0
    integer(c_int64_t) :: steps = 0
  end type

  type, bind(C) :: c_rate_search
    integer(c_size_t) :: size = 0
    type(c_ptr) :: setting = c_null_ptr
    integer(c_int64_t) :: count = 0
    real(c_double) :: suggested = 0
    integer(c_int) :: diverged = 0
  end type

  type, bind(C) :: c_rate_point
    real(c_double) :: rate = 0, loss = 0, smoothed = 0
  end type

  type, bind(C) :: c_observer
    integer(c_size_t) :: size = 0
    type(c_ptr) :: user = c_null_ptr
    type(c_funptr) :: on_step = c_null_funptr, on_epoch = c_null_funptr, &
        should_stop = c_null_funptr, on_checkpoint = c_null_funptr, &
        on_checkpoint_failed = c_null_funptr
  end type

  !> What the observer's callbacks reach.
  type :: observed
    class(dlc_observer), pointer :: observer => null()
    type(dlc_run) :: run
  end type

  !> Texts as C has them, some beside the structs that lead to them.
  type :: c_text
    character(c_char), allocatable :: characters(:)
  end type

  type :: c_overrides
    type(c_override), allocatable :: all(:)
    character(c_char), allocatable :: names(:, :)
  end type

  type :: c_texts
    type(c_ptr), allocatable :: all(:)
    character(c_char), allocatable :: characters(:, :)
  end type

  type :: c_arrays
    type(c_array), allocatable :: all(:)
    character(c_char), allocatable :: names(:, :)
  end type

  interface
    type(c_ptr) function c_message() bind(C, name='dlc_message')
      import c_ptr
    end function
    type(c_ptr) function c_version() bind(C, name='dlc_version')
      import c_ptr
    end function
    integer(c_size_t) function c_length(text) bind(C, name='strlen')
      import c_size_t, c_ptr
      type(c_ptr), value :: text
    end function

    integer(c_int) function c_ranks_launched(options, ranks) bind(C, name='dlc_ranks_launched')
      import c_int, c_ptr, c_ranks_options
      type(c_ranks_options), intent(in) :: options
      type(c_ptr), intent(out) :: ranks
    end function
    integer(c_int) function c_ranks_join(communicator, options, ranks) &
        bind(C, name='dlc_ranks_join')
      import c_int, c_ptr, c_ranks_options
      integer(c_int), value :: communicator
      type(c_ranks_options), intent(in) :: options
      type(c_ptr), intent(out) :: ranks
    end function
    integer(c_int) function c_ranks_rank(ranks, rank) bind(C, name='dlc_ranks_rank')
      import c_int, c_ptr
      type(c_ptr), value :: ranks
      integer(c_int), intent(out) :: rank
    end function
    integer(c_int) function c_ranks_size(ranks, size) bind(C, name='dlc_ranks_size')
      import c_int, c_ptr
      type(c_ptr), value :: ranks
      integer(c_int), intent(out) :: size
    end function
    integer(c_int) function c_ranks_leave(ranks) bind(C, name='dlc_ranks_leave')
      import c_int, c_ptr
      type(c_ptr), value :: ranks
    end function
    integer(c_int) function c_ranks_free(ranks) bind(C, name='dlc_ranks_free')
      import c_int, c_ptr
      type(c_ptr), value :: ranks
    end function

    integer(c_int) function c_run_open(options, run) bind(C, name='dlc_run_open')
      import c_int, c_ptr, c_options
      type(c_options), intent(in) :: options
      type(c_ptr), intent(out) :: run
    end function
    integer(c_int) function c_run_free(run) bind(C, name='dlc_run_free')
      import c_int, c_ptr
      type(c_ptr), value :: run
    end function
    integer(c_int) function c_run_train(run, observer) bind(C, name='dlc_run_train')
      import c_int, c_ptr
      type(c_ptr), value :: run, observer
    end function
    integer(c_int) function c_run_stop(run) bind(C, name='dlc_run_stop')
      import c_int, c_ptr
      type(c_ptr), value :: run
    end function
    integer(c_int) function c_run_step(run, batch, count) bind(C, name='dlc_run_step')
      import c_int, c_ptr, c_size_t, c_array
      type(c_ptr), value :: run
      type(c_array), intent(in) :: batch(*)
      integer(c_size_t), value :: count
    end function
    integer(c_int) function c_run_evaluate(run, arrays, count) bind(C, name='dlc_run_evaluate')
      import c_int, c_ptr, c_size_t, c_array
      type(c_ptr), value :: run
      type(c_array), intent(in) :: arrays(*)
      integer(c_size_t), value :: count
    end function
    integer(c_int) function c_run_predict(run, entry, inputs, input_count, outputs, output_count) &
        bind(C, name='dlc_run_predict')
      import c_int, c_ptr, c_size_t, c_array
      type(c_ptr), value :: run, entry
      type(c_array), intent(in) :: inputs(*), outputs(*)
      integer(c_size_t), value :: input_count, output_count
    end function
    integer(c_int) function c_run_save(run, path) bind(C, name='dlc_run_save')
      import c_int, c_ptr, c_char
      type(c_ptr), value :: run
      character(c_char), intent(in) :: path(*)
    end function
    integer(c_int) function c_run_load(run, path) bind(C, name='dlc_run_load')
      import c_int, c_ptr, c_char
      type(c_ptr), value :: run
      character(c_char), intent(in) :: path(*)
    end function
    integer(c_int) function c_run_cuda_device(run, device) bind(C, name='dlc_run_cuda_device')
      import c_int, c_ptr
      type(c_ptr), value :: run
      integer(c_int), intent(inout) :: device
    end function
    integer(c_int) function c_run_set_stream(run, stream) bind(C, name='dlc_run_set_stream')
      import c_int, c_ptr
      type(c_ptr), value :: run, stream
    end function
    integer(c_int) function c_run_set(run, setting, value) bind(C, name='dlc_run_set')
      import c_int, c_ptr, c_char, c_double
      type(c_ptr), value :: run
      character(c_char), intent(in) :: setting(*)
      real(c_double), value :: value
    end function
    integer(c_int) function c_run_progress(run, progress) bind(C, name='dlc_run_progress')
      import c_int, c_ptr, dlc_progress
      type(c_ptr), value :: run
      type(dlc_progress), intent(inout) :: progress
    end function
    integer(c_int) function c_run_find_rate(run, options, search) bind(C, name='dlc_run_find_rate')
      import c_int, c_ptr, c_rate_options, c_rate_search
      type(c_ptr), value :: run
      type(c_rate_options), intent(in) :: options
      type(c_rate_search), intent(inout) :: search
    end function
    integer(c_int) function c_run_rate_point(run, index, point) bind(C, name='dlc_run_rate_point')
      import c_int, c_ptr, c_size_t, c_rate_point
      type(c_ptr), value :: run
      integer(c_size_t), value :: index
      type(c_rate_point), intent(inout) :: point
    end function
    integer(c_int) function c_run_metric(run, report, name, value) bind(C, name='dlc_run_metric')
      import c_int, c_ptr, c_char, c_double
      type(c_ptr), value :: run
      integer(c_int), value :: report
      character(c_char), intent(in) :: name(*)
      real(c_double), intent(inout) :: value
    end function
    integer(c_int) function c_run_metric_count(run, report, count) &
        bind(C, name='dlc_run_metric_count')
      import c_int, c_ptr, c_size_t
      type(c_ptr), value :: run
      integer(c_int), value :: report
      integer(c_size_t), intent(inout) :: count
    end function
    integer(c_int) function c_run_metric_name(run, report, index, name) &
        bind(C, name='dlc_run_metric_name')
      import c_int, c_ptr, c_size_t
      type(c_ptr), value :: run
      integer(c_int), value :: report
      integer(c_size_t), value :: index
      type(c_ptr), intent(inout) :: name
    end function
    integer(c_int) function c_run_metric_table(run, report, name, side, table, count) &
        bind(C, name='dlc_run_metric_table')
      import c_int, c_ptr, c_size_t, c_char
      type(c_ptr), value :: run
      integer(c_int), value :: report
      character(c_char), intent(in) :: name(*)
      integer(c_size_t), intent(inout) :: side
      type(c_ptr), value :: table
      integer(c_size_t), value :: count
    end function
    integer(c_int) function c_run_input(run, entry, index, input) bind(C, name='dlc_run_input')
      import c_int, c_ptr, c_size_t, c_array
      type(c_ptr), value :: run, entry
      integer(c_size_t), value :: index
      type(c_array), intent(inout) :: input
    end function
    integer(c_int) function c_run_output(run, entry, index, output) bind(C, name='dlc_run_output')
      import c_int, c_ptr, c_size_t, c_array
      type(c_ptr), value :: run, entry
      integer(c_size_t), value :: index
      type(c_array), intent(inout) :: output
    end function
    integer(c_int) function c_run_variable_count(run, count) bind(C, name='dlc_run_variable_count')
      import c_int, c_ptr, c_size_t
      type(c_ptr), value :: run
      integer(c_size_t), intent(inout) :: count
    end function
    integer(c_int) function c_run_variable(run, index, variable, role) &
        bind(C, name='dlc_run_variable')
      import c_int, c_ptr, c_size_t, c_array, c_int32_t
      type(c_ptr), value :: run
      integer(c_size_t), value :: index
      type(c_array), intent(inout) :: variable
      integer(c_int32_t), intent(inout) :: role
    end function
    integer(c_int) function c_run_read_variable(run, variable) bind(C, name='dlc_run_read_variable')
      import c_int, c_ptr, c_array
      type(c_ptr), value :: run
      type(c_array), intent(in) :: variable(*)
    end function
    integer(c_int) function c_run_write_variable(run, variable) &
        bind(C, name='dlc_run_write_variable')
      import c_int, c_ptr, c_array
      type(c_ptr), value :: run
      type(c_array), intent(in) :: variable(*)
    end function
    integer(c_int) function c_run_weights_bytes(run, bytes) bind(C, name='dlc_run_weights_bytes')
      import c_int, c_ptr, c_int64_t
      type(c_ptr), value :: run
      integer(c_int64_t), intent(inout) :: bytes
    end function
    integer(c_int) function c_run_read_weights(run, weights, bytes) &
        bind(C, name='dlc_run_read_weights')
      import c_int, c_ptr, c_int64_t
      type(c_ptr), value :: run, weights
      integer(c_int64_t), value :: bytes
    end function
    integer(c_int) function c_run_read_device_weights(run, weights, bytes) &
        bind(C, name='dlc_run_read_device_weights')
      import c_int, c_ptr, c_int64_t
      type(c_ptr), value :: run, weights
      integer(c_int64_t), value :: bytes
    end function
    integer(c_int) function c_run_write_weights(run, weights, bytes) &
        bind(C, name='dlc_run_write_weights')
      import c_int, c_ptr, c_int64_t
      type(c_ptr), value :: run, weights
      integer(c_int64_t), value :: bytes
    end function
    integer(c_int) function c_run_write_device_weights(run, weights, bytes) &
        bind(C, name='dlc_run_write_device_weights')
      import c_int, c_ptr, c_int64_t
      type(c_ptr), value :: run, weights
      integer(c_int64_t), value :: bytes
    end function
    integer(c_int) function c_run_average_weights(run, ranks, weight) &
        bind(C, name='dlc_run_average_weights')
      import c_int, c_ptr, c_double
      type(c_ptr), value :: run, ranks
      real(c_double), value :: weight
    end function
  end interface

contains

  ! ------------------------------------------------------------------------------------------------
  ! texts, arrays and errors

  function dlc_version() result(version)
    character(32) :: version
    version = text_at(c_version(), 32)
  end function

  !> A text of C's, in `length` characters; none is blank.
  function text_at(address, length) result(text)
    type(c_ptr), intent(in) :: address
    integer, intent(in) :: length
    character(length) :: text
    character(c_char), pointer :: characters(:)
    integer :: i
    text = ''
    if (.not. c_associated(address)) return
    call c_f_pointer(address, characters, [min(int(c_length(address)), length)])
    do i = 1, size(characters)
      text(i:i) = characters(i)
    end do
  end function

  !> A text for C, without blanks at its end.
  pure function for_c(text) result(characters)
    character(*), intent(in) :: text
    character(c_char) :: characters(len_trim(text) + 1)
    integer :: i
    do i = 1, len_trim(text)
      characters(i) = text(i:i)
    end do
    characters(size(characters)) = c_null_char
  end function

  !> What a call ends with.
  subroutine settle(status, stat, message)
    integer(c_int), intent(in) :: status
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: message
    if (status /= DLC_OK) then
      call settle_with(status, text_at(c_message(), longest_message), stat, message)
    else if (present(stat)) then
      stat = DLC_OK
    end if
  end subroutine

  subroutine settle_with(status, reason, stat, message)
    integer(c_int), intent(in) :: status
    character(*), intent(in) :: reason
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: message
    if (present(message) .and. status /= DLC_OK) message = reason
    if (present(stat)) then
      stat = int(status)
    else if (status /= DLC_OK) then
      write (error_unit, '(a)') 'dlc: '//trim(reason)
      error stop 1
    end if
  end subroutine

  function described(name, dtype, shape, data, contiguous) result(array)
    character(*), intent(in) :: name
    integer, intent(in) :: dtype
    integer(c_int64_t), intent(in) :: shape(:)
    type(c_ptr), intent(in) :: data
    logical, intent(in) :: contiguous
    type(dlc_array) :: array
    array%name = name
    array%dtype = dtype
    array%rank = size(shape)
    array%shape(:array%rank) = shape
    array%data = data
    array%gaps = .not. contiguous
  end function

  !> One that C has described.
  function from_c(given) result(array)
    type(c_array), intent(in) :: given
    type(dlc_array) :: array
    array = described(text_at(given%name, DLC_MAX_NAME), int(given%dtype), &
                      given%shape(given%rank:1:-1), given%data, .true.)
  end function

  !> The arrays as C takes them, in `taken` for as long as it lives. False if one has gaps, which
  !> settles the call.
  logical function take(arrays, taken, stat, message)
    type(dlc_array), intent(in) :: arrays(:)
    type(c_arrays), intent(inout), target :: taken
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: message
    integer :: i, rank
    allocate (taken%all(size(arrays)), taken%names(DLC_MAX_NAME + 1, size(arrays)))
    take = .not. any(arrays%gaps)
    do i = 1, size(arrays)
      if (arrays(i)%gaps) call settle_with(DLC_INVALID_ARGUMENT, "'"//trim(arrays(i)%name)// &
          "' is a section with gaps, copy it into an array of its own", stat, message)
      rank = min(max(arrays(i)%rank, 0), DLC_MAX_RANK)
      taken%names(:len_trim(arrays(i)%name) + 1, i) = for_c(arrays(i)%name)
      taken%all(i)%name = c_loc(taken%names(1, i))
      taken%all(i)%dtype = int(arrays(i)%dtype, c_int32_t)
      taken%all(i)%rank = int(arrays(i)%rank, c_int32_t)
      taken%all(i)%shape(:rank) = arrays(i)%shape(rank:1:-1)
      taken%all(i)%data = arrays(i)%data
    end do
  end function

  ! ------------------------------------------------------------------------------------------------
  ! callbacks

  subroutine log_hook(user, severity, line) bind(C, name='')
    type(c_ptr), value :: user, line
    integer(c_int), value :: severity
    type(hooks), pointer :: reached
    call c_f_pointer(user, reached)
    call reached%log%hear(int(severity), text_at(line, int(c_length(line))))
  end subroutine

  integer(c_int) function fill_hook(user, epoch, batch, inputs, count) bind(C, name='') &
      result(status)
    type(c_ptr), value :: user
    integer(c_int64_t), value :: epoch, batch
    integer(c_size_t), value :: count
    type(c_array), intent(in) :: inputs(count)
    type(hooks), pointer :: reached
    integer :: i
    call c_f_pointer(user, reached)
    status = int(reached%batches%fill(epoch, batch, [(from_c(inputs(i)), i=1, int(count))]), c_int)
  end function

  integer(c_int) function step_hook(user, run, progress) bind(C, name='') result(status)
    type(c_ptr), value :: user, run
    type(dlc_progress), intent(in) :: progress
    type(observed), pointer :: reached
    call c_f_pointer(user, reached)
    status = int(reached%observer%on_step(reached%run, progress), c_int)
  end function

  integer(c_int) function epoch_hook(user, run, progress) bind(C, name='') result(status)
    type(c_ptr), value :: user, run
    type(dlc_progress), intent(in) :: progress
    type(observed), pointer :: reached
    call c_f_pointer(user, reached)
    status = int(reached%observer%on_epoch(reached%run, progress), c_int)
  end function

  integer(c_int) function stop_hook(user, run, progress) bind(C, name='') result(status)
    type(c_ptr), value :: user, run
    type(dlc_progress), intent(in) :: progress
    type(observed), pointer :: reached
    call c_f_pointer(user, reached)
    status = merge(1_c_int, 0_c_int, reached%observer%should_stop(reached%run, progress))
  end function

  integer(c_int) function checkpoint_hook(user, run, progress) bind(C, name='') result(status)
    type(c_ptr), value :: user, run
    type(dlc_progress), intent(in) :: progress
    type(observed), pointer :: reached
    call c_f_pointer(user, reached)
    status = int(reached%observer%on_checkpoint(reached%run, progress), c_int)
  end function

  integer(c_int) function checkpoint_failed_hook(user, run, progress, reason) bind(C, name='') &
      result(status)
    type(c_ptr), value :: user, run, reason
    type(dlc_progress), intent(in) :: progress
    type(observed), pointer :: reached
    call c_f_pointer(user, reached)
    status = int(reached%observer%on_checkpoint_failed( &
        reached%run, progress, text_at(reason, int(c_length(reason)))), c_int)
  end function

  !> After a batch. A result other than 0 ends the training with DLC_FAILED.
  integer function on_step(self, run, progress)
    class(dlc_observer), intent(inout) :: self
    type(dlc_run), intent(in) :: run
    type(dlc_progress), intent(in) :: progress
    on_step = 0
  end function

  !> After an epoch, and at the end within one.
  integer function on_epoch(self, run, progress)
    class(dlc_observer), intent(inout) :: self
    type(dlc_run), intent(in) :: run
    type(dlc_progress), intent(in) :: progress
    on_epoch = 0
  end function

  !> Whether the training ends here as if it were complete.
  logical function should_stop(self, run, progress)
    class(dlc_observer), intent(inout) :: self
    type(dlc_run), intent(in) :: run
    type(dlc_progress), intent(in) :: progress
    should_stop = .false.
  end function

  !> The checkpoint was written, while training went on, and holds saved_step; on rank 0.
  integer function on_checkpoint(self, run, progress)
    class(dlc_observer), intent(inout) :: self
    type(dlc_run), intent(in) :: run
    type(dlc_progress), intent(in) :: progress
    on_checkpoint = 0
  end function

  !> After it could not be, on rank 0: the training goes on, and the next one is tried.
  integer function on_checkpoint_failed(self, run, progress, reason)
    class(dlc_observer), intent(inout) :: self
    type(dlc_run), intent(in) :: run
    type(dlc_progress), intent(in) :: progress
    character(*), intent(in) :: reason
    on_checkpoint_failed = 0
  end function

  ! ------------------------------------------------------------------------------------------------
  ! ranks

  function ranks_options(self, timeout, log) result(options)
    class(dlc_ranks), intent(inout) :: self
    real(c_double), intent(in), optional :: timeout
    class(dlc_log), intent(inout), target, optional :: log
    type(c_ranks_options) :: options
    options%size = c_sizeof(options)
    if (present(timeout)) options%timeout = timeout
    allocate (self%hooks)
    if (present(log)) then
      self%hooks%log => log
      options%log = c_funloc(log_hook)
      options%user = c_loc(self%hooks)
    end if
  end function

  subroutine opened(self, status, stat, message)
    class(dlc_ranks), intent(inout) :: self
    integer(c_int), intent(in) :: status
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: message
    if (status /= DLC_OK) deallocate (self%hooks)
    call settle(status, stat, message)
  end subroutine

  !> Those that mpirun or srun started this process among. `log` has the attribute target, and lives
  !> as long as the ranks.
  subroutine ranks_launched(self, timeout, log, stat, message)
    class(dlc_ranks), intent(inout) :: self
    real(c_double), intent(in), optional :: timeout
    class(dlc_log), intent(inout), target, optional :: log
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: message
    type(c_ranks_options) :: options
    integer(c_int) :: status
    options = ranks_options(self, timeout, log)
    status = c_ranks_launched(options, self%handle)
    call opened(self, status, stat, message)
  end subroutine

  !> Those of a communicator: an integer of mpif.h and `use mpi`, %MPI_VAL of a type(MPI_Comm).
  subroutine ranks_join(self, communicator, timeout, log, stat, message)
    class(dlc_ranks), intent(inout) :: self
    integer, intent(in) :: communicator
    real(c_double), intent(in), optional :: timeout
    class(dlc_log), intent(inout), target, optional :: log
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: message
    type(c_ranks_options) :: options
    integer(c_int) :: status
    options = ranks_options(self, timeout, log)
    status = c_ranks_join(int(communicator, c_int), options, self%handle)
    call opened(self, status, stat, message)
  end subroutine

  !> From 0, as MPI has it.
  integer function ranks_rank(self, stat, message) result(rank)
    class(dlc_ranks), intent(in) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: message
    integer(c_int) :: value
    value = 0
    call settle(c_ranks_rank(self%handle, value), stat, message)
    rank = int(value)
  end function

  integer function ranks_size(self, stat, message) result(size)
    class(dlc_ranks), intent(in) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: message
    integer(c_int) :: value
    value = 0
    call settle(c_ranks_size(self%handle, value), stat, message)
    size = int(value)
  end function

  !> Before MPI_Finalize().
  subroutine ranks_leave(self, stat, message)
    class(dlc_ranks), intent(in) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: message
    call settle(c_ranks_leave(self%handle), stat, message)
  end subroutine

  subroutine ranks_free(self, stat, message)
    class(dlc_ranks), intent(inout) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: message
    integer(c_int) :: status
    status = c_ranks_free(self%handle)
    if (status == DLC_OK) deallocate (self%hooks)
    call settle(status, stat, message)
  end subroutine

  ! ------------------------------------------------------------------------------------------------
  ! a run

  !> The fields of dlc_options. `batches` and `log` have the attribute target, and live until close(), as
  !> the arrays of `train` and `test` do. Of the texts in `rename` blanks at the end are dropped.
  subroutine run_open(self, module, device, threads, data, train, test, batches, &
                      batches_per_epoch, augment, seed, epochs, steps, overrides, checkpoint, &
                      checkpoint_every, resume, overwrite, init_from, ranks, check_ranks, log, &
                      load_workers, load_ahead, test_data, weights, stat, message, keep, &
                      save_best, evaluate_every, patience, min_delta, patience_metric, &
                      time_limit, log_file, rename, limit, overfit_batches, fast_dev_run, &
                      check_finite, norms, share, max_bad_records, tensorboard, &
                      histograms)
    class(dlc_run), intent(inout) :: self
    character(*), intent(in) :: module
    character(*), intent(in), optional :: device, data, augment, checkpoint, init_from, &
        test_data, weights
    integer, intent(in), optional :: threads, batches_per_epoch, seed, epochs, steps, &
        checkpoint_every, check_ranks, load_workers, load_ahead
    type(dlc_array), intent(in), optional :: train(:), test(:)
    class(dlc_batches), intent(inout), target, optional :: batches
    logical, intent(in), optional :: resume, overwrite
    type(dlc_override), intent(in), optional :: overrides(:)
    type(dlc_ranks), intent(in), optional :: ranks
    class(dlc_log), intent(inout), target, optional :: log
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: message
    integer, intent(in), optional :: keep, evaluate_every, patience
    character(*), intent(in), optional :: save_best, patience_metric, log_file
    real(c_double), intent(in), optional :: min_delta, time_limit
    character(*), intent(in), optional :: rename(:)
    real(c_double), intent(in), optional :: limit, share
    integer, intent(in), optional :: overfit_batches, norms, max_bad_records, histograms
    logical, intent(in), optional :: fast_dev_run, check_finite
    character(*), intent(in), optional :: tensorboard
    type(c_options) :: options
    type(c_text), target :: module_text, device_text, data_text, augment_text, checkpoint_text, &
        init_from_text, test_text, weights_text
    type(c_text), target :: save_best_text, patience_metric_text, log_file_text, &
        tensorboard_text
    type(c_arrays), target :: training, testing
    type(c_overrides), target :: settings
    type(c_texts), target :: rules
    integer(c_int) :: status
    if (c_associated(self%handle)) then
      call settle_with(DLC_IN_USE, 'the run is open: close() ends it', stat, message)
      return
    end if
    options%size = c_sizeof(options)
    options%module = kept(module_text, module)
    options%device = kept(device_text, device)
    options%data = kept(data_text, data)
    options%augment = kept(augment_text, augment)
    options%checkpoint = kept(checkpoint_text, checkpoint)
    options%init_from = kept(init_from_text, init_from)
    options%test_data = kept(test_text, test_data)
    options%weights = kept(weights_text, weights)
    options%threads = int(given(threads), c_int32_t)
    options%resume = is_set(resume)
    options%overwrite = is_set(overwrite)
    options%batches_per_epoch = given(batches_per_epoch)
    options%seed = given(seed)
    options%seed_given = is_set(present(seed))
    options%epochs = given(epochs)
    options%steps = given(steps)
    options%checkpoint_every = given(checkpoint_every)
    options%check_ranks = given(check_ranks)
    options%load_workers = int(given(load_workers), c_int32_t)
    options%load_ahead = int(given(load_ahead), c_int32_t)
    options%keep = given(keep)
    options%save_best = kept(save_best_text, save_best)
    options%evaluate_every = given(evaluate_every)
    options%patience = given(patience)
    if (present(min_delta)) options%min_delta = min_delta
    options%patience_metric = kept(patience_metric_text, patience_metric)
    if (present(time_limit)) options%time_limit = time_limit
    options%log_file = kept(log_file_text, log_file)
    if (present(limit)) options%limit = limit
    options%overfit_batches = given(overfit_batches)
    options%fast_dev_run = is_set(fast_dev_run)
    options%check_finite = is_set(check_finite)
    options%norms = given(norms)
    if (present(share)) options%share = share
    options%max_bad_records = given(max_bad_records)
    options%tensorboard = kept(tensorboard_text, tensorboard)
    options%histograms = given(histograms)
    if (present(train)) then
      if (.not. take(train, training, stat, message)) return
      options%train = c_loc(training%all)
      options%train_count = size(train, kind=c_size_t)
    end if
    if (present(test)) then
      if (.not. take(test, testing, stat, message)) return
      options%test = c_loc(testing%all)
      options%test_count = size(test, kind=c_size_t)
    end if
    if (present(overrides)) then
      call take_overrides(overrides, settings)
      options%overrides = c_loc(settings%all)
      options%override_count = size(overrides, kind=c_size_t)
    end if
    if (present(rename)) then
      call take_texts(rename, rules)
      options%rename = c_loc(rules%all)
      options%rename_count = size(rename, kind=c_size_t)
    end if
    if (present(ranks)) options%ranks = ranks%handle
    allocate (self%hooks)
    options%user = c_loc(self%hooks)
    if (present(batches)) then
      self%hooks%batches => batches
      options%batches_fill = c_funloc(fill_hook)
    end if
    if (present(log)) then
      self%hooks%log => log
      options%log = c_funloc(log_hook)
    end if
    status = c_run_open(options, self%handle)
    if (status /= DLC_OK) deallocate (self%hooks)
    call settle(status, stat, message)
  end subroutine

  !> Frees the run; may be called again.
  subroutine run_close(self, stat, message)
    class(dlc_run), intent(inout) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: message
    integer(c_int) :: status
    status = DLC_OK
    if (c_associated(self%handle)) status = c_run_free(self%handle)
    if (c_associated(self%handle) .and. status == DLC_OK) then
      deallocate (self%hooks)
      self%handle = c_null_ptr
    end if
    call settle(status, stat, message)
  end subroutine

  !> `observer` hears how it goes.
  subroutine run_train(self, observer, stat, message)
    class(dlc_run), intent(in) :: self
    class(dlc_observer), intent(inout), target, optional :: observer
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: message
    type(c_observer), target :: callbacks
    type(observed), target :: reached
    if (.not. present(observer)) then
      call settle(c_run_train(self%handle, c_null_ptr), stat, message)
      return
    end if
    reached%observer => observer
    reached%run%handle = self%handle
    callbacks%size = c_sizeof(callbacks)
    callbacks%user = c_loc(reached)
    callbacks%on_step = c_funloc(step_hook)
    callbacks%on_epoch = c_funloc(epoch_hook)
    callbacks%should_stop = c_funloc(stop_hook)
    callbacks%on_checkpoint = c_funloc(checkpoint_hook)
    callbacks%on_checkpoint_failed = c_funloc(checkpoint_failed_hook)
    call settle(c_run_train(self%handle, c_loc(callbacks)), stat, message)
  end subroutine

  subroutine run_stop(self, stat, message)
    class(dlc_run), intent(in) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: message
    call settle_with(c_run_stop(self%handle), 'the run is not open', stat, message)
  end subroutine

  !> call run%step([dlc_array('image', x), dlc_array('label', y)]); of a rank that has no batch
  !> left, call run%step([dlc_array ::])
  subroutine run_step(self, batch, stat, message)
    class(dlc_run), intent(in) :: self
    type(dlc_array), intent(in) :: batch(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: message
    type(c_arrays), target :: taken
    if (.not. take(batch, taken, stat, message)) return
    call settle(c_run_step(self%handle, taken%all, size(batch, kind=c_size_t)), stat, message)
  end subroutine

  !> On the test data, or on these.
  subroutine run_evaluate(self, arrays, stat, message)
    class(dlc_run), intent(in) :: self
    type(dlc_array), intent(in), optional :: arrays(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: message
    type(c_arrays), target :: taken
    if (present(arrays)) then
      if (.not. take(arrays, taken, stat, message)) return
    else
      allocate (taken%all(0))
    end if
    call settle(c_run_evaluate(self%handle, taken%all, size(taken%all, kind=c_size_t)), &
                stat, message)
  end subroutine

  subroutine run_predict(self, inputs, outputs, entry, stat, message)
    class(dlc_run), intent(in) :: self
    type(dlc_array), intent(in) :: inputs(:), outputs(:)
    character(*), intent(in), optional :: entry
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: message
    type(c_arrays), target :: read, written
    type(c_text), target :: entry_text
    if (.not. take(inputs, read, stat, message)) return
    if (.not. take(outputs, written, stat, message)) return
    call settle(c_run_predict(self%handle, kept(entry_text, entry), &
                              read%all, size(inputs, kind=c_size_t), &
                              written%all, size(outputs, kind=c_size_t)), stat, message)
  end subroutine

  subroutine run_save(self, path, stat, message)
    class(dlc_run), intent(in) :: self
    character(*), intent(in) :: path
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: message
    call settle(c_run_save(self%handle, for_c(path)), stat, message)
  end subroutine

  subroutine run_load(self, path, stat, message)
    class(dlc_run), intent(in) :: self
    character(*), intent(in) :: path
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: message
    call settle(c_run_load(self%handle, for_c(path)), stat, message)
  end subroutine

  !> The number of the CUDA device that the run is on, from 0; -1 on the CPU and on SIMT.
  integer function run_cuda_device(self, stat, message) result(device)
    class(dlc_run), intent(in) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: message
    integer(c_int) :: found
    found = -1
    call settle(c_run_cuda_device(self%handle, found), stat, message)
    device = int(found)
  end function

  !> The program's stream on that device, a cudaStream_t; c_null_ptr, as at first, is CUDA's default
  !> stream.
  subroutine run_set_stream(self, stream, stat, message)
    class(dlc_run), intent(in) :: self
    type(c_ptr), intent(in) :: stream
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: message
    call settle(c_run_set_stream(self%handle, stream), stat, message)
  end subroutine

  !> call run%set('optimizer.learning_rate', 0.01d0)
  subroutine run_set(self, setting, value, stat, message)
    class(dlc_run), intent(in) :: self
    character(*), intent(in) :: setting
    real(c_double), intent(in) :: value
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: message
    call settle(c_run_set(self%handle, for_c(setting), value), stat, message)
  end subroutine

  function run_progress(self, stat, message) result(progress)
    class(dlc_run), intent(in) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: message
    type(dlc_progress) :: progress
    progress%size = c_sizeof(progress)
    call settle(c_run_progress(self%handle, progress), stat, message)
  end function

  !> A sweep over learning rates on a copy of the weights: call run%find_rate(found, steps=50)
  subroutine run_find_rate(self, search, from, to, steps, stat, message)
    class(dlc_run), intent(in) :: self
    type(dlc_rate_search), intent(out) :: search
    real(c_double), intent(in), optional :: from, to
    integer, intent(in), optional :: steps
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: message
    type(c_rate_options) :: options
    type(c_rate_search) :: found
    type(c_rate_point) :: point
    integer(c_int) :: status
    integer(c_size_t) :: i
    options%size = c_sizeof(options)
    if (present(from)) options%from = from
    if (present(to)) options%to = to
    options%steps = given(steps)
    found%size = c_sizeof(found)
    status = c_run_find_rate(self%handle, options, found)
    search%setting = text_at(found%setting, DLC_MAX_NAME)
    search%suggested = found%suggested
    search%diverged = found%diverged /= 0
    allocate (search%rate(found%count), search%loss(found%count), search%smoothed(found%count))
    do i = 1, found%count
      status = c_run_rate_point(self%handle, i - 1, point)
      search%rate(i) = point%rate
      search%loss(i) = point%loss
      search%smoothed(i) = point%smoothed
    end do
    call settle(status, stat, message)
  end subroutine

  !> The value of a loss or metric: of the last batch, or of another report.
  function run_metric(self, name, report, stat, message) result(value)
    class(dlc_run), intent(in) :: self
    character(*), intent(in) :: name
    integer, intent(in), optional :: report
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: message
    real(c_double) :: value
    value = 0
    call settle(c_run_metric(self%handle, report_or_batch(report), for_c(name), value), &
                stat, message)
  end function

  integer function run_metric_count(self, report, stat, message) result(count)
    class(dlc_run), intent(in) :: self
    integer, intent(in), optional :: report
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: message
    integer(c_size_t) :: found
    found = 0
    call settle(c_run_metric_count(self%handle, report_or_batch(report), found), stat, message)
    count = int(found)
  end function

  !> Of number `index`, from 1.
  function run_metric_name(self, index, report, stat, message) result(name)
    class(dlc_run), intent(in) :: self
    integer, intent(in) :: index
    integer, intent(in), optional :: report
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: message
    character(DLC_MAX_NAME) :: name
    type(c_ptr) :: found
    found = c_null_ptr
    call settle(c_run_metric_name(self%handle, report_or_batch(report), &
                                  int(index - 1, c_size_t), found), stat, message)
    name = text_at(found, DLC_MAX_NAME)
  end function

  !> A square table, its rows as the module has them; of no size for a number.
  subroutine run_metric_table(self, name, table, report, stat, message)
    class(dlc_run), intent(in) :: self
    character(*), intent(in) :: name
    real(c_double), allocatable, intent(out) :: table(:, :)
    integer, intent(in), optional :: report
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: message
    real(c_double), allocatable, target :: columns(:, :)
    integer(c_size_t) :: side
    integer(c_int) :: status
    side = 0
    status = c_run_metric_table(self%handle, report_or_batch(report), for_c(name), side, &
                                c_null_ptr, 0_c_size_t)
    allocate (columns(side, side))
    if (side > 0) status = c_run_metric_table(self%handle, report_or_batch(report), for_c(name), &
                                              side, c_loc(columns), side*side)
    table = transpose(columns)
    call settle(status, stat, message)
  end subroutine

  !> Input number `index`, from 1, of an entry, or of the one that trains: name, dtype and shape.
  function run_input(self, index, entry, stat, message) result(input)
    class(dlc_run), intent(in) :: self
    integer, intent(in) :: index
    character(*), intent(in), optional :: entry
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: message
    type(dlc_array) :: input
    type(c_array) :: found
    type(c_text), target :: entry_text
    call settle(c_run_input(self%handle, kept(entry_text, entry), int(index - 1, c_size_t), &
                            found), stat, message)
    input = from_c(found)
  end function

  !> Output number `index`, from 1, of an entry, or of the first one that infers.
  function run_output(self, index, entry, stat, message) result(output)
    class(dlc_run), intent(in) :: self
    integer, intent(in) :: index
    character(*), intent(in), optional :: entry
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: message
    type(dlc_array) :: output
    type(c_array) :: found
    type(c_text), target :: entry_text
    call settle(c_run_output(self%handle, kept(entry_text, entry), int(index - 1, c_size_t), &
                             found), stat, message)
    output = from_c(found)
  end function

  integer function run_variable_count(self, stat, message) result(count)
    class(dlc_run), intent(in) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: message
    integer(c_size_t) :: found
    found = 0
    call settle(c_run_variable_count(self%handle, found), stat, message)
    count = int(found)
  end function

  !> Number `index`, from 1: name, dtype and shape.
  function run_variable(self, index, role, stat, message) result(variable)
    class(dlc_run), intent(in) :: self
    integer, intent(in) :: index
    integer, intent(out), optional :: role
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: message
    type(dlc_array) :: variable
    type(c_array) :: found
    integer(c_int32_t) :: found_role
    found_role = 0
    call settle(c_run_variable(self%handle, int(index - 1, c_size_t), found, found_role), &
                stat, message)
    variable = from_c(found)
    if (present(role)) role = int(found_role)
  end function

  !> call run%read_variable(dlc_array('conv1.weight', w))
  subroutine run_read_variable(self, variable, stat, message)
    class(dlc_run), intent(in) :: self
    type(dlc_array), intent(in) :: variable
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: message
    type(c_arrays), target :: taken
    if (.not. take([variable], taken, stat, message)) return
    call settle(c_run_read_variable(self%handle, taken%all), stat, message)
  end subroutine

  subroutine run_write_variable(self, variable, stat, message)
    class(dlc_run), intent(in) :: self
    type(dlc_array), intent(in) :: variable
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: message
    type(c_arrays), target :: taken
    if (.not. take([variable], taken, stat, message)) return
    call settle(c_run_write_variable(self%handle, taken%all), stat, message)
  end subroutine

  function run_weights_bytes(self, stat, message) result(bytes)
    class(dlc_run), intent(in) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: message
    integer(c_int64_t) :: bytes
    bytes = 0
    call settle(c_run_weights_bytes(self%handle, bytes), stat, message)
  end function

  !> All weights as one block, to an array of as many bytes: of real(c_float) where all of them are
  !> f32. call run%read_weights(dlc_array('weights', w))
  subroutine run_read_weights(self, weights, stat, message)
    class(dlc_run), intent(in) :: self
    type(dlc_array), intent(in) :: weights
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: message
    type(c_arrays), target :: taken
    integer(c_int) :: status
    if (.not. take([weights], taken, stat, message)) return
    if (on_device(weights)) then
      status = c_run_read_device_weights(self%handle, weights%data, bytes_of(weights))
    else
      status = c_run_read_weights(self%handle, weights%data, bytes_of(weights))
    end if
    call settle(status, stat, message)
  end subroutine

  subroutine run_write_weights(self, weights, stat, message)
    class(dlc_run), intent(in) :: self
    type(dlc_array), intent(in) :: weights
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: message
    type(c_arrays), target :: taken
    integer(c_int) :: status
    if (.not. take([weights], taken, stat, message)) return
    if (on_device(weights)) then
      status = c_run_write_device_weights(self%handle, weights%data, bytes_of(weights))
    else
      status = c_run_write_weights(self%handle, weights%data, bytes_of(weights))
    end if
    call settle(status, stat, message)
  end subroutine

  !> Their mean over the ranks, each counting `weight` times, or once.
  subroutine run_average_weights(self, ranks, weight, stat, message)
    class(dlc_run), intent(in) :: self
    type(dlc_ranks), intent(in) :: ranks
    real(c_double), intent(in), optional :: weight
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: message
    real(c_double) :: counted
    counted = 1
    if (present(weight)) counted = weight
    call settle(c_run_average_weights(self%handle, ranks%handle, counted), stat, message)
  end subroutine

  ! ------------------------------------------------------------------------------------------------
  ! optional arguments

  integer function given(number)
    integer, intent(in), optional :: number
    given = 0
    if (present(number)) given = number
  end function

  integer(c_int) function is_set(flag)
    logical, intent(in), optional :: flag
    is_set = 0
    if (present(flag)) is_set = merge(1_c_int, 0_c_int, flag)
  end function

  integer(c_int) function report_or_batch(report)
    integer, intent(in), optional :: report
    report_or_batch = DLC_REPORT_BATCH
    if (present(report)) report_or_batch = int(report, c_int)
  end function

  !> A text for C, which lives as long as `text`; null if there is none.
  type(c_ptr) function kept(text, value)
    type(c_text), intent(inout), target :: text
    character(*), intent(in), optional :: value
    kept = c_null_ptr
    if (.not. present(value)) return
    text%characters = for_c(value)
    kept = c_loc(text%characters)
  end function

  subroutine take_overrides(overrides, taken)
    type(dlc_override), intent(in) :: overrides(:)
    type(c_overrides), intent(inout), target :: taken
    integer :: i
    allocate (taken%all(size(overrides)), taken%names(DLC_MAX_NAME + 1, size(overrides)))
    do i = 1, size(overrides)
      taken%names(:len_trim(overrides(i)%name) + 1, i) = for_c(overrides(i)%name)
      taken%all(i) = c_override(c_loc(taken%names(1, i)), overrides(i)%value)
    end do
  end subroutine

  subroutine take_texts(texts, taken)
    character(*), intent(in) :: texts(:)
    type(c_texts), intent(inout), target :: taken
    integer :: i
    allocate (taken%all(size(texts)), taken%characters(len(texts) + 1, size(texts)))
    do i = 1, size(texts)
      taken%characters(:len_trim(texts(i)) + 1, i) = for_c(texts(i))
      taken%all(i) = c_loc(taken%characters(1, i))
    end do
  end subroutine

  integer(c_int64_t) function bytes_of(array) result(bytes)
    type(dlc_array), intent(in) :: array
    integer, parameter :: sizes(8) = [4, 8, 2, 2, 4, 8, 1, 1]
    bytes = sizes(iand(array%dtype, not(DLC_ON_DEVICE)))*product(array%shape(:array%rank))
  end function

  logical function on_device(array)
    type(dlc_array), intent(in) :: array
    on_device = iand(array%dtype, DLC_ON_DEVICE) /= 0
  end function

  ! ------------------------------------------------------------------------------------------------
  ! dlc_array() of each type and rank

  function f32_1(name, x) result(array)
    character(*), intent(in) :: name
    real(c_float), target :: x(:)
    type(dlc_array) :: array
    array = described(name, dlc_f32, shape(x, c_int64_t), c_loc(x), is_contiguous(x))
  end function

  function f32_2(name, x) result(array)
    character(*), intent(in) :: name
    real(c_float), target :: x(:, :)
    type(dlc_array) :: array
    array = described(name, dlc_f32, shape(x, c_int64_t), c_loc(x), is_contiguous(x))
  end function

  function f32_3(name, x) result(array)
    character(*), intent(in) :: name
    real(c_float), target :: x(:, :, :)
    type(dlc_array) :: array
    array = described(name, dlc_f32, shape(x, c_int64_t), c_loc(x), is_contiguous(x))
  end function

  function f32_4(name, x) result(array)
    character(*), intent(in) :: name
    real(c_float), target :: x(:, :, :, :)
    type(dlc_array) :: array
    array = described(name, dlc_f32, shape(x, c_int64_t), c_loc(x), is_contiguous(x))
  end function

  function f32_5(name, x) result(array)
    character(*), intent(in) :: name
    real(c_float), target :: x(:, :, :, :, :)
    type(dlc_array) :: array
    array = described(name, dlc_f32, shape(x, c_int64_t), c_loc(x), is_contiguous(x))
  end function

  function f64_1(name, x) result(array)
    character(*), intent(in) :: name
    real(c_double), target :: x(:)
    type(dlc_array) :: array
    array = described(name, dlc_f64, shape(x, c_int64_t), c_loc(x), is_contiguous(x))
  end function

  function f64_2(name, x) result(array)
    character(*), intent(in) :: name
    real(c_double), target :: x(:, :)
    type(dlc_array) :: array
    array = described(name, dlc_f64, shape(x, c_int64_t), c_loc(x), is_contiguous(x))
  end function

  function f64_3(name, x) result(array)
    character(*), intent(in) :: name
    real(c_double), target :: x(:, :, :)
    type(dlc_array) :: array
    array = described(name, dlc_f64, shape(x, c_int64_t), c_loc(x), is_contiguous(x))
  end function

  function f64_4(name, x) result(array)
    character(*), intent(in) :: name
    real(c_double), target :: x(:, :, :, :)
    type(dlc_array) :: array
    array = described(name, dlc_f64, shape(x, c_int64_t), c_loc(x), is_contiguous(x))
  end function

  function f64_5(name, x) result(array)
    character(*), intent(in) :: name
    real(c_double), target :: x(:, :, :, :, :)
    type(dlc_array) :: array
    array = described(name, dlc_f64, shape(x, c_int64_t), c_loc(x), is_contiguous(x))
  end function

  function i32_1(name, x) result(array)
    character(*), intent(in) :: name
    integer(c_int32_t), target :: x(:)
    type(dlc_array) :: array
    array = described(name, dlc_i32, shape(x, c_int64_t), c_loc(x), is_contiguous(x))
  end function

  function i32_2(name, x) result(array)
    character(*), intent(in) :: name
    integer(c_int32_t), target :: x(:, :)
    type(dlc_array) :: array
    array = described(name, dlc_i32, shape(x, c_int64_t), c_loc(x), is_contiguous(x))
  end function

  function i32_3(name, x) result(array)
    character(*), intent(in) :: name
    integer(c_int32_t), target :: x(:, :, :)
    type(dlc_array) :: array
    array = described(name, dlc_i32, shape(x, c_int64_t), c_loc(x), is_contiguous(x))
  end function

  function i32_4(name, x) result(array)
    character(*), intent(in) :: name
    integer(c_int32_t), target :: x(:, :, :, :)
    type(dlc_array) :: array
    array = described(name, dlc_i32, shape(x, c_int64_t), c_loc(x), is_contiguous(x))
  end function

  function i32_5(name, x) result(array)
    character(*), intent(in) :: name
    integer(c_int32_t), target :: x(:, :, :, :, :)
    type(dlc_array) :: array
    array = described(name, dlc_i32, shape(x, c_int64_t), c_loc(x), is_contiguous(x))
  end function

  function i64_1(name, x) result(array)
    character(*), intent(in) :: name
    integer(c_int64_t), target :: x(:)
    type(dlc_array) :: array
    array = described(name, dlc_i64, shape(x, c_int64_t), c_loc(x), is_contiguous(x))
  end function

  function i64_2(name, x) result(array)
    character(*), intent(in) :: name
    integer(c_int64_t), target :: x(:, :)
    type(dlc_array) :: array
    array = described(name, dlc_i64, shape(x, c_int64_t), c_loc(x), is_contiguous(x))
  end function

  function i64_3(name, x) result(array)
    character(*), intent(in) :: name
    integer(c_int64_t), target :: x(:, :, :)
    type(dlc_array) :: array
    array = described(name, dlc_i64, shape(x, c_int64_t), c_loc(x), is_contiguous(x))
  end function

  function i64_4(name, x) result(array)
    character(*), intent(in) :: name
    integer(c_int64_t), target :: x(:, :, :, :)
    type(dlc_array) :: array
    array = described(name, dlc_i64, shape(x, c_int64_t), c_loc(x), is_contiguous(x))
  end function

  function i64_5(name, x) result(array)
    character(*), intent(in) :: name
    integer(c_int64_t), target :: x(:, :, :, :, :)
    type(dlc_array) :: array
    array = described(name, dlc_i64, shape(x, c_int64_t), c_loc(x), is_contiguous(x))
  end function

  function u8_1(name, x) result(array)
    character(*), intent(in) :: name
    integer(c_int8_t), target :: x(:)
    type(dlc_array) :: array
    array = described(name, dlc_u8, shape(x, c_int64_t), c_loc(x), is_contiguous(x))
  end function

  function u8_2(name, x) result(array)
    character(*), intent(in) :: name
    integer(c_int8_t), target :: x(:, :)
    type(dlc_array) :: array
    array = described(name, dlc_u8, shape(x, c_int64_t), c_loc(x), is_contiguous(x))
  end function

  function u8_3(name, x) result(array)
    character(*), intent(in) :: name
    integer(c_int8_t), target :: x(:, :, :)
    type(dlc_array) :: array
    array = described(name, dlc_u8, shape(x, c_int64_t), c_loc(x), is_contiguous(x))
  end function

  function u8_4(name, x) result(array)
    character(*), intent(in) :: name
    integer(c_int8_t), target :: x(:, :, :, :)
    type(dlc_array) :: array
    array = described(name, dlc_u8, shape(x, c_int64_t), c_loc(x), is_contiguous(x))
  end function

  function u8_5(name, x) result(array)
    character(*), intent(in) :: name
    integer(c_int8_t), target :: x(:, :, :, :, :)
    type(dlc_array) :: array
    array = described(name, dlc_u8, shape(x, c_int64_t), c_loc(x), is_contiguous(x))
  end function

end module
