/* A runtime of one node: enough of both sides of kernel.h to call any kernel alone. */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "headrace/kernel.h"

#define EXPORT __attribute__((visibility("default")))

/* ---- counted memory ------------------------------------------------------------------ */

struct hr_buffer {
  int64_t references;
  void* memory;
  hr_dtype dtype;
  int64_t count;
  int64_t bytes;
  hr_device* device; /* whose memory it is; null: the host's */
};

static int64_t live_buffers = 0;
EXPORT int64_t driver_live_buffers(void) { return live_buffers; }

/* Buffers behind whose end a kernel wrote, since the last question. */
static int64_t overrun_buffers = 0;
EXPORT int64_t driver_overrun_buffers(void) {
  return __atomic_exchange_n(&overrun_buffers, 0, __ATOMIC_RELAXED);
}

static void release(hr_buffer* buffer);
static void release_object(hr_object* object);

static hr_buffer* new_buffer(hr_dtype dtype, int64_t count, int64_t bytes) {
  hr_buffer* buffer = calloc(1, sizeof *buffer);
  size_t size = ((size_t)bytes + 127) / 64 * 64;
  buffer->references = 1;
  buffer->memory = aligned_alloc(64, size);
  buffer->dtype = dtype;
  buffer->count = count;
  buffer->bytes = bytes;
  /* Plain memory is left full of rubbish, so that a kernel that relies on zeros is seen. */
  int plain = dtype != HR_STRING && dtype != HR_RESOURCE && dtype != HR_VARIANT;
  memset(buffer->memory, plain ? 0xcd : 0, size);
  __atomic_add_fetch(&live_buffers, 1, __ATOMIC_RELAXED);
  return buffer;
}

/* Waits for a request to a device. */
typedef struct wait {
  volatile int32_t ended;
  int32_t code;
} wait;
static void end_wait(void* argument, int32_t code, const char* message) {
  wait* w = argument;
  w->code = code;
  if (code) fprintf(stderr, "harness: the device reports: %s\n", message);
  __atomic_store_n(&w->ended, 1, __ATOMIC_RELEASE);
}
static int32_t waited(wait* w) {
  while (!__atomic_load_n(&w->ended, __ATOMIC_ACQUIRE)) usleep(20);
  return w->code;
}

EXPORT int32_t driver_copy_in(hr_device* device, void* to, const void* from, int64_t bytes) {
  wait w = {0, 0};
  int32_t code = device->copy_in(device, to, from, bytes, NULL, end_wait, &w);
  return code ? code : waited(&w);
}
EXPORT int32_t driver_copy_out(hr_device* device, void* to, const void* from, int64_t bytes) {
  wait w = {0, 0};
  int32_t code = device->copy_out(device, to, from, bytes, NULL, end_wait, &w);
  return code ? code : waited(&w);
}
/* Waits for everything that was enqueued. */
EXPORT int32_t driver_finish(hr_device* device) {
  wait w = {0, 0};
  device->flush(device);
  device->notify(device, end_wait, &w);
  return waited(&w);
}

static hr_buffer* new_device_buffer(hr_device* device, hr_dtype dtype, int64_t bytes) {
  hr_buffer* buffer = calloc(1, sizeof *buffer);
  buffer->references = 1;
  buffer->dtype = dtype;
  buffer->bytes = bytes;
  buffer->device = device;
  buffer->memory = device->allocate(device, bytes ? bytes : 1, "harness");
  if (!buffer->memory) abort();
  char* rubbish = malloc((size_t)bytes + 1);
  memset(rubbish, 0xcd, (size_t)bytes + 1);
  if (bytes) driver_copy_in(device, buffer->memory, rubbish, bytes);
  free(rubbish);
  __atomic_add_fetch(&live_buffers, 1, __ATOMIC_RELAXED);
  return buffer;
}

EXPORT hr_device* driver_device_of(const hr_buffer* buffer) {
  return buffer ? buffer->device : NULL;
}

