/* Loaded before the C library: counts a process's allocations while counting is on, and
   lets one request fail. */
#include <stddef.h>

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);
extern void __libc_free(void*);

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

/* The request of that number, counted from 0 from now on by all threads, fails; below 0: none does.
 */
static long until_failure = -1, live;
void malloc_counter_fail(long number) {
  __atomic_store_n(&until_failure, number, __ATOMIC_SEQ_CST);
}
/* Whether it has come. */
int malloc_counter_failed(void) { return __atomic_load_n(&until_failure, __ATOMIC_SEQ_CST) < 0; }
/* Blocks that are not freed. */
long malloc_counter_live(void) { return __atomic_load_n(&live, __ATOMIC_SEQ_CST); }

static int fails(size_t size) {
  if (counting) {
    __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&bytes, (long)size, __ATOMIC_RELAXED);
  }
  return __atomic_load_n(&until_failure, __ATOMIC_RELAXED) >= 0 &&
         __atomic_fetch_sub(&until_failure, 1, __ATOMIC_SEQ_CST) == 0;
}
static void* lives(void* block) {
  if (block) __atomic_add_fetch(&live, 1, __ATOMIC_RELAXED);
  return block;
}

void free(void* block) {
  if (block) __atomic_sub_fetch(&live, 1, __ATOMIC_RELAXED);
  __libc_free(block);
}
void* malloc(size_t size) { return fails(size) ? NULL : lives(__libc_malloc(size)); }
void* calloc(size_t n, size_t size) {
  return fails(n * size) ? NULL : lives(__libc_calloc(n, size));
}
void* realloc(void* old, size_t size) {
  if (fails(size)) return NULL;
  return old ? __libc_realloc(old, size) : lives(__libc_realloc(old, size));
}
void* memalign(size_t alignment, size_t size) {
  return fails(size) ? NULL : lives(__libc_memalign(alignment, size));
}
void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void** out, size_t alignment, size_t size) {
  *out = memalign(alignment, size);
  return *out ? 0 : 12;
}
