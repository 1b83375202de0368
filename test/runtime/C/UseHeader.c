/* dlc/c.h as a C program has it: compiled as C99, without a warning. */
#include "dlc/c.h"

#include <string.h>

enum { batch = 8, pixels = 16, classes = 4 };

/* Trains the small model step by step and predicts a sample with it. Returns how many calls did not
 * do what they should. */
int useHeaderFromC(const char *module);

int useHeaderFromC(const char *module) {
  const dlc_override rate = {"optimizer.learning_rate", 0.5};
  const dlc_options options = {.size = sizeof options,
                               .module = module,
                               .threads = 1,
                               .seed = 1,
                               .overrides = &rate,
                               .override_count = 1};
  float images[batch * pixels], scores[classes];
  int32_t labels[batch];
  const dlc_array samples[] = {{"image", DLC_F32, 4, {batch, 1, 4, 4}, images},
                               {"label", DLC_I32, 1, {batch}, labels}};
  const dlc_array image = {"image", DLC_F32, 4, {1, 1, 4, 4}, images};
  const dlc_output output = {"output", DLC_F32, 2, {1, classes}, scores};
  dlc_progress progress = {.size = sizeof progress};
  dlc_run *run = NULL;
  double first = 0, last = 0;
  int i, bad = 0;
  for (i = 0; i < batch * pixels; ++i)
    images[i] = (float)(i % pixels / 4 == i / pixels % classes);
  for (i = 0; i < batch; ++i)
    labels[i] = i % classes;
  bad += dlc_run_open(&options, &run) != DLC_OK;
  for (i = 0; i < 20; ++i) {
    bad += dlc_run_step(run, samples, 2) != DLC_OK;
    bad += dlc_run_metric(run, DLC_REPORT_BATCH, "loss", i == 0 ? &first : &last) != DLC_OK;
  }
  bad += !(last < first);
  bad += dlc_run_progress(run, &progress) != DLC_OK || progress.step != 20;
  bad += dlc_run_predict(run, NULL, &image, 1, &output, 1) != DLC_OK;
  for (i = 1; i < classes; ++i)
    bad += !(scores[i] < scores[0]);
  bad += dlc_run_free(run) != DLC_OK;
  bad += dlc_run_free(run) != DLC_NOT_ALIVE || strcmp(dlc_message(), "the handle was freed") != 0;
  return bad;
}
