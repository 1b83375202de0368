// A CUDA driver's library with three devices, or with $NO_DEVICE none.
#include <stdlib.h>

int cuInit(unsigned flags) { return flags != 0 || getenv("NO_DEVICE") ? 100 : 0; }

int cuDeviceGetCount(int *count) {
  *count = 3;
  return 0;
}
