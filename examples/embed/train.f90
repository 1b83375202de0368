! Trains a model, evaluates it and keeps it: train lenet.so idx:digits lenet.safetensors
program train
  use dlc
  implicit none
  type(dlc_run) :: run
  character(4096) :: module, data, checkpoint
  call get_command_argument(1, module)
  call get_command_argument(2, data)
  call get_command_argument(3, checkpoint)
  call run%open(module, data=data, checkpoint=checkpoint)
  call run%train()
  print '(a, f6.4)', 'accuracy ', run%metric('accuracy', DLC_REPORT_TEST)
  call run%close()
end program
