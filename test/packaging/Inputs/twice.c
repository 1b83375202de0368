/* Two copies of the library in one process: a handle of one is none of the other.
 * usage: twice libdlc.so ANOTHER.so small.so idx:DATA */
#define _POSIX_C_SOURCE 200809L
#include <dlc/c.h>
#include <dlfcn.h>
#include <stdio.h>

typedef dlc_status (*open_function)(const dlc_options *, dlc_run **);
typedef dlc_status (*train_function)(dlc_run *, const dlc_observer *);
typedef const char *(*message_function)(void);

/* What dlsym() finds is a function: POSIX has it so, and C has no cast for it. */
static void find(void *library, const char *name, void *out_function) {
  *(void **)out_function = dlsym(library, name);
}

int main(int argc, char **argv) {
  const dlc_options options = {
      .size = sizeof options, .module = argv[argc - 2], .data = argv[argc - 1], .threads = 1};
  dlc_run *runs[2];
  open_function open;
  train_function train[2];
  message_function message[2];
  int i;
  for (i = 0; i < 2; ++i) {
    void *library = dlopen(argv[1 + i], RTLD_NOW | RTLD_LOCAL);
    if (!library)
      return fprintf(stderr, "%s\n", dlerror()), 1;
    find(library, "dlc_run_open", &open);
    find(library, "dlc_run_train", &train[i]);
    find(library, "dlc_message", &message[i]);
    if (open(&options, &runs[i]))
      return fprintf(stderr, "%s\n", message[i]()), 1;
  }
  for (i = 0; i < 2; ++i) {
    printf("other: %d", (int)train[i](runs[1 - i], NULL));
    printf(" %s\n", message[i]());
    printf("own: %d\n", (int)train[i](runs[i], NULL));
  }
  return 0;
}
