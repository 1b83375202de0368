// As Pictures/StandardError.c says, libhdf5 also has functions that print to `stdout`: nobody calls
// them.
#include <stddef.h>

__attribute__((visibility("hidden"))) void *stdout = NULL;
