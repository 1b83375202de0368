// Since glibc 2.34 the C library runs a program's constructors. Before, the program brought a
// function that does, and a later glibc still calls one that it is given.
#include <stddef.h>

typedef void (*Constructor)(int, char **, char **);
extern Constructor __init_array_start[], __init_array_end[];
extern void _init(void);

int __real___libc_start_main(int (*main)(int, char **, char **), int count, char **arguments,
                             Constructor init, void (*fini)(void), void (*loaderFini)(void),
                             void *stackEnd);

static void construct(int count, char **arguments, char **environment) {
  _init();
  for (Constructor *one = __init_array_start; one != __init_array_end; ++one)
    (*one)(count, arguments, environment);
}

int __wrap___libc_start_main(int (*main)(int, char **, char **), int count, char **arguments,
                             Constructor init, void (*fini)(void), void (*loaderFini)(void),
                             void *stackEnd) {
  return __real___libc_start_main(main, count, arguments, init ? init : construct, fini, loaderFini,
                                  stackEnd);
}
