/* A fake accelerator: memory that the host must not touch, and a stream that runs late.
 *
 * The memory is mapped twice. `allocate` returns addresses of the first mapping, where any access
 * is a fault; the thread of the stream uses the second. Memory is full of kPoison, a NaN of every
 * float type, before its first use and after its release, in the order of the stream. Memory that
 * was written in between, or behind the end of an allocation, is an error of the device.
 *
 * Copies to the host run on a thread of their own, after what was enqueued before them, and beside
 * what was enqueued later. */
#define _GNU_SOURCE
#include "fake_device.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fake_blocks.h"

static const uint16_t kPoison = 0x7ff7;
enum { kMostDevices = 8, kAlignment = 256 };

/* Work in order. */
typedef struct {
  Work *first, *last;
  int64_t enqueued, ended; /* numbers of work */
} Queue;

struct FakeDevice {
  hr_device abi; /* first: an hr_device is a FakeDevice */
  char description[kHolder];
  char* base;   /* no access */
  char* shadow; /* the same memory, for the thread of the stream */
  int64_t in_use, peak, limit, live, allocated;

  pthread_mutex_t lock; /* of all that follows, and of the numbers above */
  pthread_cond_t changed;
  Blocks blocks;

  Queue stream, copies; /* all work but copies to the host, and these */
  int64_t flushed;      /* the number of work in the stream */
  int32_t running, waits_for_flush;
  int64_t latency_ns;
  uint64_t random; /* the state of the generator; 0: the latency is fixed */
  int64_t allocations_left, launches_left, copies_left; /* until one fails; negative: never */
  int32_t copy_fails_late, launch_fails_late;
  FakeCounts counts;

  /* The first error since the last notify. */
  hr_code error;
  char message[1024];
};

static FakeDevice* devices[kMostDevices];
static int32_t n_devices = 0;
/* In a child of a fork, which has neither the memory nor the threads. */
static int32_t is_lost = 0;

static FakeDevice* fake(hr_device* device) { return (FakeDevice*)device; }
uint16_t fake_poison(void) { return kPoison; }

void* fake_calloc(size_t n, size_t size) {
  void* made = calloc(n ? n : 1, size);
  if (!made) abort();
  return made;
}

void fake_keep_error(FakeDevice* d, hr_code code, const char* message) {
  pthread_mutex_lock(&d->lock);
  if (!d->error) {
    d->error = code;
    snprintf(d->message, sizeof d->message, "%s", message);
  }
  pthread_mutex_unlock(&d->lock);
}

/* ---- the stream ------------------------------------------------------------------- */

static int64_t system_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void run_work(FakeDevice* d, Work* work) {
  const int64_t start = system_ns();
  if (work->run) work->run(d, work);
  if (work->profile)
    work->profile->add(work->profile, work->entry, work->what, start, system_ns(), work->bytes);
  work->end(d, work);
}

/* Whether the first work of a queue may run. The lock is held. */
static int32_t may_run(const FakeDevice* d, const Queue* queue) {
  if (!queue->first) return 0;
  if (queue == &d->copies) return d->stream.ended >= queue->first->after;
  return !d->waits_for_flush || queue->first->number <= d->flushed;
}

static void run_queue(FakeDevice* d, Queue* queue) {
  pthread_mutex_lock(&d->lock);
  for (;;) {
    while (!may_run(d, queue)) pthread_cond_wait(&d->changed, &d->lock);
    Work* work = queue->first;
    queue->first = work->next;
    if (!queue->first) queue->last = NULL;
    pthread_mutex_unlock(&d->lock);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &work->due, NULL);
    run_work(d, work);
    pthread_mutex_lock(&d->lock);
    ++queue->ended;
    pthread_cond_broadcast(&d->changed);
  }
}

static void* run_stream(void* device) {
  run_queue(device, &((FakeDevice*)device)->stream);
  return NULL;
}
static void* run_copies(void* device) {
  run_queue(device, &((FakeDevice*)device)->copies);
  return NULL;
}

