// Debian's archives of libjpeg-turbo, libpng and LMDB are compiled for programs, in which `stderr`
// has a place that the linker knows. In libdlc_images.so and libdlc_lmdb.so this is it; nothing is
// written to it, as all are given functions for what they have to say.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

__attribute__((visibility("hidden"))) void *stderr = NULL;

__attribute__((constructor)) static void findStderr(void) {
  void **own = (void **)dlsym(RTLD_DEFAULT, "stderr");
  if (own)
    stderr = *own;
}
