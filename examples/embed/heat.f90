! A small simulation that trains a surrogate of itself while it runs: diffusion and growth of
! something on a square, which the processes of a communicator of its own share by rows, and a
! network that learns what a step changes at a point, from the 3 x 3 points around it.
!
! usage: mpirun -n 4 heat heat.so       heat.dl compiled with --data-parallel; 1, 2 or 4 processes
program heat
  use, intrinsic :: iso_c_binding
  use mpi_f08
  use dlc
  implicit none
  integer, parameter :: columns = 64, rows = 64, steps = 1000, samples = 64
  real(c_double), parameter :: diffusion = 0.2d0, growth = 0.05d0, scale = 10
  real(c_double), allocatable :: field(:, :), next(:, :)
  real(c_float), target :: around(9, samples), change(1, samples), guess(1, samples)
  real(c_double) :: loss, first, last
  integer :: step, level, own_rows, rank, ranks
  integer(c_int64_t) :: random
  type(MPI_Comm) :: own
  type(dlc_ranks) :: together
  type(dlc_run) :: surrogate
  character(1024) :: module

  call get_command_argument(1, module)
  call MPI_Init_thread(MPI_THREAD_SERIALIZED, level)
  call MPI_Comm_dup(MPI_COMM_WORLD, own)
  call MPI_Comm_rank(own, rank)
  call MPI_Comm_size(own, ranks)
  call together%join(own%MPI_VAL)
  call surrogate%open(module=trim(module), ranks=together, seed=1)

  own_rows = rows / ranks
  random = rank
  allocate (field(0:columns + 1, 0:own_rows + 1), next(columns, own_rows))
  call begin
  first = 0
  last = 0
  do step = 1, steps
    call stir
    call exchange_borders
    call advance
    call sample
    call surrogate%step([dlc_array('around', around), dlc_array('change', change)])
    loss = surrogate%metric('loss')
    if (step <= 20) first = first + loss / 20
    if (step > steps - 20) last = last + loss / 20
    if (rank == 0 .and. mod(step, 200) == 0) print '(a, i0, a, es10.3)', 'step ', step, '  loss ', loss
    field(1:columns, 1:own_rows) = next
  end do

  ! What the network makes of points that it has not seen.
  call stir
  call exchange_borders
  call advance
  call sample
  call surrogate%predict([dlc_array('around', around)], [dlc_array('output', guess)])
  if (rank == 0) then
    print '(a, es10.3, a, es10.3)', 'loss from ', first, ' to ', last
    print '(a, f6.2, a)', 'explains ', 100 * (1 - sum((guess - change)**2) / sum((change - sum(change) / samples)**2)), &
        '% of the changes'
  end if
  if (last > first / 10) error stop 'the surrogate has not learnt'

  call together%leave()
  call surrogate%close()
  call together%free()
  call MPI_Comm_free(own)
  call MPI_Finalize()

contains

  !> A pattern that is the same for any number of processes.
  subroutine begin
    integer :: i, j
    do j = 1, own_rows
      do i = 1, columns
        field(i, j) = 0.5d0 + 0.4d0 * sin(0.4d0 * i) * cos(0.3d0 * (j + rank * own_rows))
      end do
    end do
  end subroutine

  !> Takes something away here and there, so that there is always something to see.
  subroutine stir
    integer :: k, i, j
    do k = 1, 16 / ranks
      i = drawn(columns)
      j = drawn(own_rows)
      field(i, j) = 0.2d0 * field(i, j)
    end do
  end subroutine

  !> The square has no border: what leaves it comes back on the other side.
  subroutine exchange_borders
    integer :: above, below
    above = modulo(rank - 1, ranks)
    below = modulo(rank + 1, ranks)
    field(0, :) = field(columns, :)
    field(columns + 1, :) = field(1, :)
    call MPI_Sendrecv(field(:, own_rows), columns + 2, MPI_DOUBLE_PRECISION, below, 1, &
                      field(:, 0), columns + 2, MPI_DOUBLE_PRECISION, above, 1, own, MPI_STATUS_IGNORE)
    call MPI_Sendrecv(field(:, 1), columns + 2, MPI_DOUBLE_PRECISION, above, 2, &
                      field(:, own_rows + 1), columns + 2, MPI_DOUBLE_PRECISION, below, 2, own, MPI_STATUS_IGNORE)
  end subroutine

  subroutine advance
    integer :: i, j
    do j = 1, own_rows
      do i = 1, columns
        next(i, j) = field(i, j) + growth * field(i, j) * (1 - field(i, j)) + diffusion * &
            (field(i - 1, j) + field(i + 1, j) + field(i, j - 1) + field(i, j + 1) - 4 * field(i, j))
      end do
    end do
  end subroutine

  !> Some of the points that this process has.
  subroutine sample
    integer :: k, i, j
    do k = 1, samples
      i = drawn(columns)
      j = drawn(own_rows)
      around(:, k) = real(reshape(field(i - 1:i + 1, j - 1:j + 1), [9]), c_float)
      change(1, k) = real(scale * (next(i, j) - field(i, j)), c_float)
    end do
  end subroutine

  !> From 1 to `most`: the generator of Lehmer.
  integer function drawn(most)
    integer, intent(in) :: most
    random = modulo(48271_c_int64_t * (random + 1), 2147483647_c_int64_t)
    drawn = int(1 + modulo(random, int(most, c_int64_t)))
  end function
end program
