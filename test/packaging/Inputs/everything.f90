! Each procedure of the module `dlc` on the small model. usage: everything FOLDER, of make-small-module
module heard
  use, intrinsic :: iso_c_binding
  use dlc
  implicit none

  type, extends(dlc_observer) :: listener
    integer :: steps = 0, fails_at = -1, stops_at = -1, saved = 0
    character(1000) :: removes = ''
  contains
    procedure :: on_step
    procedure :: on_epoch
    procedure :: should_stop
    procedure :: on_checkpoint
    procedure :: on_checkpoint_failed
  end type

  type, extends(dlc_batches) :: source
    integer :: batches = 0
  contains
    procedure :: fill
  end type

  type, extends(dlc_log) :: printer
  contains
    procedure :: hear
  end type

contains

  !> Sample i has its bright row at mod(i, 4).
  subroutine draw(image, label)
    real(c_float), intent(out) :: image(:, :, :, :)
    integer(c_int32_t), intent(out) :: label(:)
    integer :: i
    image = 0
    do i = 1, size(label)
      label(i) = mod(i, 4)
      image(:, label(i) + 1, 1, i) = 1
    end do
  end subroutine

  integer function on_step(self, run, progress)
    class(listener), intent(inout) :: self
    type(dlc_run), intent(in) :: run
    type(dlc_progress), intent(in) :: progress
    integer :: stat
    self%steps = self%steps + 1
    if (self%steps == 1 .and. self%removes /= '') call execute_command_line('rm -r '//self%removes)
    if (progress%step == 1) call run%set('optimizer.learning_rate', 0.2d0)
    call run%save('/nowhere', stat)
    if (stat /= DLC_IN_USE) error stop 'a callback saved'
    on_step = merge(7, 0, self%steps == self%fails_at)
  end function

  integer function on_epoch(self, run, progress)
    class(listener), intent(inout) :: self
    type(dlc_run), intent(in) :: run
    type(dlc_progress), intent(in) :: progress
    call run%evaluate()
    print '(a, i0, a, i0, a, l1)', 'epoch ', progress%epoch, ' of ', progress%epochs, &
        ' learnt ', run%metric('accuracy', DLC_REPORT_TEST) > 0.9
    on_epoch = merge(0, 1, self%steps > 0)
  end function

  logical function should_stop(self, run, progress)
    class(listener), intent(inout) :: self
    type(dlc_run), intent(in) :: run
    type(dlc_progress), intent(in) :: progress
    integer :: count
    count = run%metric_count()
    should_stop = progress%step == self%stops_at .and. count >= 0
  end function

  integer function on_checkpoint(self, run, progress)
    class(listener), intent(inout) :: self
    type(dlc_run), intent(in) :: run
    type(dlc_progress), intent(in) :: progress
    self%saved = self%saved + 1
    on_checkpoint = merge(0, 1, progress%saved_step > 0 .and. progress%saved_step <= progress%step)
  end function

  integer function on_checkpoint_failed(self, run, progress, reason)
    class(listener), intent(inout) :: self
    type(dlc_run), intent(in) :: run
    type(dlc_progress), intent(in) :: progress
    character(*), intent(in) :: reason
    print '(a, i0, a)', 'step ', progress%step, ' was not saved: '//reason
    on_checkpoint_failed = 3
  end function

  integer function fill(self, epoch, batch, inputs)
    class(source), intent(inout) :: self
    integer(c_int64_t), intent(in) :: epoch, batch
    type(dlc_array), intent(in) :: inputs(:)
    real(c_float), pointer :: image(:, :, :, :)
    integer(c_int32_t), pointer :: label(:)
    call c_f_pointer(inputs(1)%data, image, inputs(1)%shape(:4))
    call c_f_pointer(inputs(2)%data, label, inputs(2)%shape(:1))
    call draw(image, label)
    self%batches = self%batches + 1
    fill = merge(9, 0, epoch == 1 .and. batch == 2)
  end function

  subroutine hear(self, severity, line)
    class(printer), intent(inout) :: self
    integer, intent(in) :: severity
    character(*), intent(in) :: line
    if (severity == DLC_SEVERITY_NOTE .and. same_type_as(self, self)) print '(a)', 'note: '//line
  end subroutine
end module

program everything
  use, intrinsic :: iso_c_binding
  use, intrinsic :: ieee_arithmetic, only: ieee_value, ieee_positive_inf
  use dlc
  use heard
  implicit none
  character(1000) :: folder
  character(:), allocatable :: module
  character(200) :: message
  type(dlc_run) :: run, copy
  type(dlc_ranks) :: ranks
  type(dlc_array) :: value
  type(dlc_progress) :: progress
  type(dlc_rate_search) :: search
  type(printer), target :: prints
  type(source), target :: fills
  real(c_float), target :: image(4, 4, 1, 8), samples(4, 4, 1, 80), scores(4, 3), bias(4), &
      weights(68), again(68)
  integer(c_int32_t), target :: label(8), labels(80), whole(4)
  real(c_double), target :: doubled(4, 4, 1, 80)
  real(c_double), allocatable :: table(:, :)
  real(c_double) :: loss
  integer :: stat, role, i
  call get_command_argument(1, folder)
  module = trim(folder)//'/small.so'
  call draw(image, label)
  call draw(samples, labels)

  ! Files, a log, callbacks.
  call run%open(module, data='idx:'//trim(folder)//'/data', seed=1, epochs=2, threads=1, &
                overrides=[dlc_override('optimizer.learning_rate', 0.1d0)], log=prints, &
                checkpoint=trim(folder)//'/fortran.safetensors', overwrite=.true.)
  call hears(-1, -1)
  progress = run%progress()
  print '(a, 4(1x, i0))', 'progress', progress%seed, progress%step, progress%epoch, &
      progress%saved_step
  print '(*(a, 1x))', 'metrics', (trim(run%metric_name(i, DLC_REPORT_TEST)), i=1, run%metric_count())
  call run%metric_table('loss', table)
  print '(a, i0)', 'table ', size(table)
  call run%close()
  call run%close()

  ! A seed that is 0 is one.
  call run%open(module, seed=0, checkpoint=trim(folder)//'/fortran.safetensors', resume=.true., &
                stat=stat, message=message)
  print '(a, i0, 1x, a)', 'seed: ', stat, trim(message(len_trim(folder) + 1:))

  ! A checkpoint that cannot be written, as its folder is gone.
  call execute_command_line('mkdir '//trim(folder)//'/gone')
  call run%open(module, data='idx:'//trim(folder)//'/data', seed=1, &
                checkpoint=trim(folder)//'/gone/x')
  call hears(-1, 5, removes=trim(folder)//'/gone')
  call run%close()

  ! A failure and an end on demand.
  call run%open(module, data='idx:'//trim(folder)//'/data', seed=1)
  call hears(4, -1)
  call hears(-1, 6)
  call run%stop()
  call hears(-1, -1)
  progress = run%progress()
  print '(a, i0)', 'stands at ', progress%step
  copy = run
  call run%close()
  call copy%train(stat=stat, message=message)
  print '(a, i0, 1x, a)', 'closed: ', stat, trim(message)

  ! Arrays of the program, of another kind than the model's too.
  doubled = samples
  call run%open(module, train=[dlc_array('image', samples), dlc_array('label', labels)], &
                test=[dlc_array('image', doubled), dlc_array('label', labels)], epochs=5)
  call run%train()
  print '(a, l1)', 'arrays learnt ', run%metric('accuracy', DLC_REPORT_TEST) > 0.9
  call run%evaluate([dlc_array('image', doubled), dlc_array('label', labels)])
  call run%predict([dlc_array('image', image(:, :, :, :3))], [dlc_array('output', scores)], &
                   entry='infer_n1')
  print '(a, 3(1x, i0))', 'predicted', (maxloc(scores(:, i), 1) - 1, i=1, 3)
  call run%predict([dlc_array('image', image(::2, :, :, :))], [dlc_array('output', scores)], &
                   stat=stat, message=message)
  print '(a, i0, 1x, a)', 'gaps: ', stat, trim(message)

  ! Variables and weights.
  do i = 1, run%variable_count()
    value = run%variable(i, role)
    print '(a, 2(1x, i0), *(1x, i0))', trim(value%name), role, value%dtype, value%shape(:value%rank)
  end do
  call run%read_variable(dlc_array('linear1.bias', bias))
  bias = bias + 1
  call run%write_variable(dlc_array('linear1.bias', bias))
  call run%read_variable(dlc_array('linear1.bias', whole), stat, message)
  print '(a, i0, 1x, a)', 'type: ', stat, trim(message(len(module) + 1:))
  call run%read_weights(dlc_array('weights', weights))
  print '(a, i0, 1x, l1)', 'weights ', run%weights_bytes(), .not. any(abs(weights(65:) - bias) > 0)
  call run%save(trim(folder)//'/kept.safetensors')
  again = 0
  call run%write_weights(dlc_array('weights', again))
  call run%load(trim(folder)//'/kept.safetensors')
  call run%read_weights(dlc_array('weights', again))
  print '(a, l1)', 'the same ', .not. any(abs(again - weights) > 0)

  ! One rank.
  call ranks%launched(timeout=5d0)
  print '(a, 2(1x, i0))', 'ranks', ranks%rank(), ranks%size()
  call run%average_weights(ranks)
  call run%average_weights(ranks, weight=2d0)
  call run%close()
  call ranks%leave()
  call ranks%free()
  call ranks%leave(stat)
  print '(a, i0)', 'freed ', stat

  ! Batches that are filled, or given.
  call run%open(module, batches=fills, batches_per_epoch=5, epochs=2)
  call run%train(stat=stat, message=message)
  print '(a, i0, 1x, a, 1x, i0)', 'filled: ', stat, trim(message(len(module) + 1:)), fills%batches
  value = run%input(1)
  print '(a, *(1x, i0))', trim(value%name), value%shape(:value%rank)
  value = run%output(1, entry='infer_n1')
  print '(a, *(1x, i0))', trim(value%name), value%shape(:value%rank)
  call run%step([dlc_array('image', image), dlc_array('label', label)])
  print '(a, l1)', 'stepped ', run%metric('loss') > 0
  call run%step([dlc_array('image', image)], stat, message)
  print '(a, i0, 1x, a)', 'missing: ', stat, trim(message)
  call run%open(module, stat=stat, message=message)
  print '(a, i0, 1x, a)', 'open: ', stat, trim(message)
  call run%close()

  ! However samples are loaded the weights are the same; and they are evaluated without training.
  call run%open(module, data='idx:'//trim(folder)//'/data', epochs=1, checkpoint=trim(folder)//'/loaded')
  call run%train()
  call run%read_weights(dlc_array('weights', weights))
  loss = run%metric('loss', DLC_REPORT_TEST)
  call run%close()
  call run%open(module, data='idx:'//trim(folder)//'/data', epochs=1, load_workers=3, load_ahead=1)
  call run%train()
  call run%read_weights(dlc_array('weights', again))
  call run%close()
  call run%open(module, test_data='idx:'//trim(folder)//'/data', weights=trim(folder)//'/loaded')
  call run%evaluate()
  print '(a, l1, 1x, l1)', 'loaded ', .not. any(abs(again - weights) > 0), &
      .not. abs(run%metric('loss', DLC_REPORT_TEST) - loss) > 0
  call run%close()

  ! Weights under other names.
  call run%open(module, init_from=trim(folder)//'/loaded', &
                rename=[character(20) :: 'linear(.)=layer\1', '^layer=linear'])
  call run%read_weights(dlc_array('weights', again))
  print '(a, l1)', 'renamed ', .not. any(abs(again - weights) > 0)
  call run%close()
  call run%open(module, init_from=trim(folder)//'/loaded', rename=['linear'], stat=stat, message=message)
  print '(a, i0, 1x, a)', 'rule: ', stat, trim(message)

  ! Parts of a training, what it says of norms and of what is not finite, and a sweep.
  call run%open(module, data='idx:'//trim(folder)//'/data', seed=1, limit=5d0, norms=2, share=0.9d0, epochs=1, &
                tensorboard=trim(folder)//'/board', histograms=1)
  call run%train()
  progress = run%progress()
  print '(a, 2(1x, i0))', 'limited', progress%step, progress%bad_records + progress%test_bad_records
  print '(a, *(1x, a))', 'norms', (trim(run%metric_name(i, DLC_REPORT_WEIGHT_NORMS)), &
                                   i=1, run%metric_count(DLC_REPORT_WEIGHT_NORMS))
  print '(a, 2(1x, l1))', 'above 0', run%metric('linear1.bias', DLC_REPORT_WEIGHT_NORMS) > 0, &
      run%metric('linear1.bias', DLC_REPORT_GRADIENT_NORMS) > 0
  call run%find_rate(search, stat=stat, message=message)
  print '(a, i0, 1x, a)', 'no rate: ', stat, trim(message(len(module) + 1:))
  call run%close()
  call run%open(trim(folder)//'/scheduled.so', data='idx:'//trim(folder)//'/data', seed=1)
  call run%find_rate(search, from=1d-3, to=1d3, steps=31)
  i = size(search%rate)
  print '(a, 5(1x, l1))', 'swept '//trim(search%setting), i > 10, search%suggested > 0, &
      abs(search%rate(1) - 1d-3) < 1d-12, all(search%rate(2:) > search%rate(:i - 1)), &
      search%loss(1) > 0 .and. all(search%smoothed > 0)
  call run%find_rate(search, steps=5, stat=stat, message=message)
  print '(a, 2(i0, 1x), a)', 'sweep: ', stat, size(search%loss), trim(message(index(message, 'so: '):))
  call run%close()
  call run%open(module, data='idx:'//trim(folder)//'/data', seed=1, overfit_batches=2, epochs=3)
  call run%train()
  progress = run%progress()
  call run%close()
  call run%open(module, data='idx:'//trim(folder)//'/data', seed=1, fast_dev_run=.true., &
                checkpoint=trim(folder)//'/tried', max_bad_records=1)
  call run%train()
  print '(a, i0, 1x, l1)', 'by heart ', progress%step, run%metric('loss') > 0
  call run%close()
  call run%open(module, seed=1, check_finite=.true.)
  image(1, 1, 1, 1) = ieee_value(1.0, ieee_positive_inf)
  call run%step([dlc_array('image', image), dlc_array('label', label)], stat, message)
  print '(a, i0, 1x, a)', 'finite: ', stat, trim(message(index(message, ';'):))
  call draw(image, label)
  call run%close()
  call run%open(module, share=2d0, stat=stat, message=message)
  print '(a, i0, 1x, a)', 'share: ', stat, trim(message)

  ! Memory of the device, on the stand-in for one: it is the host's, and no stream is looked at.
  call run%open(trim(folder)//'/simt.so', device='simt', seed=1)
  call run%step([dlc_array('image', image), dlc_array('label', label)])
  call run%read_weights(dlc_array('weights', weights))
  call run%close()
  call run%open(trim(folder)//'/simt.so', device='simt', seed=1)
  call run%set_stream(c_loc(weights))
  call run%set_stream(c_null_ptr)
  call run%step([there(dlc_array('image', image)), there(dlc_array('label', label))])
  call run%read_weights(there(dlc_array('weights', again)))
  print '(a, i0, 1x, l1)', 'device ', run%cuda_device(), .not. any(abs(again - weights) > 0)
  again = 0
  call run%write_weights(there(dlc_array('weights', again)))
  call run%read_variable(there(dlc_array('linear1.bias', bias)))
  print '(a, l1)', 'written ', .not. any(abs(bias) > 0)
  call run%evaluate([there(dlc_array('image', image)), there(dlc_array('label', label))], stat, message)
  print '(a, i0, 1x, a)', 'there: ', stat, trim(message)
  call run%close()

  ! Without stat it ends here.
  call run%open(trim(folder)//'/none.so')

contains

  !> The array, said to lie on the device.
  type(dlc_array) function there(array)
    type(dlc_array), intent(in) :: array
    there = array
    there%dtype = there%dtype + DLC_ON_DEVICE
  end function

  subroutine hears(fails_at, stops_at, removes)
    integer, intent(in) :: fails_at, stops_at
    character(*), intent(in), optional :: removes
    type(listener) :: listens
    listens%fails_at = fails_at
    listens%stops_at = stops_at
    if (present(removes)) listens%removes = removes
    message = ''
    call run%train(listens, stat, message)
    print '(a, i0, a, i0, 1x, a)', 'steps ', listens%steps, ' status ', stat, trim(message)
    if (listens%saved > 0) print '(a, i0)', 'checkpoints ', listens%saved
  end subroutine
end program
