/* The kernel ABI: the interface between kernel libraries and a runtime.
 *
 * A library is a shared object with one hr_kernel_table. The table reaches the
 * runtime as a PyCapsule named HR_KERNEL_TABLE_CAPSULE, through the entry-point
 * group `headrace.kernels`. It is the only interface between the two.
 *
 * Plain C, no dependencies. Extensible structs begin with their size; hr_tensor,
 * hr_string, hr_resource and hr_variant do not change within an ABI version. All
 * functions are called without Python's GIL and must not throw.
 */
#ifndef HEADRACE_KERNEL_H
#define HEADRACE_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#include "headrace/device.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HR_KERNEL_ABI 2
#define HR_KERNEL_TABLE_CAPSULE "headrace.kernel_table.v1"

/* Tensors of higher rank are rejected with HR_UNIMPLEMENTED. */
#define HR_MAX_RANK 8

/* ---- dtypes: the numbers of the DataType enum ------------------------------ */

typedef int32_t hr_dtype;
enum {
  HR_INVALID = 0,
  HR_FLOAT = 1,
  HR_DOUBLE = 2,
  HR_INT32 = 3,
  HR_UINT8 = 4,
  HR_INT16 = 5,
  HR_INT8 = 6,
  HR_STRING = 7,
  HR_COMPLEX64 = 8,
  HR_INT64 = 9,
  HR_BOOL = 10,
  HR_QINT8 = 11,
  HR_QUINT8 = 12,
  HR_QINT32 = 13,
  HR_BFLOAT16 = 14,
  HR_QINT16 = 15,
  HR_QUINT16 = 16,
  HR_UINT16 = 17,
  HR_COMPLEX128 = 18,
  HR_HALF = 19,
  HR_RESOURCE = 20,
  HR_VARIANT = 21,
  HR_UINT32 = 22,
  HR_UINT64 = 23,
  HR_FLOAT8_E5M2 = 24,
  HR_FLOAT8_E4M3FN = 25,
  HR_REF = 100 /* added to the type of a reference edge */
};

/* ---- status: gRPC's canonical codes ---------------------------------------- */

typedef int32_t hr_code;
enum {
  HR_OK = 0,
  HR_CANCELLED = 1,
  HR_UNKNOWN = 2,
  HR_INVALID_ARGUMENT = 3,
  HR_DEADLINE_EXCEEDED = 4,
  HR_NOT_FOUND = 5,
  HR_ALREADY_EXISTS = 6,
  HR_PERMISSION_DENIED = 7,
  HR_RESOURCE_EXHAUSTED = 8,
  HR_FAILED_PRECONDITION = 9,
  HR_ABORTED = 10,
  HR_OUT_OF_RANGE = 11,
  HR_UNIMPLEMENTED = 12,
  HR_INTERNAL = 13,
  HR_UNAVAILABLE = 14,
  HR_DATA_LOSS = 15,
  HR_UNAUTHENTICATED = 16
};

/* ---- tensors ---------------------------------------------------------------- */

/* Reference-counted memory, allocated and freed by the runtime; libraries use
 * it only through the context's retain and release. */
typedef struct hr_buffer hr_buffer;

typedef struct hr_tensor {
  void* data;    /* first element; aligned to the element at least */
  int64_t bytes; /* size of all elements, in the private layout if any */
  hr_dtype dtype;
  int32_t rank; /* 0 to HR_MAX_RANK */
  int64_t dims[HR_MAX_RANK];
  int64_t layout;   /* 0: row-major; other values are private to the library that set them */
  hr_buffer* owner; /* null: the memory is valid only during the call (arena, feed) */
} hr_tensor;

/* Elements with resources. Tensors of these are always reference-counted buffers;
 * the last release destroys the elements. New outputs are zeroed, and a zeroed
 * element is valid: the empty string, no resource, no variant. */
typedef struct hr_string {
  const char* data;
  size_t size;
  hr_buffer* owner; /* keeps data alive; null when data is static or empty */
} hr_string;

typedef struct hr_resource {
  struct hr_object* object; /* reference-counted by the runtime; see hr_object */
} hr_resource;