static void retain(hr_buffer* buffer) {
  if (buffer) __atomic_add_fetch(&buffer->references, 1, __ATOMIC_RELAXED);
}

static void release(hr_buffer* buffer) {
  if (!buffer || __atomic_sub_fetch(&buffer->references, 1, __ATOMIC_ACQ_REL)) return;
  if (buffer->device) {
    buffer->device->release(buffer->device, buffer->memory);
    free(buffer);
    __atomic_sub_fetch(&live_buffers, 1, __ATOMIC_RELAXED);
    return;
  }
  for (int64_t i = 0; i < buffer->count; ++i) {
    if (buffer->dtype == HR_STRING) release(((hr_string*)buffer->memory)[i].owner);
    if (buffer->dtype == HR_RESOURCE) {
      hr_object* object = ((hr_resource*)buffer->memory)[i].object;
      if (object) release_object(object);
    }
    if (buffer->dtype == HR_VARIANT) {
      hr_variant* v = (hr_variant*)buffer->memory + i;
      if (v->type) v->type->destroy(v->value);
    }
  }
  const unsigned char* memory = buffer->memory;
  int plain =
      buffer->dtype != HR_STRING && buffer->dtype != HR_RESOURCE && buffer->dtype != HR_VARIANT;
  for (int64_t i = buffer->bytes; plain && i < buffer->bytes + 64; ++i)
    if (memory[i] != 0xcd) {
      __atomic_add_fetch(&overrun_buffers, 1, __ATOMIC_RELAXED);
      break;
    }
  free(buffer->memory);
  free(buffer);
  __atomic_sub_fetch(&live_buffers, 1, __ATOMIC_RELAXED);
}

EXPORT void driver_release(hr_buffer* buffer) { release(buffer); }

EXPORT int driver_allocate(hr_tensor* t) {
  int64_t count = hr_elements(t);
  if (t->layout == 0) t->bytes = count * hr_dtype_size(t->dtype);
  t->owner = new_buffer(t->dtype, count, t->bytes);
  t->data = t->owner->memory;
  return 0;
}

/* In memory of a device. */
EXPORT int driver_allocate_on(hr_device* device, hr_tensor* t) {
  if (!device) return driver_allocate(t);
  t->bytes = hr_elements(t) * hr_dtype_size(t->dtype);
  t->owner = new_device_buffer(device, t->dtype, t->bytes);
  t->data = t->owner->memory;
  return 0;
}

/* From a tensor in memory of one to a tensor in memory of another, of the same size. */
static void copy_bytes(const hr_tensor* from, hr_tensor* to) {
  hr_device *source = from->owner->device, *target = to->owner->device;
  if (!from->bytes) return;
  if (source && target) source->copy_within(source, to->data, from->data, from->bytes, NULL);
  else if (source) driver_copy_out(source, to->data, from->data, from->bytes);
  else if (target) driver_copy_in(target, to->data, from->data, from->bytes);
  else memcpy(to->data, from->data, (size_t)from->bytes);
}

EXPORT void driver_set_string(hr_string* string, const char* data, size_t size) {
  hr_buffer* buffer = NULL;
  if (size) {
    buffer = new_buffer(HR_UINT8, 0, (int64_t)size);
    memcpy(buffer->memory, data, size);
  }
  release(string->owner);
  string->data = buffer ? buffer->memory : "";
  string->size = size;
  string->owner = buffer;
}

/* ---- variables: a slot is a resource object ---------------------------------------------- */

typedef struct slot {
  hr_object object;
  int32_t initialised;
  int32_t writing;
  hr_tensor value;
} slot;

static void destroy_slot(hr_object* object) {
  release(((slot*)object)->value.owner);
  free(object);
}

