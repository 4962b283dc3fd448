/* What the memory and stream of the fake device (fake_device.c) offer to its kernels
 * (fake_kernels.c), and what both offer to tests. */
#ifndef FAKE_DEVICE_H
#define FAKE_DEVICE_H

#include <time.h>

#include "headrace/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- set-up and control, for tests: negative counts mean never -------------------- */

/* Makes the devices of the process, once. */
hr_device* const* fake_make_devices(int32_t count, int64_t memory_bytes);
hr_device* const* fake_list_devices(int32_t* n); /* hr_kernel_table.devices */

/* Work runs so long after it was enqueued. With a seed other than 0, it is a random time of that
 * mean, up to twice as long. */
void fake_set_latency(hr_device*, int64_t latency_ns, uint64_t seed);
/* Work waits for a flush, a copy_out or a notify, as the driver of an accelerator may let it. */
void fake_wait_for_flush(hr_device*, int32_t wait);
/* The allocation, launch or copy after the next n fails. `late`: the work is enqueued, and fails
 * when it runs. */
void fake_fail_allocation(hr_device*, int64_t n);
void fake_fail_launch(hr_device*, int64_t n, int32_t late);
void fake_fail_copy(hr_device*, int64_t n, int32_t late);

typedef struct FakeCounts {
  int64_t launches, copies_in, copies_out, copies_within, bytes_in, bytes_out;
} FakeCounts;
void fake_counts(hr_device*, FakeCounts* counts); /* of what was enqueued */

/* Two bytes of what fills memory that is not in use: 0x7ff7, a NaN of all float types. */
uint16_t fake_poison(void);

/* Makes `made`, a copy of the registration of a kernel of host memory, one for the device. The
 * original must live as long as the process. */
hr_code fake_wrap_kernel(const hr_kernel* kernel, hr_kernel* made);
/* Kernels that only runtimes have for host memory: AssignAdd and the like. */
const hr_kernel* fake_own_kernels(int32_t* n);

/* ---- between memory, stream and kernels ------------------------------------------- */

typedef struct FakeDevice FakeDevice;

typedef struct Work {
  void (*run)(FakeDevice*, struct Work*); /* on the thread of the stream */
  void (*end)(FakeDevice*, struct Work*); /* afterwards; frees it */
  struct timespec due;
  int64_t number; /* in its queue */
  int64_t after;  /* of a copy to the host: the number of the work before it in the stream */
  hr_profile* profile;
  int32_t entry; /* of the profile, when the work was enqueued */
  const char* what;
  int64_t bytes;
  struct Work* next;
} Work;

void fake_enqueue_launch(hr_device*, Work*);
/* Whether the next launch is to fail: not at all, at once, or when it runs. */
enum { FAKE_WORKS = 0, FAKE_FAILS = 1, FAKE_FAILS_LATE = 2 };
int32_t fake_next_launch(hr_device*);
/* Keeps the first error until a notify reports it. */
void fake_keep_error(FakeDevice*, hr_code, const char* message);
/* Where the device's thread finds memory of the device; null if the range is not in one living
 * allocation. */
void* fake_translate(hr_device*, const void* data, int64_t bytes);
/* Whether an address is in the memory of any fake device. */
int32_t fake_is_device_memory(const void* data);
/* calloc that ends the process instead of failing. */
void* fake_calloc(size_t n, size_t size);

/* Runs the compute function of a kernel and turns exceptions into errors. */
hr_code fake_call_kernel(hr_compute compute, hr_ctx* ctx, void* state, void* plan,
                         const hr_tensor* const* inputs, hr_tensor* const* outputs,
                         void* workspace);

#ifdef __cplusplus
}
#endif
#endif