typedef struct hr_variant_type {
  uint32_t size;
  const char* name; /* as VariantTensorDataProto.type_name */
  void* (*copy)(const void* value);
  void (*destroy)(void* value);
} hr_variant_type;

typedef struct hr_variant {
  const hr_variant_type* type; /* null: empty */
  void* value;
} hr_variant;

/* A resource: a reference-counted object with a name in a container. Libraries
 * may define further kinds. */
typedef struct hr_object {
  uint32_t size;
  int32_t references; /* changed only by the context's functions */
  const char* kind;   /* "Queue", "Table", ...; compared by text */
  void (*destroy)(struct hr_object* self);
} hr_object;

static inline int64_t hr_elements(const hr_tensor* t) {
  int64_t n = 1;
  for (int32_t i = 0; i < t->rank; ++i) n *= t->dims[i];
  return n;
}

static inline int64_t hr_dtype_size(hr_dtype dtype) {
  switch (dtype >= HR_REF ? dtype - HR_REF : dtype) {
    case HR_BOOL:
    case HR_INT8:
    case HR_UINT8:
    case HR_QINT8:
    case HR_QUINT8:
    case HR_FLOAT8_E5M2:
    case HR_FLOAT8_E4M3FN: return 1;
    case HR_INT16:
    case HR_UINT16:
    case HR_HALF:
    case HR_BFLOAT16:
    case HR_QINT16:
    case HR_QUINT16: return 2;
    case HR_INT32:
    case HR_UINT32:
    case HR_FLOAT:
    case HR_QINT32: return 4;
    case HR_INT64:
    case HR_UINT64:
    case HR_DOUBLE:
    case HR_COMPLEX64: return 8;
    case HR_COMPLEX128: return 16;
    case HR_STRING: return (int64_t)sizeof(hr_string);
    case HR_RESOURCE: return (int64_t)sizeof(hr_resource);
    case HR_VARIANT: return (int64_t)sizeof(hr_variant);
    default: return 0;
  }
}

/* ---- a node, as its kernel sees it ------------------------------------------ */

typedef struct hr_node hr_node;

/* Attribute accessors return HR_OK, HR_NOT_FOUND for a missing attribute, or
 * HR_INVALID_ARGUMENT for one of another kind. Defaults of the catalogue are
 * included. The returned pointers are valid as long as the node. */
typedef struct hr_node_api {
  uint32_t size;
  hr_code (*attr_int)(const hr_node*, const char* key, int64_t* value);
  hr_code (*attr_float)(const hr_node*, const char* key, float* value);
  hr_code (*attr_bool)(const hr_node*, const char* key, int32_t* value);
  hr_code (*attr_type)(const hr_node*, const char* key, hr_dtype* value);
  hr_code (*attr_string)(const hr_node*, const char* key, const char** data, size_t* size);
  hr_code (*attr_tensor)(const hr_node*, const char* key, const hr_tensor** value);
  /* A rank or dimension of -1 is unknown. */
  hr_code (*attr_shape)(const hr_node*, const char* key, int32_t* rank, const int64_t** dims);
  hr_code (*attr_ints)(const hr_node*, const char* key, const int64_t** values, size_t* n);
  hr_code (*attr_floats)(const hr_node*, const char* key, const float** values, size_t* n);
  hr_code (*attr_types)(const hr_node*, const char* key, const hr_dtype** values, size_t* n);
  hr_code (*attr_strings)(const hr_node*, const char* key, const hr_string** values, size_t* n);
  hr_code (*attr_shapes)(const hr_node*, const char* key, const int32_t** ranks,
                         const int64_t* const** dims, size_t* n);
  /* The range of tensors of argument number `argument` of the signature. */
  void (*input_range)(const hr_node*, int32_t argument, int32_t* first, int32_t* count);
  void (*output_range)(const hr_node*, int32_t argument, int32_t* first, int32_t* count);
  /* Records an error message (a printf format) and returns its code. */
  hr_code (*fail)(const hr_node*, hr_code code, const char* format, ...);
} hr_node_api;

