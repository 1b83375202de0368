/* Trains a model, evaluates it and keeps it: train lenet.so idx:digits lenet.safetensors */
#include <dlc/c.h>
#include <stdio.h>

int main(int argc, char **argv) {
  if (argc != 4)
    return 2;
  dlc_options options = {
      .size = sizeof options, .module = argv[1], .data = argv[2], .checkpoint = argv[3]};
  dlc_run *run;
  double accuracy;
  if (dlc_run_open(&options, &run) || dlc_run_train(run, NULL) ||
      dlc_run_metric(run, DLC_REPORT_TEST, "accuracy", &accuracy))
    return fprintf(stderr, "%s\n", dlc_message()), 1;
  printf("accuracy %.4f\n", accuracy);
  return dlc_run_free(run);
}