EXPORT slot* driver_new_slot(const hr_tensor* value, hr_device* device) {
  slot* s = calloc(1, sizeof *s);
  s->object.size = sizeof(hr_object);
  s->object.references = 1;
  s->object.kind = "Variable";
  s->object.destroy = destroy_slot;
  if (value) {
    s->initialised = 1;
    s->value = *value;
    driver_allocate_on(device, &s->value);
    copy_bytes(value, &s->value);
  }
  return s;
}
EXPORT void driver_end_slot(slot* s) { release_object(&s->object); }
EXPORT int32_t driver_slot_value(slot* s, hr_tensor* value) {
  *value = s->value;
  return s->initialised;
}

static slot* slot_of(const hr_tensor* ref) { return (slot*)((hr_resource*)ref->data)->object; }

static void release_object(hr_object* object) {
  if (__atomic_sub_fetch(&object->references, 1, __ATOMIC_ACQ_REL) == 0) object->destroy(object);
}
static void retain_object(hr_object* object) {
  __atomic_add_fetch(&object->references, 1, __ATOMIC_RELAXED);
}

/* ---- the node --------------------------------------------------------------------------- */

typedef struct attr {
  const char* key;
  int32_t kind; /* 'i' 'f' 'b' 't' 's' 'T' 'h', upper: I F Y S H are lists */
  int64_t integer;
  float real;
  hr_string text;
  const hr_tensor* tensor;
  int32_t rank;
  const int64_t* dims;
  size_t n;
  const void* list;
  const int32_t* ranks;
  const int64_t* const* dims_list;
} attr;

typedef struct node {
  hr_node head;
  int32_t n_attrs;
  const attr* attrs;
  const int32_t* input_ranges; /* first, count by argument */
  const int32_t* output_ranges;
  char message[1024];
} node;

static const attr* find(const hr_node* n, const char* key, int kind, hr_code* code) {
  const node* self = (const node*)n;
  for (int32_t i = 0; i < self->n_attrs; ++i)
    if (!strcmp(self->attrs[i].key, key)) {
      *code = self->attrs[i].kind == kind ? HR_OK : HR_INVALID_ARGUMENT;
      return *code ? NULL : &self->attrs[i];
    }
  *code = HR_NOT_FOUND;
  return NULL;
}
#define GETTER(name, kind, params, body)                        \
  static hr_code name params {                                  \
    hr_code code;                                               \
    const attr* a = find(n, key, kind, &code);                  \
    if (a) { body; }                                            \
    return code;                                                \
  }
GETTER(attr_int, 'i', (const hr_node* n, const char* key, int64_t* v), *v = a->integer)
GETTER(attr_float, 'f', (const hr_node* n, const char* key, float* v), *v = a->real)
GETTER(attr_bool, 'b', (const hr_node* n, const char* key, int32_t* v), *v = (int32_t)a->integer)
GETTER(attr_type, 't', (const hr_node* n, const char* key, hr_dtype* v), *v = (hr_dtype)a->integer)
GETTER(attr_string, 's', (const hr_node* n, const char* key, const char** v, size_t* size),
       *v = a->text.data;
       *size = a->text.size)
GETTER(attr_tensor, 'T', (const hr_node* n, const char* key, const hr_tensor** v), *v = a->tensor)
GETTER(attr_shape, 'h', (const hr_node* n, const char* key, int32_t* rank, const int64_t** v),
       *rank = a->rank;
       *v = a->dims)
GETTER(attr_ints, 'I', (const hr_node* n, const char* key, const int64_t** v, size_t* size),
       *v = a->list;
       *size = a->n)
GETTER(attr_floats, 'F', (const hr_node* n, const char* key, const float** v, size_t* size),
       *v = a->list;
       *size = a->n)
GETTER(attr_types, 'Y', (const hr_node* n, const char* key, const hr_dtype** v, size_t* size),
       *v = a->list;
       *size = a->n)
GETTER(attr_strings, 'S', (const hr_node* n, const char* key, const hr_string** v, size_t* size),
       *v = a->list;
       *size = a->n)
