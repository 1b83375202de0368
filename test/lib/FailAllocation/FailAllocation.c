// Makes one allocation of a program fail, to be loaded into it with LD_PRELOAD. Allocations are
// calls of malloc and its relatives (operator new is one of them), of mmap, and the starting of
// threads; they are counted from the beginning of main.
//
//   FAIL_ALLOCATION=K   number K fails, counted from 1; the others do not. 0 or no number: none.
//   FAIL_REPORT=FILE    how many there were is written here when the program ends by itself.
//   FAIL_PATHS=1        fails each call path that allocates, once, in a child that is forked there,
//                       and goes on without it; what children did goes into the report. For
//                       programs of one thread that take too long to be started for each of a
//                       million allocations.
//
// fail_allocations.py drives it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *memalign(size_t alignment, size_t size);

static atomic_bool counting;
static atomic_ulong allocations;
static unsigned long failing;
static bool byPaths;
static int childOutput = -1;
static FILE *report;
/// What the library itself does must not be counted.
static _Thread_local bool inside;

//--------------------------------------------------------------------------------------------------
// A child for each call path
//--------------------------------------------------------------------------------------------------

enum { frames = 24, places = 1 << 22 };
static uint64_t *seen;
static unsigned long paths, oneLine, madeDo, wrong;

static bool isNewPath(void) {
  void *stack[frames];
  int depth = backtrace(stack, frames);
  uint64_t hash = 0xcbf29ce484222325;
  for (int i = 0; i < depth; ++i)
    hash = (hash ^ (uint64_t)stack[i]) * 0x100000001b3;
  hash |= 1; // 0 is an empty place
  for (uint64_t i = hash >> 20;; ++i) {
    uint64_t *place = &seen[i % places];
    if (*place == hash)
      return false;
    if (*place == 0) {
      *place = hash;
      return true;
    }
  }
}

static void judge(int status) {
  static char text[4096];
  const ssize_t size = pread(childOutput, text, sizeof(text) - 1, 0);
  text[size < 0 ? 0 : size] = '\0';
  const char *end = strchr(text, '\n');
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    ++madeDo;
    return;
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 1 && strncmp(text, "error: ", 7) == 0 && end &&
      end[1] == '\0') {
    ++oneLine;
    return;
  }
  ++wrong;
  fprintf(report, "wrong: allocation %lu, %s %d: %s\n", atomic_load(&allocations),
          WIFEXITED(status) ? "exit" : "signal",
          WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status), text);
  fflush(report);
}

/// In the child true.
static bool failInChild(void) {
  ++paths;
  if (ftruncate(childOutput, 0) != 0)
    abort();
  const pid_t child = fork();
  if (child == 0) {
    lseek(childOutput, 0, SEEK_SET);
    dup2(childOutput, STDERR_FILENO);
    dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
    alarm(60); // a hang becomes a signal
    atomic_store(&counting, false);
    report = NULL;
    return true;
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
  judge(status);
  return false;
}

//--------------------------------------------------------------------------------------------------
// Counting
//--------------------------------------------------------------------------------------------------

/// Whether the allocation that is asked for now is to fail.
static bool fails(void) {
  if (inside || !atomic_load_explicit(&counting, memory_order_relaxed))
    return false;
  const unsigned long number = atomic_fetch_add(&allocations, 1) + 1;
  bool result = number == failing;
  if (byPaths) {
    inside = true;
    result = isNewPath() && failInChild();
    inside = false;
  }
  if (result)
    errno = ENOMEM;
  return result;
}

/// The C library's own, looked up at the first call, which is before any constructor.
#define REAL(name, ...)                                                                            \
  ({                                                                                               \
    static typeof(&name) real;                                                                     \
    if (!real)                                                                                     \
      real = (typeof(&name))dlsym(RTLD_NEXT, #name);                                               \
    real(__VA_ARGS__);                                                                             \
  })

// A program with a malloc of its own calls those that begin with __libc.
void *__libc_malloc(size_t size) { return fails() ? NULL : REAL(__libc_malloc, size); }
void *__libc_calloc(size_t count, size_t size) {
  return fails() ? NULL : REAL(__libc_calloc, count, size);
}
void *__libc_realloc(void *memory, size_t size) {
  return fails() ? NULL : REAL(__libc_realloc, memory, size);
}
void *malloc(size_t size) { return __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return __libc_calloc(count, size); }
void *realloc(void *memory, size_t size) { return __libc_realloc(memory, size); }
void *memalign(size_t alignment, size_t size) {
  return fails() ? NULL : REAL(memalign, alignment, size);
}
void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void **out, size_t alignment, size_t size) {
  void *memory = memalign(alignment, size);
  if (!memory)
    return ENOMEM;
  *out = memory;
  return 0;
}

void *mmap(void *start, size_t size, int protection, int flags, int file, off_t offset) {
  if (fails())
    return MAP_FAILED;
  return (void *)syscall(SYS_mmap, start, size, protection, flags, file, offset);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *),
                   void *argument) {
  return fails() ? EAGAIN : REAL(pthread_create, thread, attributes, body, argument);
}

//--------------------------------------------------------------------------------------------------
// Beginning and end
//--------------------------------------------------------------------------------------------------

static void prepare(void) {
  const char *number = getenv("FAIL_ALLOCATION"), *path = getenv("FAIL_REPORT");
  failing = number ? strtoul(number, NULL, 10) : 0;
  report = path ? fopen(path, "we") : NULL;
  byPaths = report && getenv("FAIL_PATHS");
  if (byPaths) {
    void *stack[1];
    backtrace(stack, 1); // loads what it needs
    childOutput = memfd_create("output", MFD_CLOEXEC);
    seen = calloc(places, sizeof(uint64_t));
  }
  // Programs that this one starts are not meant.
  unsetenv("LD_PRELOAD");
}

static void finish(void) {
  atomic_store(&counting, false);
  if (!report)
    return;
  if (byPaths)
    fprintf(report, "%lu call paths: %lu ended in one line, %lu made do, %lu wrong\n", paths,
            oneLine, madeDo, wrong);
  fprintf(report, "%lu allocations\n", atomic_load(&allocations));
  fclose(report);
}

static int (*realMain)(int, char **, char **);

static int countedMain(int argc, char **argv, char **environment) {
  prepare();
  atomic_store(&counting, true);
  const int code = realMain(argc, argv, environment);
  finish();
  return code;
}

int __libc_start_main(int (*mainFunction)(int, char **, char **), int argc, char **argv,
                      void (*init)(void), void (*fini)(void), void (*linker)(void), void *stack) {
  realMain = mainFunction;
  return REAL(__libc_start_main, countedMain, argc, argv, init, fini, linker, stack);
}