struct hr_node {
  uint32_t size;
  const hr_node_api* api;
  const char* name;
  const char* op;
  const char* device;
  int32_t n_inputs, n_outputs;
  const hr_dtype* input_dtypes;
  const hr_dtype* output_dtypes;
};

/* ---- while a kernel runs ------------------------------------------------------ */

typedef struct hr_ctx hr_ctx;

/* The end of something asynchronous. A kernel calls it exactly once, from any thread; on an
 * error it calls ctx->api->fail first. It must not use its arguments afterwards. */
typedef void (*hr_done)(void* argument, hr_code code);

/* ---- functions of the graph's library ---- */

/* A function with its attributes, as an attribute of a node names it. Counted. A step, or a
 * session that ends, leaves it valid; afterwards calls fail with HR_CANCELLED. */
typedef struct hr_function hr_function;

/* What calls functions and has threads outside of steps, such as an iterator: its calls and
 * threads end with it, and at the latest with the session that opened it. */
typedef struct hr_scope hr_scope;
typedef struct hr_thread hr_thread;

/* The end of a call, reported exactly once, from any thread. `message` is valid during the call. */
typedef void (*hr_call_done)(void* argument, hr_code code, const char* message);

enum {
  HR_CALL_HERE =
      1, /* the calling thread may run all of it, however long, and may wait for Python */
  HR_CALL_ONE_THREAD = 2 /* other calls fill the cores: each kernel has one thread */
};

typedef struct hr_function_api {
  uint32_t size;
  /* Finds the function that an attribute of a node names; the caller releases it. Finding one
   * again costs little, and returns the same. NOT_FOUND: the library has none of that name. */
  hr_code (*find)(hr_ctx*, const hr_node*, const char* attribute, hr_function** function);
  void (*retain)(hr_function*);
  void (*release)(hr_function*);
  const char* (*name)(const hr_function*);
  int32_t (*n_inputs)(const hr_function*);
  int32_t (*n_outputs)(const hr_function*);
  const hr_dtype* (*input_dtypes)(const hr_function*);
  const hr_dtype* (*output_dtypes)(const hr_function*);
  /* Whether a call may wait for something other than the processor, Python included. */
  int32_t (*waits)(hr_function*);

  /* Opens a scope in the session of ctx. `on_end` is called at most once, from any thread, when the
   * session ends, or when `object` (may be null) is removed from it by a reset. It must not wait;
   * it may close the scope. Null: no memory. */
  hr_scope* (*open_scope)(hr_ctx*, hr_object* object, void (*on_end)(void*), void* argument);
  /* Cancels its calls, now and from now on. It does not wait for them. */
  void (*cancel_scope)(hr_scope*);
  /* Ends the scope; on_end is not called afterwards, and no call or thread may use it. False: this
   * process is a fork of the one that opened it, which has the threads and holds the locks of what
   * it belongs to: that must be left as it is. */
  int32_t (*close_scope)(hr_scope*);
  /* The context of work outside of steps: cancelled with the scope. It keeps one error only. */
  hr_ctx* (*scope_context)(hr_scope*);

  /* Calls a function. The outputs have no memory; they get counted buffers that the caller
   * releases, unless the call fails. Inputs have owners; they and the outputs must be valid until
   * `done`. Short functions run on the calling thread, others on the session's pool, unless
   * HR_CALL_HERE is set. A function that waits holds no thread. */
  void (*call)(hr_function*, hr_scope*, uint32_t flags, const hr_tensor* const* inputs,
               hr_tensor* const* outputs, hr_call_done done, void* argument);

  /* Starts a thread, which may call kernels and functions. Null: the system has none. */
  hr_thread* (*start_thread)(hr_scope*, void (*body)(void* argument), void* argument);
  /* Waits for the end of a thread and frees it; returns at once if it is the calling thread, whose
   * body must then end soon. The body must not need locks that the caller holds. */
  void (*join_thread)(hr_thread*);
} hr_function_api;