GETTER(attr_shapes, 'H',
       (const hr_node* n, const char* key, const int32_t** ranks, const int64_t* const** v,
        size_t* size),
       *ranks = a->ranks;
       *v = a->dims_list; *size = a->n)

static void input_range(const hr_node* n, int32_t argument, int32_t* first, int32_t* count) {
  const int32_t* r = ((const node*)n)->input_ranges + 2 * argument;
  *first = r[0], *count = r[1];
}
static void output_range(const hr_node* n, int32_t argument, int32_t* first, int32_t* count) {
  const int32_t* r = ((const node*)n)->output_ranges + 2 * argument;
  *first = r[0], *count = r[1];
}
static hr_code node_fail(const hr_node* n, hr_code code, const char* format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(((node*)n)->message, sizeof((node*)n)->message, format, args);
  va_end(args);
  return code;
}

static const hr_node_api node_api = {sizeof(hr_node_api), attr_int,    attr_float,   attr_bool,
                                     attr_type,           attr_string, attr_tensor,  attr_shape,
                                     attr_ints,           attr_floats, attr_types,   attr_strings,
                                     attr_shapes,         input_range, output_range, node_fail};

/* ---- the context -------------------------------------------------------------------------- */

typedef struct context {
  hr_ctx head;
  char* message;
  size_t room;
  int32_t allocations;
} context;

static hr_code ctx_fail(hr_ctx* ctx, hr_code code, const char* format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(((context*)ctx)->message, ((context*)ctx)->room, format, args);
  va_end(args);
  return code;
}
static hr_code ctx_allocate(hr_ctx* ctx, hr_tensor* output) {
  ++((context*)ctx)->allocations;
  if (output->owner) return ctx_fail(ctx, HR_INTERNAL, "harness: an output was allocated twice");
  driver_allocate_on(ctx->device, output);
  return HR_OK;
}
static hr_code ctx_allocate_host(hr_ctx* ctx, hr_tensor* output) {
  if (output->owner) return ctx_fail(ctx, HR_INTERNAL, "harness: an output was allocated twice");
  driver_allocate(output);
  return HR_OK;
}
static hr_code forward(hr_ctx* ctx, const hr_tensor* value, hr_tensor* output) {
  (void)ctx;
  hr_buffer* before = output->owner;
  retain(value->owner);
  *output = *value;
  release(before);
  return HR_OK;
}
static hr_code set_string(hr_ctx* ctx, hr_string* string, const char* data, size_t size) {
  (void)ctx;
  driver_set_string(string, data, size);
  return HR_OK;
}
static void parallel_for(hr_ctx* ctx, int64_t total, int64_t grain,
                         void (*body)(void*, int64_t, int64_t), void* argument) {
  /* Pieces, to show that the kernel may be cut anywhere. */
  int64_t step = ctx->threads > 1 && grain > 0 ? grain : total;
  for (int64_t begin = 0; begin < total; begin += step)
    body(argument, begin, begin + step < total ? begin + step : total);
}
static hr_code begin_write(hr_ctx* ctx, int32_t n, const hr_tensor* const* refs,
                           hr_tensor* values) {
  for (int32_t i = 0; i < n; ++i) {
    slot* s = slot_of(refs[i]);
    if (!s->initialised) {
      for (int32_t j = 0; j < i; ++j) slot_of(refs[j])->writing = 0;
      return ctx_fail(ctx, HR_FAILED_PRECONDITION,
                      "Attempting to use uninitialized value of input %d", (int)i);
    }
    if (s->writing) return ctx_fail(ctx, HR_INTERNAL, "harness: a slot was locked twice");
    s->writing = 1;
    if (s->value.owner->references > 1) { /* pinned by a reader: copy */
      hr_tensor copy = s->value;
      driver_allocate_on(s->value.owner->device, &copy);
      copy_bytes(&s->value, &copy);
      release(s->value.owner);
      s->value = copy;
    }
    values[i] = s->value;
  }
  return HR_OK;
}
static void commit(hr_ctx* ctx, int32_t n, const hr_tensor* const* refs) {
  (void)ctx;
  for (int32_t i = 0; i < n; ++i) slot_of(refs[i])->writing = 0;
}
static hr_code slot_read(hr_ctx* ctx, const hr_tensor* ref, hr_tensor* value) {
  slot* s = slot_of(ref);
  if (!s->initialised)
    return ctx_fail(ctx, HR_FAILED_PRECONDITION, "Attempting to use uninitialized value");
  *value = s->value;
  retain(value->owner);
  return HR_OK;
}
static hr_code slot_assign(hr_ctx* ctx, const hr_tensor* ref, const hr_tensor* value) {
  slot* s = slot_of(ref);
  hr_tensor copy = *value;
  driver_allocate_on(ctx->device, &copy);
  copy_bytes(value, &copy);
  release(s->value.owner);
  s->value = copy;
  s->initialised = 1;
  return HR_OK;
}
static hr_code lookup_or_create(hr_ctx* ctx, const char* container, const char* name,
                                const char* kind, hr_object* (*make)(void*), void* argument,
                                hr_object** object) {
  (void)ctx, (void)container, (void)name, (void)kind;
  *object = make(argument);
  return HR_OK;
}
static uint64_t on_cancel(hr_ctx* ctx, void (*cancel)(void*), void* argument) {
  (void)ctx, (void)cancel, (void)argument;
  return 1;
}
static void forget_cancel(hr_ctx* ctx, uint64_t token) { (void)ctx, (void)token; }

