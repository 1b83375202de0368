! Data parallel training over a communicator of the program's own. usage: mpirun ... ranks FOLDER
program ranks_of_mine
  use mpi
  use dlc
  implicit none
  type(dlc_run) :: run
  type(dlc_ranks) :: ranks
  character(1000) :: folder
  integer :: level, own, error
  call get_command_argument(1, folder)
  call MPI_Init_thread(MPI_THREAD_SERIALIZED, level, error)
  call MPI_Comm_dup(MPI_COMM_WORLD, own, error)
  call ranks%join(own)
  call MPI_Comm_free(own, error)
  call run%open(trim(folder)//'/parallel.so', data='idx:'//trim(folder)//'/data', seed=1, epochs=2, &
                threads=1, checkpoint=trim(folder)//'/fortran.safetensors', ranks=ranks)
  call run%train()
  if (ranks%rank() == 0) print '(i0, a, l1)', ranks%size(), ' ranks, learnt: ', &
      run%metric('accuracy', DLC_REPORT_TEST) > 0.9
  call run%close()
  call ranks%leave()
  call ranks%free()
  call MPI_Finalize(error)
end program
