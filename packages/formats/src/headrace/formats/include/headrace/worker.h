/* The worker ABI: how a distributed runtime runs partitions of a graph on this machine.
 *
 * A worker is made by the Python service `headrace.runtimes` (services.py), which also registers
 * partitions. What happens in every step goes through this header, without Python's GIL: run a
 * partition, exchange tensors with the rendezvous that was passed to the run, cancel.
 *
 * Plain C, no dependencies. Structs begin with their size; new fields are added at the end. No
 * function may throw.
 */
#ifndef HEADRACE_WORKER_H
#define HEADRACE_WORKER_H

#include "headrace/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HR_WORKER_ABI 1
#define HR_WORKER_CAPSULE "headrace.worker.v1"
#define HR_RENDEZVOUS_CAPSULE "headrace.rendezvous.v1"

/* ---- the rendezvous of one step (white paper, sections 3.2.2 and 4.4) --------------------- */

/* What a value of one edge is called in one step. Programs that were made apart from one plan agree
 * on it: `frame` follows from the names of the loops around the edge and the iterations in which
 * they were entered. */
typedef struct hr_edge_key {
  int64_t edge;      /* attribute `_edge` of the Send and the Recv */
  uint64_t frame;    /* 0: not in a loop */
  int64_t iteration; /* of the innermost loop */
} hr_edge_key;

/* The end of a receive, reported exactly once, from any thread. A receiver that keeps the value
 * takes its reference: it copies the struct and sets value->owner to null. `value` is null after an
 * error; it is not read if dead. */
typedef void (*hr_received)(void* argument, hr_code code, const char* message, hr_tensor* value,
                            int32_t dead);

typedef struct hr_rendezvous {
  uint32_t size;
  /* Hands over a value, which has an owner; the rendezvous retains what it keeps. It must not wait
   * for the receiver. An error fails the step. */
  hr_code (*send)(struct hr_rendezvous*, const hr_edge_key*, const hr_tensor* value, int32_t dead);
  /* Calls done once the value is there, perhaps before it returns. */
  void (*recv)(struct hr_rendezvous*, const hr_edge_key*, hr_received done, void* argument);
  /* Ends all receives with an error, now and from now on. */
  void (*abort)(struct hr_rendezvous*, hr_code code, const char* message);
} hr_rendezvous;

/* ---- runs ------------------------------------------------------------------------------------ */

/* The end of a run, reported exactly once, from any thread; afterwards the rendezvous is not used.
 * `node` is the name of the node that failed, or empty; `metadata` a serialized RunMetadata of a
 * traced run. The pointers are valid during the call. */
typedef void (*hr_run_done)(void* argument, hr_code code, const char* node, const char* message,
                            const char* metadata, size_t metadata_size);

enum {
  HR_RUN_HERE = 1,  /* the calling thread may run what takes some tens of microseconds */
  HR_RUN_TRACED = 2 /* done gets metadata */
};

typedef struct hr_worker {
  uint32_t size;
  uint32_t abi; /* HR_WORKER_ABI */

  /* Starts a run of a registered partition and returns. `run` is a number of the caller's, for
   * cancel; several partitions may run under one. */
  void (*run)(struct hr_worker*, int64_t partition, int64_t run, uint32_t flags, hr_rendezvous*,
              hr_run_done done, void* argument);
  /* Ends the runs of that number with an error. It does not wait for them. */
  void (*cancel)(struct hr_worker*, int64_t run, hr_code code, const char* why);

  /* Around deliveries of received values by one thread: runs that become ready meanwhile and are
   * short go on in end_deliveries, on that thread; others on the worker's pool. */
  void (*begin_deliveries)(void);
  void (*end_deliveries)(void);

  /* ---- memory of tensors ---- */

  /* Allocates a tensor; dtype, rank and dims are set. Strings are empty at first. */
  hr_code (*allocate)(hr_tensor*);
  void (*retain)(hr_buffer*);
  void (*release)(hr_buffer*);
  /* Assigns a copy of the bytes to a string of an allocated tensor. */
  hr_code (*set_string)(hr_string*, const char* data, size_t size);
  /* A counted buffer over memory of the caller's, which `release_memory` frees at the last release,
   * on any thread. Null: no memory. */
  hr_buffer* (*wrap)(void* data, int64_t bytes, void (*release_memory)(void* argument),
                     void* argument);
} hr_worker;

#ifdef __cplusplus
}
#endif
#endif
