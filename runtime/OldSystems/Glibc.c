// What libstdc++ and the runtime call of a later glibc and glibc 2.28 does not have. All of it is
// hidden, so each object that is shipped has its own.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/// glibc 2.32: whether counters of references need no atomic operations. They have them.
char __libc_single_threaded = 0;

// glibc 2.33: they were inline functions before. The kernel's struct stat is that of the C library.
int fstatat(int folder, const char *path, struct stat *status, int flags) {
  return (int)syscall(SYS_newfstatat, folder, path, status, flags);
}
int stat(const char *path, struct stat *status) { return fstatat(AT_FDCWD, path, status, 0); }
int lstat(const char *path, struct stat *status) {
  return fstatat(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}
int fstat(int file, struct stat *status) { return (int)syscall(SYS_fstat, file, status); }
int fstat64(int file, struct stat64 *status) { return (int)syscall(SYS_fstat, file, status); }

/// The moment of another clock, as long from now.
static struct timespec onRealClock(clockid_t clock, const struct timespec *time) {
  const long second = 1000000000;
  struct timespec now, realNow;
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &realNow);
  struct timespec real = {realNow.tv_sec + time->tv_sec - now.tv_sec,
                          realNow.tv_nsec + time->tv_nsec - now.tv_nsec};
  real.tv_sec += (real.tv_nsec >= second) - (real.tv_nsec < 0);
  real.tv_nsec += ((real.tv_nsec < 0) - (real.tv_nsec >= second)) * second;
  return real;
}

/// glibc 2.30. Where there is none, a clock that is set while one waits changes how long that is,
/// and libstdc++ looks at its own clock afterwards.
int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
                           const struct timespec *time) {
  typedef int (*ClockWait)(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *);
  const ClockWait own = (ClockWait)dlsym(RTLD_DEFAULT, "pthread_cond_clockwait");
  if (own)
    return own(condition, mutex, clock, time);
  const struct timespec real = onRealClock(clock, time);
  return pthread_cond_timedwait(condition, mutex, &real);
}