typedef struct hr_ctx_api {
  uint32_t size;
  /* Records an error message (a printf format) and returns its code. */
  hr_code (*fail)(hr_ctx*, hr_code code, const char* format, ...);

  /* Allocates an output whose shape prepare did not know. dtype is set; the kernel
   * sets rank and dims before the call, which sets data, bytes and owner. */
  hr_code (*allocate)(hr_ctx*, hr_tensor* output);
  /* Makes output refer to the buffer of value, with its shape (same dtype). Values
   * without an owner are copied. */
  hr_code (*forward)(hr_ctx*, const hr_tensor* value, hr_tensor* output);
  void (*retain)(hr_buffer*);
  void (*release)(hr_buffer*);
  /* Assigns a copy of the bytes to *string, which must be valid. */
  hr_code (*set_string)(hr_ctx*, hr_string* string, const char* data, size_t size);

  /* Calls body(argument, begin, end) for [0, total) in blocks of at least `grain`, on
   * the intra-op thread pool; runs inline if ctx->threads is 1. */
  void (*parallel_for)(hr_ctx*, int64_t total, int64_t grain,
                       void (*body)(void* argument, int64_t begin, int64_t end), void* argument);

  /* Reference and resource variables: `ref` is an input of a reference dtype, or a
   * resource scalar. begin_write locks n distinct variables in a global order and
   * returns their values, writable and unshared; FAILED_PRECONDITION if uninitialised.
   * Exactly one commit must follow, even if the kernel fails. */
  hr_code (*begin_write)(hr_ctx*, int32_t n, const hr_tensor* const* refs, hr_tensor* values);
  void (*commit)(hr_ctx*, int32_t n, const hr_tensor* const* refs);
  /* Returns a read-only value, with a reference that the caller releases (value->owner). */
  hr_code (*slot_read)(hr_ctx*, const hr_tensor* ref, hr_tensor* value);
  /* Assigns value to the variable: by reference if it has an owner, else by copy. */
  hr_code (*slot_assign)(hr_ctx*, const hr_tensor* ref, const hr_tensor* value);

  /* Resources by container and name. lookup_or_create calls `make` if there is none;
   * the caller owns a reference to the returned object. */
  hr_code (*lookup_or_create)(hr_ctx*, const char* container, const char* name, const char* kind,
                              hr_object* (*make)(void*), void* argument, hr_object** object);
  void (*retain_object)(hr_object*);
  void (*release_object)(hr_object*);

  /* Registers a callback, called once if the step is cancelled before forget_cancel,
   * and returns its token, or 0 if the step is already cancelled. forget_cancel accepts
   * the token of a callback that already ran. */
  uint64_t (*on_cancel)(hr_ctx*, void (*cancel)(void* argument), void* argument);
  void (*forget_cancel)(hr_ctx*, uint64_t token);

  /* Takes one element of a queue (a reference or a resource scalar), for asynchronous kernels: no
   * thread waits. `outputs` are n zeroed tensors with the dtypes of the queue's components, which
   * get counted buffers that the caller releases. Calls done exactly once, perhaps before it
   * returns, on any thread; with an error if the queue is closed and empty or the step is
   * cancelled. The outputs and the context must be valid until then. */
  void (*dequeue)(hr_ctx*, const hr_tensor* queue, int32_t n, hr_tensor* const* outputs,
                  hr_done done, void* argument);

  const hr_function_api* functions;

  /* Takes over the caller's reference until the step ends: for objects that reference edges, which
   * count nothing, point at. On failure the reference is released. */
  hr_code (*keep_for_step)(hr_ctx*, hr_object*);

  /* As `allocate`, in host memory: for outputs that the registration lists in host_outputs.
   * `allocate` takes the memory of ctx->device. */
  hr_code (*allocate_host)(hr_ctx*, hr_tensor* output);
} hr_ctx_api;