static void start_thread(FakeDevice* d, void* (*run)(void*)) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, run, d)) abort();
  pthread_detach(thread);
}

static int64_t draw_latency(FakeDevice* d) {
  if (!d->random) return d->latency_ns;
  d->random ^= d->random << 13; /* xorshift64 */
  d->random ^= d->random >> 7;
  d->random ^= d->random << 17;
  return d->latency_ns ? (int64_t)(d->random % (uint64_t)(2 * d->latency_ns)) : 0;
}

/* The lock is held. */
static void enqueue_in(FakeDevice* d, Queue* queue, Work* work, int64_t latency_ns) {
  clock_gettime(CLOCK_MONOTONIC, &work->due);
  const int64_t ns = work->due.tv_nsec + latency_ns;
  work->due.tv_sec += ns / 1000000000;
  work->due.tv_nsec = ns % 1000000000;
  work->number = ++queue->enqueued;
  work->after = d->stream.enqueued;
  work->next = NULL;
  if (work->profile) work->entry = work->profile->entry;
  if (queue->last) queue->last->next = work;
  else queue->first = work;
  queue->last = work;
  if (!d->running) {
    start_thread(d, run_stream);
    start_thread(d, run_copies);
    d->running = 1;
  }
  pthread_cond_broadcast(&d->changed);
}

static void enqueue(FakeDevice* d, Work* work, int64_t latency_ns) {
  enqueue_in(d, &d->stream, work, latency_ns);
}

/* The lock is held. */
static void flush_all(FakeDevice* d) {
  d->flushed = d->stream.enqueued;
  pthread_cond_broadcast(&d->changed);
}

static void flush(hr_device* device) {
  FakeDevice* d = fake(device);
  pthread_mutex_lock(&d->lock);
  flush_all(d);
  pthread_mutex_unlock(&d->lock);
}

/* Whether one of the things that are counted down is to fail. The lock is held. */
static int32_t is_last(int64_t* left) { return *left >= 0 && (*left)-- == 0; }

int32_t fake_next_launch(hr_device* device) {
  FakeDevice* d = fake(device);
  pthread_mutex_lock(&d->lock);
  int32_t how = is_lost ? FAKE_FAILS : FAKE_WORKS;
  if (is_last(&d->launches_left)) how = d->launch_fails_late ? FAKE_FAILS_LATE : FAKE_FAILS;
  pthread_mutex_unlock(&d->lock);
  return how;
}

void fake_enqueue_launch(hr_device* device, Work* work) {
  FakeDevice* d = fake(device);
  pthread_mutex_lock(&d->lock);
  ++d->counts.launches;
  enqueue(d, work, draw_latency(d));
  pthread_mutex_unlock(&d->lock);
}

typedef struct {
  Work work;
  hr_device_done done;
  void* argument;
  int64_t copies; /* to the host, that end before it */
} Notice;

static void end_notice(FakeDevice* d, Work* work) {
  Notice* notice = (Notice*)work;
  char message[sizeof d->message];
  pthread_mutex_lock(&d->lock);
  while (d->copies.ended < notice->copies) pthread_cond_wait(&d->changed, &d->lock);
  const hr_code code = d->error;
  snprintf(message, sizeof message, "%s", code ? d->message : "");
  d->error = HR_OK;
  pthread_mutex_unlock(&d->lock);
  notice->done(notice->argument, code, message);
  free(notice);
}

static void notify(hr_device* device, hr_device_done done, void* argument) {
  FakeDevice* d = fake(device);
  Notice* notice = fake_calloc(1, sizeof *notice);
  *notice = (Notice){{.end = end_notice}, done, argument, 0};
  if (is_lost) {
    free(notice);
    done(argument, HR_UNAVAILABLE, "fake device: this process is a fork");
    return;
  }
  pthread_mutex_lock(&d->lock);
  notice->copies = d->copies.enqueued;
  enqueue(d, &notice->work, 0);
  flush_all(d);
  pthread_mutex_unlock(&d->lock);
}

