/* The memory of the device: addresses that no process can read, and the bytes behind them.
 *
 * Work is done when it is enqueued, under one lock, which is the order of the device. */
#define _GNU_SOURCE
#include "device.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { kBytes = 1 << 28, kPage = 4096, kPages = kBytes / kPage, kHolder = 48 };

static char* addresses; /* no access */
static char* bytes;     /* the same offsets, for this library */
static pid_t owner;     /* a fork has no devices */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int32_t length[kPages]; /* pages of the allocation that begins here; 0: none does */
static char holders[kPages][kHolder];
static hr_device_memory figures = {.reserved = kBytes, .limit = kBytes};

static int is_here(void) { return getpid() == owner; }

void* plain_host(const void* data) { return bytes + ((const char*)data - addresses); }

/* The first gap of so many pages, or -1. */
static int32_t find_gap(int32_t pages) {
  int32_t gap = 0;
  for (int32_t at = 0; at < kPages;) {
    if (length[at]) {
      at += length[at];
      gap = at;
    } else if (++at - gap >= pages) {
      return gap;
    }
  }
  return -1;
}

static void* allocate(hr_device* device, int64_t size, const char* holder) {
  (void)device;
  void* data = NULL;
  if (size <= 0 || size > kBytes || !is_here()) return NULL;
  const int32_t pages = (int32_t)((size + kPage - 1) / kPage);
  const int64_t rounded = (int64_t)pages * kPage;
  pthread_mutex_lock(&lock);
  const int32_t at = figures.in_use + rounded <= figures.limit ? find_gap(pages) : -1;
  if (at >= 0) {
    length[at] = pages;
    snprintf(holders[at], kHolder, "%s", holder ? holder : "");
    figures.in_use += rounded;
    if (figures.in_use > figures.peak) figures.peak = figures.in_use;
    ++figures.live, ++figures.allocated;
    data = addresses + (int64_t)at * kPage;
  }
  pthread_mutex_unlock(&lock);
  return data;
}

static void release(hr_device* device, void* data) {
  (void)device;
  if (!is_here()) return;
  pthread_mutex_lock(&lock);
  const int64_t at = ((char*)data - addresses) / kPage;
  figures.in_use -= (int64_t)length[at] * kPage;
  --figures.live;
  length[at] = 0;
  pthread_mutex_unlock(&lock);
}

static void describe_memory(hr_device* device, char* text, size_t size) {
  (void)device;
  size_t used = 0;
  if (size) text[0] = 0;
  pthread_mutex_lock(&lock);
  for (int32_t at = 0; at < kPages && used + 1 < size; ++at) {
    if (!length[at]) continue;
    const int wrote = snprintf(text + used, size - used, "%lld bytes: %s\n",
                               (long long)length[at] * kPage, holders[at]);
    used += wrote > 0 ? (size_t)wrote : 0;
  }
  pthread_mutex_unlock(&lock);
}

static void memory(hr_device* device, hr_device_memory* found) {
  (void)device;
  pthread_mutex_lock(&lock);
  *found = figures;
  pthread_mutex_unlock(&lock);
}

static void reset_peak(hr_device* device) {
  (void)device;
  pthread_mutex_lock(&lock);
  figures.peak = figures.in_use;
  pthread_mutex_unlock(&lock);
}

static void set_limit(hr_device* device, int64_t limit) {
  (void)device;
  pthread_mutex_lock(&lock);
  figures.limit = limit;
  pthread_mutex_unlock(&lock);
}

static int32_t copy(void* to, const void* from, int64_t size, hr_device_done done, void* argument) {
  if (!is_here()) return HR_UNAVAILABLE;
  memcpy(to, from, (size_t)size);
  if (done) done(argument, HR_OK, "");
  return HR_OK;
}

static int32_t copy_in(hr_device* device, void* to, const void* from, int64_t size,
                       hr_profile* profile, hr_device_done done, void* argument) {
  (void)device, (void)profile;
  return copy(plain_host(to), from, size, done, argument);
}

static int32_t copy_out(hr_device* device, void* to, const void* from, int64_t size,
                        hr_profile* profile, hr_device_done done, void* argument) {
  (void)device, (void)profile;
  return copy(to, plain_host(from), size, done, argument);
}

static int32_t copy_within(hr_device* device, void* to, const void* from, int64_t size,
                           hr_profile* profile) {
  (void)device, (void)profile;
  return copy(plain_host(to), plain_host(from), size, NULL, NULL);
}

static void flush(hr_device* device) { (void)device; }

static void notify(hr_device* device, hr_device_done done, void* argument) {
  (void)device;
  done(argument, is_here() ? HR_OK : HR_UNAVAILABLE, is_here() ? "" : "this process is a fork");
}

static hr_device plain_device = {.size = sizeof(hr_device),
                                 .flags = HR_DEVICE_IS_HOST,
                                 .type = "NPU",
                                 .description = "a plain device for tests",
                                 .memory_bytes = kBytes,
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

static void find_device(void) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  addresses = mmap(NULL, kBytes, PROT_NONE, flags, -1, 0);
  bytes = mmap(NULL, kBytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  owner = addresses == MAP_FAILED || bytes == MAP_FAILED ? 0 : getpid();
}

hr_device* const* plain_devices(int32_t* n) {
  static hr_device* devices[] = {&plain_device};
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, find_device);
  *n = owner ? 1 : 0;
  return devices;
}