struct hr_ctx {
  uint32_t size;
  int32_t threads; /* of the intra-op pool that this call may use */
  const hr_ctx_api* api;
  const volatile int32_t* cancelled; /* set by other threads: read it with hr_cancelled */
  int64_t step;
  /* Where the kernel runs; null: the host. Its inputs and outputs are in memory of the device,
   * except those that its registration lists as in host memory, and so are the values that
   * begin_write and slot_read give. The kernel enqueues its work and returns. What it reads on the
   * host, plan and state included, it reads before it returns; outputs on the host are complete
   * then, and `commit` comes after what it commits is enqueued. */
  hr_device* device;
  hr_profile* profile; /* null: the step is not traced */
};

/* Returns whether the step was cancelled. Loops of more than 50 ms must poll it. */
static inline int32_t hr_cancelled(const hr_ctx* ctx) {
#if defined(__GNUC__) || defined(__clang__)
  return __atomic_load_n(ctx->cancelled, __ATOMIC_RELAXED);
#else
  return *ctx->cancelled;
#endif
}

/* Inputs are read-only. Outputs of known shape are allocated; an output may share the
 * memory of an input in reuse_inputs. workspace is 64-byte aligned, uninitialised, of
 * the size that prepare requested. */
typedef hr_code (*hr_compute)(hr_ctx*, void* state, void* plan, const hr_tensor* const* inputs,
                              hr_tensor* const* outputs, void* workspace);

/* ---- the input and output of prepare -------------------------------------------- */

typedef struct hr_request {
  uint32_t size;
  hr_node* node;
  /* Shapes are complete. data is not null if the value is known at preparation. */
  const hr_tensor* const* inputs;
  int32_t threads;         /* available to compute; part of the plan's cache key */
  uint64_t private_layout; /* bit i: only kernels of this library that accept private
                              layouts use output i, so it may have one */

  /* Set by prepare. */
  hr_tensor* const* outputs; /* dtype is set; prepare sets rank and dims, and for a private
                                layout also layout and bytes */
  void* plan;                /* immutable after prepare; shared by concurrent runs */
  void (*destroy_plan)(void* plan);
  hr_compute compute; /* overrides hr_kernel.compute if not null */
  size_t workspace;   /* bytes */
  double flops;
  double bytes_moved;
  int32_t shape_depends_on_data; /* compute allocates all outputs; on a device while it enqueues,
                                    so there only values in host memory may decide shapes */

  /* Where compute will run; null: the host. Known values of inputs are in host memory anyway. */
  hr_device* device;
} hr_request;

/* ---- kernel registrations and tables -------------------------------------------- */

enum {
  HR_KERNEL_VIEW = 1,       /* output 0 has the bytes of input 0 and another shape: the
                               runtime shares the memory and never calls compute */
  HR_KERNEL_DATA_SHAPE = 2, /* prepare always sets shape_depends_on_data */
  HR_KERNEL_PRIVATE_IN = 4, /* accepts inputs in this library's private layouts */
  HR_KERNEL_SERIAL = 8      /* a team of threads hardly makes it faster: the runtime may run
                               independent kernels of this kind at the same time, each on one thread */
};

typedef struct hr_kernel {
  const char* op;
  const char* device_type; /* "CPU", "GPU" */
  /* "T=float|double;Tidx=int32": allowed values by attribute; null: any. */
  const char* constraint;
  int32_t priority; /* between libraries; the highest wins */
  uint32_t flags;
  /* Bit i: argument i of the signature (a list is one argument). */
  uint64_t constant_inputs; /* prepare needs their values, which are part of the plan's cache key */
  uint64_t reuse_inputs;    /* output 0 may overwrite one of these */

  hr_code (*create)(hr_node* node, void** state); /* null: no state */
  hr_code (*prepare)(void* state, hr_request* request);
  hr_compute compute; /* null: asynchronous */
  void (*compute_async)(hr_ctx*, void* state, void* plan, const hr_tensor* const* inputs,
                        hr_tensor* const* outputs, void* workspace, hr_done done, void* argument);
  void (*destroy)(void* state);

  /* Inputs whose values prepare uses if they are known (data is not null), and compute reads
   * otherwise. They are not part of the plan's cache key. */
  uint64_t value_inputs;
  /* Returns which of value_inputs determine the shape of an output, given the attributes and the
   * constant inputs: known[i] is the value of input i, or null. If prepare does not know such a
   * value, it sets shape_depends_on_data. A null function means that no value input determines a
   * shape. */
  uint64_t (*shape_inputs)(const hr_node* node, const hr_tensor* const* known);

  /* For devices with memory of their own, bit i: argument i of the signature is in host memory.
   * Strings, resources, variants, references, constant_inputs and value_inputs always are. */
  uint64_t host_inputs;
  uint64_t host_outputs;
} hr_kernel;