/* ---- memory ----------------------------------------------------------------------- */

/* Fills memory with poison, or looks for changes of the poison in it. */
typedef struct {
  Work work;
  int64_t begin, fill_from, end;
  const char* fault; /* what it means if memory before fill_from has changed */
  char holder[kHolder];
} Poisoning;

static void run_poisoning(FakeDevice* d, Work* work) {
  const Poisoning* p = (const Poisoning*)work;
  const int64_t begin = (p->begin + 1) / 2 * 2; /* whole values */
  const char* at = d->shadow + begin;
  const int64_t bytes = p->fill_from - begin;
  /* All values are equal if each equals the next, and they are poison if the first is. */
  if (bytes > 0 && (memcmp(at, &kPoison, 2) || memcmp(at, at + 2, (size_t)bytes - 2))) {
    char text[2 * kHolder];
    snprintf(text, sizeof text, "%s '%s'", p->fault, p->holder);
    fake_keep_error(d, HR_INTERNAL, text);
  }
  for (int64_t i = p->fill_from; i < p->end; i += 2) memcpy(d->shadow + i, &kPoison, 2);
}

static void end_work(FakeDevice* d, Work* work) {
  (void)d;
  free(work);
}

/* The lock is held. */
static void enqueue_poisoning(FakeDevice* d, int64_t begin, int64_t fill_from, int64_t end,
                              const char* fault, const char* holder) {
  Poisoning* p = fake_calloc(1, sizeof *p);
  p->work.run = run_poisoning;
  p->work.end = end_work;
  p->begin = begin, p->fill_from = fill_from, p->end = end;
  p->fault = fault;
  snprintf(p->holder, sizeof p->holder, "%s", holder);
  enqueue(d, &p->work, 0);
}

static void* allocate(hr_device* device, int64_t bytes, const char* holder) {
  FakeDevice* d = fake(device);
  void* data = NULL;
  pthread_mutex_lock(&d->lock);
  if (bytes > 0 && bytes < d->blocks.span && !is_lost && !is_last(&d->allocations_left)) {
    /* At least one byte more: what is written behind the end is seen. */
    const int64_t size = (bytes / kAlignment + 1) * kAlignment;
    const int64_t used = used_bytes(&d->blocks);
    Block* block = d->in_use + size <= d->limit ? take_block(&d->blocks, size) : NULL;
    if (block) {
      block->bytes = bytes;
      snprintf(block->holder, sizeof block->holder, "%s", holder ? holder : "");
      d->in_use += size;
      if (d->in_use > d->peak) d->peak = d->in_use;
      ++d->live, ++d->allocated;
      const int64_t end = block->offset + size;
      enqueue_poisoning(d, block->offset, block->offset < used ? end : block->offset, end,
                        "memory was written after its release, before its allocation for",
                        block->holder);
      data = d->base + block->offset;
    }
  }
  pthread_mutex_unlock(&d->lock);
  return data;
}

static void release(hr_device* device, void* data) {
  FakeDevice* d = fake(device);
  if (is_lost) return;
  pthread_mutex_lock(&d->lock);
  const int64_t offset = (char*)data - d->base;
  Block* block = find_block(&d->blocks, offset);
  if (!block || block->offset != offset) {
    fprintf(stderr, "fake device: release of %p, which is no allocation\n", data);
    abort();
  }
  const int64_t end = offset + block->bytes;
  enqueue_poisoning(d, end, offset + block->size, 0, "memory was written behind the end of",
                    block->holder);
  enqueue_poisoning(d, offset, offset, offset + block->size, "", "");
  d->in_use -= block->size;
  --d->live;
  free_block(&d->blocks, block);
  pthread_mutex_unlock(&d->lock);
}

static void describe_memory(hr_device* device, char* text, size_t size) {
  FakeDevice* d = fake(device);
  pthread_mutex_lock(&d->lock);
  describe_blocks(&d->blocks, text, size);
  pthread_mutex_unlock(&d->lock);
}

