/* The device ABI: memory and work of an accelerator, as a kernel library offers them to a runtime.
 *
 * A library whose kernels run in memory of their own lists its devices in its hr_kernel_table. The
 * runtime allocates there, copies between there and the host, and calls the library's kernels,
 * which only enqueue their work and return.
 *
 * A device has one order, its stream: what is enqueued later runs later, or as if it did. Memory
 * follows the same order. It may be released as soon as the last work on it is enqueued, and
 * allocated again for what is enqueued next. All functions may be called from any thread, without
 * Python's GIL, and must not throw.
 *
 * Errors of work that was enqueued come late: with the next copy to the host, and with `notify`,
 * which clears them. Nothing is allocated or copied for 0 bytes. A child of a fork has no devices:
 * the table lists none there, and those of its parent fail.
 */
#ifndef HEADRACE_DEVICE_H
#define HEADRACE_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hr_device hr_device;

/* The end of a request to a device, reported exactly once, from any thread, perhaps before the
 * request returns. It must not wait. `code` is an hr_code; `message` is valid during the call. */
typedef void (*hr_device_done)(void* argument, int32_t code, const char* message);

/* Receives when work ran, if the step is traced. The runtime keeps it until all work that was
 * enqueued with it has ended. */
typedef struct hr_profile {
  uint32_t size;
  int32_t entry; /* set by the runtime: the kernel call that enqueues, on one thread at a time */
  /* Called once for each piece of work, from any thread, before the `done` of a later notify. Times
   * are of the system clock, since 1970, in nanoseconds. `what` names the piece and is copied:
   * "matmul", "copy to device". */
  void (*add)(struct hr_profile* self, int32_t entry, const char* what, int64_t start_ns,
              int64_t end_ns, int64_t bytes);
} hr_profile;

typedef struct hr_device_memory {
  int64_t in_use;    /* bytes of all live allocations, rounded as the device rounds them */
  int64_t peak;      /* the largest in_use since the start, or since reset_peak */
  int64_t reserved;  /* bytes taken from the driver */
  int64_t limit;     /* allocations beyond it fail */
  int64_t live;      /* allocations */
  int64_t allocated; /* allocations ever made */
} hr_device_memory;

enum {
  HR_DEVICE_IS_HOST =
      1 /* its processor is the host's: nothing is gained by moving small work there */
};

struct hr_device {
  uint32_t size;
  uint32_t flags;
  const char* type;        /* "GPU": the type in device names, and of its kernels */
  const char* description; /* for people: "NVIDIA H200 (OpenCL 3.0, driver 550.54)" */
  int64_t memory_bytes;    /* what the device has */

  /* Returns memory for `bytes` (more than 0), aligned to 256 bytes, or null if there is none. The
   * address differs from every other address in the process, those in host memory included, and so
   * do all addresses of the `bytes` behind it: an address with an offset names one place. The host
   * must not read or write there. `holder` says for whom it is, in messages; the device copies it.
   */
  void* (*allocate)(hr_device*, int64_t bytes, const char* holder);
  void (*release)(hr_device*, void* data);
  /* Writes who holds memory, the largest first, as text of lines into `text`, with a zero at the
   * end. */
  void (*describe_memory)(hr_device*, char* text, size_t size);
  void (*memory)(hr_device*, hr_device_memory* memory);
  void (*reset_peak)(hr_device*);
  /* Bounds allocations from now on, in bytes; what lives stays. */
  void (*set_limit)(hr_device*, int64_t bytes);

  /* Enqueues copies. `to` and `from` are addresses in memory of the device, or of the host.
   *
   * copy_in: `from` is read before `done` is called; with a null `done`, before copy_in returns.
   * An error of the copy may be reported to `done` alone.
   * copy_out: `to` is complete once `done` is called, unless with an error, of work before it
   * included. The device starts at once (no flush). Until `done`, `from` is not released, and no
   * work that writes it is enqueued: the device may copy beside later work.
   * copy_within: the ranges do not overlap.
   * Return an hr_code; on an error nothing is enqueued and `done` is not called. `profile` may be
   * null. */
  int32_t (*copy_in)(hr_device*, void* to, const void* from, int64_t bytes, hr_profile* profile,
                     hr_device_done done, void* argument);
  int32_t (*copy_out)(hr_device*, void* to, const void* from, int64_t bytes, hr_profile* profile,
                      hr_device_done done, void* argument);
  int32_t (*copy_within)(hr_device*, void* to, const void* from, int64_t bytes,
                         hr_profile* profile);

  /* Hands what is enqueued to the processor, which may otherwise wait for more. */
  void (*flush)(hr_device*);
  /* Calls `done` once everything that was enqueued before has ended: with the first error of work
   * since the last call, if any. The device starts at once (no flush). */
  void (*notify)(hr_device*, hr_device_done done, void* argument);
};

#ifdef __cplusplus
}
#endif
#endif