/* Fused kernels compute several nodes in one pass over memory. A library lists the ops that its
 * fused kernels can take in; the runtime fuses no others. */
enum {
  HR_FUSE_INSTRUCTION = 1,   /* a line of the `program` of _FusedElementwise and _FusedReduction */
  HR_FUSE_REDUCTION = 2,     /* the line that ends the program of _FusedReduction */
  HR_FUSE_BIAS = 3,          /* the first of `fused_ops`: adds a vector over the channels */
  HR_FUSE_NORMALIZATION = 4, /* the first of `fused_ops`, by known statistics */
  HR_FUSE_ACTIVATION = 5     /* the second of `fused_ops` */
};

typedef struct hr_fusible_op {
  const char* fused_op; /* "_FusedElementwise", "_FusedConv2D", ... */
  const char* op;       /* an op that the kernel of fused_op takes in */
  int32_t role;         /* HR_FUSE_... */
  const char* name;     /* of the op in `program` or `fused_ops` */
  /* The attribute of op, a float, that changes its result; null: none does. */
  const char* attribute;
  /* The attribute of fused_op that carries the value; null: it is the instruction's last operand.
   */
  const char* fused_attribute;
} hr_fusible_op;

typedef struct hr_kernel_table {
  uint32_t size;
  uint32_t abi;        /* HR_KERNEL_ABI */
  const char* library; /* "cpu" */
  const char* version;
  uint32_t kernel_size; /* sizeof(hr_kernel): the stride of `kernels` */
  int32_t n_kernels;
  const hr_kernel* kernels;
  /* A table whose `size` ends before these fields lists no fusible ops. */
  uint32_t fusible_op_size; /* sizeof(hr_fusible_op): the stride of `fusible_ops` */
  int32_t n_fusible_ops;
  const hr_fusible_op* fusible_ops;
  /* The devices with memory of their own for which it has kernels; null: none. They live as long as
   * the process. The first call looks for them, and may take long. A device that does not work is
   * left out, and the reason logged once. Returns an array of *n pointers. */
  hr_device* const* (*devices)(int32_t* n);
  /* What hinders this process from having devices, for the error of a program that requests one;
   * null, or null or "" as the result: nothing that is known. The text lives as long as the
   * process. A table whose `size` ends before this field has none. */
  const char* (*why_no_devices)(void);
} hr_kernel_table;

/* ---- convenience functions --------------------------------------------------------- */

static inline int64_t hr_attr_int(const hr_node* node, const char* key, int64_t otherwise) {
  int64_t value = otherwise;
  return node->api->attr_int(node, key, &value) == HR_OK ? value : otherwise;
}
static inline float hr_attr_float(const hr_node* node, const char* key, float otherwise) {
  float value = otherwise;
  return node->api->attr_float(node, key, &value) == HR_OK ? value : otherwise;
}
static inline int32_t hr_attr_bool(const hr_node* node, const char* key, int32_t otherwise) {
  int32_t value = otherwise;
  return node->api->attr_bool(node, key, &value) == HR_OK ? value : otherwise;
}
static inline hr_dtype hr_attr_type(const hr_node* node, const char* key) {
  hr_dtype value = HR_INVALID;
  return node->api->attr_type(node, key, &value) == HR_OK ? value : HR_INVALID;
}

#define hr_request_fail(request, code, ...) \
  ((request)->node->api->fail((request)->node, (code), __VA_ARGS__))
#define hr_ctx_fail(ctx, code, ...) ((ctx)->api->fail((ctx), (code), __VA_ARGS__))

#ifdef __cplusplus
}
#endif
#endif