static void memory(hr_device* device, hr_device_memory* found) {
  FakeDevice* d = fake(device);
  pthread_mutex_lock(&d->lock);
  *found = (hr_device_memory){d->in_use, d->peak, used_bytes(&d->blocks),
                              d->limit,  d->live, d->allocated};
  pthread_mutex_unlock(&d->lock);
}

static void reset_peak(hr_device* device) {
  FakeDevice* d = fake(device);
  pthread_mutex_lock(&d->lock);
  d->peak = d->in_use;
  pthread_mutex_unlock(&d->lock);
}

static void set_limit(hr_device* device, int64_t bytes) {
  FakeDevice* d = fake(device);
  pthread_mutex_lock(&d->lock);
  d->limit = bytes;
  pthread_mutex_unlock(&d->lock);
}

int32_t fake_is_device_memory(const void* data) {
  for (int32_t i = 0; i < n_devices; ++i) {
    const uintptr_t base = (uintptr_t)devices[i]->base;
    if ((uintptr_t)data >= base && (uintptr_t)data < base + 2 * (uintptr_t)devices[i]->blocks.span)
      return 1;
  }
  return 0;
}

/* The lock is held. */
static void* translate(const FakeDevice* d, const void* data, int64_t bytes) {
  const uintptr_t base = (uintptr_t)d->base;
  if ((uintptr_t)data < base || (uintptr_t)data >= base + (uintptr_t)d->blocks.span) return NULL;
  const int64_t offset = (int64_t)((uintptr_t)data - base);
  const Block* block = find_block(&d->blocks, offset);
  if (!block || offset + bytes > block->offset + block->bytes) return NULL;
  return d->shadow + offset;
}

void* fake_translate(hr_device* device, const void* data, int64_t bytes) {
  FakeDevice* d = fake(device);
  pthread_mutex_lock(&d->lock);
  void* found = translate(d, data, bytes);
  pthread_mutex_unlock(&d->lock);
  return found;
}

/* ---- copies ----------------------------------------------------------------------- */

typedef struct {
  Work work;
  void *to, *staged; /* staged: freed with the copy */
  const void* from;
  hr_device_done done;
  void* argument;
  int32_t out, fails;
} Copy;

static void run_copy(FakeDevice* d, Work* work) {
  const Copy* copy = (const Copy*)work;
  if (!copy->fails) memmove(copy->to, copy->from, (size_t)work->bytes);
  else if (!copy->done) fake_keep_error(d, HR_INTERNAL, "fake device: a copy failed");
}

static void end_copy(FakeDevice* d, Work* work) {
  Copy* copy = (Copy*)work;
  char message[sizeof d->message] = "";
  hr_code code = HR_OK;
  if (copy->fails) {
    code = HR_INTERNAL;
    snprintf(message, sizeof message, "fake device: a copy failed");
  } else if (copy->out) { /* the bytes may be those of failed work */
    pthread_mutex_lock(&d->lock);
    code = d->error;
    if (code) snprintf(message, sizeof message, "%s", d->message);
    pthread_mutex_unlock(&d->lock);
  }
  if (copy->done) copy->done(copy->argument, code, message);
  free(copy->staged);
  free(copy);
}

/* A wrong address is a fault of the runtime, which the return code alone would not explain. */
static int32_t reject(const char* format, ...) {
  va_list args;
  va_start(args, format);
  vfprintf(stderr, format, args);
  va_end(args);
  return HR_INVALID_ARGUMENT;
}

/* Completes and enqueues a copy whose addresses are right. The lock is held. */
static int32_t enqueue_copy(FakeDevice* d, Copy wanted, hr_profile* profile, const char* what,
                            int64_t bytes) {
  if (is_lost) return HR_UNAVAILABLE;
  const int32_t fails = is_last(&d->copies_left);
  if (fails && !d->copy_fails_late) return HR_INTERNAL;
  Copy* copy = fake_calloc(1, sizeof *copy);
  *copy = wanted;
  copy->fails = fails;
  copy->work =
      (Work){.run = run_copy, .end = end_copy, .profile = profile, .what = what, .bytes = bytes};
  enqueue_in(d, copy->out ? &d->copies : &d->stream, &copy->work, draw_latency(d));
  return HR_OK;
}

