// Debian's archives of libjpeg-turbo, libpng, LMDB and libhdf5 are compiled for programs, in which
// `stderr` has a place that the linker knows. In libdlc_images.so, libdlc_lmdb.so and
// libdlc_hdf5.so this is it; nothing is written to it, as all are given functions for what they
// have to say.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

__attribute__((visibility("hidden"))) void *stderr = NULL;

__attribute__((constructor)) static void findStderr(void) {
  void **own = (void **)dlsym(RTLD_DEFAULT, "stderr");
  if (own)
    stderr = *own;
}
