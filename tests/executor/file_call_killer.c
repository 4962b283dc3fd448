/* Loaded before the C library: kills the process at one of its calls that change files. A write is
   cut off in the middle. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static long left = -1; /* calls until the end; below 0: it does not come */

/* The process ends before its call of that number from now on, counted from 0 by all threads. */
void file_call_killer_begin(long number) { __atomic_store_n(&left, number, __ATOMIC_SEQ_CST); }

static int is_last(void) {
  return __atomic_load_n(&left, __ATOMIC_SEQ_CST) >= 0 &&
         __atomic_fetch_sub(&left, 1, __ATOMIC_SEQ_CST) == 0;
}

static void end_here(void) {
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

#define NEXT(name, ...)                               \
  static __typeof__(&name) next;                      \
  if (!next) *(void**)&next = dlsym(RTLD_NEXT, #name); \
  return next(__VA_ARGS__)

ssize_t write(int file, const void* data, size_t size) {
  static __typeof__(&write) next;
  if (!next) *(void**)&next = dlsym(RTLD_NEXT, "write");
  if (is_last()) {
    if (size > 1) (void)!next(file, data, size / 2);
    end_here();
  }
  return next(file, data, size);
}

int open(const char* path, int flags, ...) {
  va_list rest;
  mode_t mode;
  va_start(rest, flags);
  mode = (flags & O_CREAT) ? (mode_t)va_arg(rest, int) : 0;
  va_end(rest);
  if ((flags & (O_CREAT | O_TRUNC)) && is_last()) end_here();
  NEXT(open, path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list rest;
  mode_t mode;
  va_start(rest, flags);
  mode = (flags & O_CREAT) ? (mode_t)va_arg(rest, int) : 0;
  va_end(rest);
  if ((flags & (O_CREAT | O_TRUNC)) && is_last()) end_here();
  NEXT(open64, path, flags, mode);
}

int rename(const char* from, const char* to) {
  if (is_last()) end_here();
  NEXT(rename, from, to);
}

int link(const char* from, const char* to) {
  if (is_last()) end_here();
  NEXT(link, from, to);
}

int unlink(const char* path) {
  if (is_last()) end_here();
  NEXT(unlink, path);
}

int rmdir(const char* path) {
  if (is_last()) end_here();
  NEXT(rmdir, path);
}

int mkdir(const char* path, mode_t mode) {
  if (is_last()) end_here();
  NEXT(mkdir, path, mode);
}

int fsync(int file) {
  if (is_last()) end_here();
  NEXT(fsync, file);
}