static int32_t copy_in(hr_device* device, void* to, const void* from, int64_t bytes,
                       hr_profile* profile, hr_device_done done, void* argument) {
  FakeDevice* d = fake(device);
  pthread_mutex_lock(&d->lock);
  void* at = bytes ? translate(d, to, bytes) : to;
  int32_t code;
  if (bytes < 0 || (bytes && !at) || fake_is_device_memory(from)) {
    code = reject("fake device: copy_in of %lld bytes from %p to %p\n", (long long)bytes, from, to);
  } else {
    Copy copy = {.to = at, .from = from, .done = done, .argument = argument};
    if (!done) {
      copy.staged = fake_calloc(1, (size_t)bytes);
      copy.from = bytes ? memcpy(copy.staged, from, (size_t)bytes) : copy.staged;
    }
    code = enqueue_copy(d, copy, profile, "copy to device", bytes);
    if (code) free(copy.staged);
    ++d->counts.copies_in;
    d->counts.bytes_in += bytes;
  }
  pthread_mutex_unlock(&d->lock);
  return code;
}

static int32_t copy_out(hr_device* device, void* to, const void* from, int64_t bytes,
                        hr_profile* profile, hr_device_done done, void* argument) {
  FakeDevice* d = fake(device);
  pthread_mutex_lock(&d->lock);
  const void* at = bytes ? translate(d, from, bytes) : from;
  int32_t code;
  if (bytes < 0 || (bytes && !at) || fake_is_device_memory(to)) {
    code =
        reject("fake device: copy_out of %lld bytes from %p to %p\n", (long long)bytes, from, to);
  } else {
    const Copy copy = {.to = to, .from = at, .done = done, .argument = argument, .out = 1};
    if (bytes) memset(to, 0xf7, (size_t)bytes); /* what is read too early is wrong */
    code = enqueue_copy(d, copy, profile, "copy to host", bytes);
    flush_all(d);
    ++d->counts.copies_out;
    d->counts.bytes_out += bytes;
  }
  pthread_mutex_unlock(&d->lock);
  return code;
}

static int32_t copy_within(hr_device* device, void* to, const void* from, int64_t bytes,
                           hr_profile* profile) {
  FakeDevice* d = fake(device);
  pthread_mutex_lock(&d->lock);
  char* target = bytes ? translate(d, to, bytes) : to;
  const char* source = bytes ? translate(d, from, bytes) : from;
  const int32_t overlap =
      bytes && target && source && target < source + bytes && source < target + bytes;
  int32_t code;
  if (bytes < 0 || (bytes && (!target || !source)) || overlap) {
    code = reject("fake device: copy_within of %lld bytes from %p to %p\n", (long long)bytes, from,
                  to);
  } else {
    const Copy copy = {.to = target, .from = source};
    code = enqueue_copy(d, copy, profile, "copy within device", bytes);
    ++d->counts.copies_within;
  }
  pthread_mutex_unlock(&d->lock);
  return code;
}

/* ---- set-up and control ----------------------------------------------------------- */

