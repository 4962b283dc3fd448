/* Loaded before the C library: counts what a process asks of its heap while it is told to. */
#include <stddef.h>

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);

static int counting;
static long calls, bytes;

void malloc_counter_begin(void) {
  calls = bytes = 0;
  counting = 1;
}
long malloc_counter_end(void) {
  counting = 0;
  return calls;
}
long malloc_counter_bytes(void) { return bytes; }

static void note(size_t size) {
  if (!counting) return;
  __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
  __atomic_add_fetch(&bytes, (long)size, __ATOMIC_RELAXED);
}

void* malloc(size_t size) {
  note(size);
  return __libc_malloc(size);
}
void* calloc(size_t n, size_t size) {
  note(n * size);
  return __libc_calloc(n, size);
}
void* realloc(void* old, size_t size) {
  note(size);
  return __libc_realloc(old, size);
}
void* memalign(size_t alignment, size_t size) {
  note(size);
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  note(size);
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** out, size_t alignment, size_t size) {
  note(size);
  *out = __libc_memalign(alignment, size);
  return *out ? 0 : 12;
}