static const hr_ctx_api ctx_api = {sizeof(hr_ctx_api),
                                   ctx_fail,
                                   ctx_allocate,
                                   forward,
                                   retain,
                                   release,
                                   set_string,
                                   parallel_for,
                                   begin_write,
                                   commit,
                                   slot_read,
                                   slot_assign,
                                   lookup_or_create,
                                   retain_object,
                                   release_object,
                                   on_cancel,
                                   forget_cancel,
                                   .allocate_host = ctx_allocate_host};

/* ---- one kernel ------------------------------------------------------------------------------ */

typedef struct call {
  const hr_kernel* row;
  void* state;
  hr_request request;
  hr_tensor* input_storage; /* as prepare sees them: data only where constant */
  const hr_tensor** input_pointers;
  hr_tensor** output_pointers;
} call;

EXPORT hr_code driver_create(node* n, const hr_kernel* row, void** state) {
  n->head.size = sizeof(hr_node);
  n->head.api = &node_api;
  n->message[0] = 0;
  *state = NULL;
  return row->create ? row->create(&n->head, state) : HR_OK;
}

EXPORT void driver_destroy(const hr_kernel* row, void* state) {
  if (row->destroy) row->destroy(state);
}

/* inputs and outputs are arrays of tensors; known says which inputs prepare may read. */
EXPORT hr_code driver_prepare(node* n, const hr_kernel* row, void* state, const hr_tensor* inputs,
                              const int32_t* known, hr_tensor* outputs, int32_t threads,
                              hr_device* device, call** result) {
  int32_t n_in = n->head.n_inputs, n_out = n->head.n_outputs;
  call* c = calloc(1, sizeof *c);
  c->row = row;
  c->state = state;
  c->input_storage = calloc((size_t)n_in + 1, sizeof(hr_tensor));
  c->input_pointers = calloc((size_t)n_in + 1, sizeof(void*));
  c->output_pointers = calloc((size_t)n_out + 1, sizeof(void*));
  for (int32_t i = 0; i < n_in; ++i) {
    c->input_storage[i] = inputs[i];
    if (!known[i]) c->input_storage[i].data = NULL;
    c->input_storage[i].owner = NULL;
    c->input_pointers[i] = &c->input_storage[i];
  }
  for (int32_t i = 0; i < n_out; ++i) {
    memset(&outputs[i], 0, sizeof outputs[i]);
    outputs[i].dtype = n->head.output_dtypes[i];
    outputs[i].rank = -1; /* so that a forgotten shape is seen */
    c->output_pointers[i] = &outputs[i];
  }
  c->request.size = sizeof(hr_request);
  c->request.node = &n->head;
  c->request.inputs = c->input_pointers;
  c->request.outputs = c->output_pointers;
  c->request.threads = threads;
  c->request.device = device;
  n->message[0] = 0;
  *result = c;
  return row->prepare ? row->prepare(state, &c->request) : HR_OK;
}