static FakeDevice* make_device(int32_t number, int64_t memory_bytes) {
  FakeDevice* d = fake_calloc(1, sizeof *d);
  snprintf(d->description, sizeof d->description, "fake device %d for tests", (int)number);
  d->abi = (hr_device){.size = sizeof(hr_device),
                       .type = "GPU",
                       .description = d->description,
                       .memory_bytes = memory_bytes,
                       .allocate = allocate,
                       .release = release,
                       .describe_memory = describe_memory,
                       .memory = memory,
                       .reset_peak = reset_peak,
                       .set_limit = set_limit,
                       .copy_in = copy_in,
                       .copy_out = copy_out,
                       .copy_within = copy_within,
                       .flush = flush,
                       .notify = notify};
  pthread_mutex_init(&d->lock, NULL);
  pthread_cond_init(&d->changed, NULL);
  d->limit = memory_bytes;
  d->latency_ns = 50000;
  d->allocations_left = d->launches_left = d->copies_left = -1;
  d->blocks.span = memory_bytes > (int64_t)1 << 31 ? 4 * memory_bytes : (int64_t)8 << 30;
  /* Pages of a sparse file cost nothing until they are used. A child of a fork must not write into
   * the memory of its parent. */
  const int file = memfd_create("fake device", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, d->blocks.span)) abort();
  const int flags = MAP_SHARED | MAP_NORESERVE;
  const size_t both = 2 * (size_t)d->blocks.span;
  d->base = mmap(NULL, both, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (d->base == MAP_FAILED) abort();
  d->shadow = d->base + d->blocks.span;
  if (mmap(d->base, (size_t)d->blocks.span, PROT_NONE, flags | MAP_FIXED, file, 0) == MAP_FAILED ||
      mmap(d->shadow, (size_t)d->blocks.span, PROT_READ | PROT_WRITE, flags | MAP_FIXED, file, 0) ==
          MAP_FAILED ||
      madvise(d->base, both, MADV_DONTFORK) || madvise(d->base, both, MADV_DONTDUMP))
    abort();
  close(file);
  return d;
}

static void lock_all(void) {
  for (int32_t i = 0; i < n_devices; ++i) pthread_mutex_lock(&devices[i]->lock);
}
static void unlock_all(void) {
  for (int32_t i = n_devices; i--;) pthread_mutex_unlock(&devices[i]->lock);
}
static void begin_child(void) {
  is_lost = 1;
  /* A broadcast would wait for threads that the child does not have. */
  for (int32_t i = 0; i < n_devices; ++i) pthread_cond_init(&devices[i]->changed, NULL);
  unlock_all();
}

hr_device* const* fake_make_devices(int32_t count, int64_t memory_bytes) {
  if (!n_devices && pthread_atfork(lock_all, unlock_all, begin_child)) abort();
  for (; n_devices < count && n_devices < kMostDevices; ++n_devices)
    devices[n_devices] = make_device(n_devices, memory_bytes);
  return (hr_device* const*)devices;
}

hr_device* const* fake_list_devices(int32_t* n) {
  *n = n_devices;
  return (hr_device* const*)devices;
}

void fake_set_latency(hr_device* device, int64_t latency_ns, uint64_t seed) {
  FakeDevice* d = fake(device);
  pthread_mutex_lock(&d->lock);
  d->latency_ns = latency_ns;
  d->random = seed;
  pthread_mutex_unlock(&d->lock);
}

void fake_wait_for_flush(hr_device* device, int32_t wait) {
  FakeDevice* d = fake(device);
  pthread_mutex_lock(&d->lock);
  d->waits_for_flush = wait;
  pthread_cond_broadcast(&d->changed);
  pthread_mutex_unlock(&d->lock);
}

void fake_fail_allocation(hr_device* device, int64_t n) {
  FakeDevice* d = fake(device);
  pthread_mutex_lock(&d->lock);
  d->allocations_left = n;
  pthread_mutex_unlock(&d->lock);
}

void fake_fail_launch(hr_device* device, int64_t n, int32_t late) {
  FakeDevice* d = fake(device);
  pthread_mutex_lock(&d->lock);
  d->launches_left = n;
  d->launch_fails_late = late;
  pthread_mutex_unlock(&d->lock);
}

void fake_fail_copy(hr_device* device, int64_t n, int32_t late) {
  FakeDevice* d = fake(device);
  pthread_mutex_lock(&d->lock);
  d->copies_left = n;
  d->copy_fails_late = late;
  pthread_mutex_unlock(&d->lock);
}

void fake_counts(hr_device* device, FakeCounts* counts) {
  FakeDevice* d = fake(device);
  pthread_mutex_lock(&d->lock);
  *counts = d->counts;
  pthread_mutex_unlock(&d->lock);
}