EXPORT int32_t driver_depends_on_data(const call* c) { return c->request.shape_depends_on_data; }
EXPORT double driver_flops(const call* c) { return c->request.flops; }

typedef struct pending {
  hr_code code;
  volatile int32_t calls;
} pending;
static void done(void* argument, hr_code code) {
  pending* p = argument;
  p->code = code;
  __atomic_add_fetch(&p->calls, 1, __ATOMIC_RELEASE);
}

/* Runs compute `repeats` times over the same tensors. */
EXPORT hr_code driver_compute(call* c, const hr_tensor* inputs, int32_t n_in, hr_tensor* outputs,
                              int32_t n_out, int32_t threads, hr_device* device, int64_t repeats,
                              char* message, size_t room) {
  static const volatile int32_t never = 0;
  context ctx = {{sizeof(hr_ctx), threads, &ctx_api, &never, 1}, message, room, 0};
  for (int32_t i = 0; i < n_in; ++i) c->input_pointers[i] = &inputs[i];
  for (int32_t i = 0; i < n_out; ++i) c->output_pointers[i] = &outputs[i];
  hr_compute compute = c->request.compute ? c->request.compute : c->row->compute;
  ctx.head.device = device;
  size_t size = (c->request.workspace + 127) / 64 * 64;
  void* workspace = NULL;
  hr_buffer* device_workspace = NULL;
  if (c->request.workspace && device) {
    device_workspace = new_device_buffer(device, HR_UINT8, (int64_t)size);
    workspace = device_workspace->memory;
  } else if (c->request.workspace) {
    workspace = aligned_alloc(64, size);
    memset(workspace, 0xcd, size);
  }
  hr_code code = HR_OK;
  message[0] = 0;
  for (int64_t i = 0; i < repeats && code == HR_OK; ++i) {
    if (compute) {
      code = compute(&ctx.head, c->state, c->request.plan, c->input_pointers,
                     (hr_tensor* const*)c->output_pointers, workspace);
    } else if (c->row->compute_async) {
      pending p = {HR_OK, 0};
      c->row->compute_async(&ctx.head, c->state, c->request.plan, c->input_pointers,
                            (hr_tensor* const*)c->output_pointers, workspace, done, &p);
      while (!__atomic_load_n(&p.calls, __ATOMIC_ACQUIRE)) {}
      code = p.code;
    } else {
      code = ctx_fail(&ctx.head, HR_INTERNAL, "harness: the row has no compute function");
    }
  }
  if (device) {
    int32_t ended = driver_finish(device);
    if (!code && ended) code = ctx_fail(&ctx.head, ended, "harness: the device failed");
    release(device_workspace);
  } else {
    free(workspace);
  }
  return code;
}

EXPORT void driver_end_call(call* c) {
  if (c->request.plan && c->request.destroy_plan) c->request.destroy_plan(c->request.plan);
  free(c->input_storage);
  free(c->input_pointers);
  free(c->output_pointers);
  free(c);
}

EXPORT const char* driver_message(const node* n) { return n->message; }
EXPORT size_t driver_node_size(void) { return sizeof(node); }
EXPORT void driver_retain(hr_buffer* buffer) { retain(buffer); }
