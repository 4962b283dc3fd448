/* Kernels of the fake device: those of host memory, run later by the thread of the stream.
 *
 * `compute` enqueues a launch, which owns all that the kernel will need: descriptors of tensors,
 * copies of inputs in host memory, and references to plan and state. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_device.h"

enum { kMostSlots = 4, kText = 256 };

/* The state of a node; counted, because plans and launches outlive it. */
typedef struct {
  int32_t references;
  const hr_kernel* kernel;
  hr_node* node; /* of the session, which outlives what is enqueued */
  void* state;   /* the kernel's own */
  char label[kText];
  int32_t n_inputs, n_outputs;
  int32_t n_slots; /* leading inputs that are variables */
  char* in_host;   /* by input */
} State;

typedef struct {
  int32_t references;
  State* state;
  hr_compute compute;
  void* plan; /* the kernel's own */
  void (*destroy)(void* plan);
  int64_t workspace;
  int32_t by_data; /* made again at each launch, when the values in host memory are known */
} Plan;

typedef struct {
  hr_ctx ctx; /* first: the kernel gets it */
  hr_code code;
  char message[1024];
  int32_t n_slots;
  hr_tensor slots[kMostSlots];
} Context;

typedef struct {
  Work work;
  Plan* plan;
  Context context;
  hr_tensor* tensors; /* inputs, then outputs */
  hr_tensor** pointers;
  char* host_inputs; /* copies, one after another */
  void* workspace;
  int32_t fails;
} Launch;

/* ---- what a kernel sees while it runs ---------------------------------------------- */

static hr_code fail_launch(hr_ctx* ctx, hr_code code, const char* format, ...) {
  Context* context = (Context*)ctx;
  if (context->code) return code;
  context->code = code;
  va_list args;
  va_start(args, format);
  vsnprintf(context->message, sizeof context->message, format, args);
  va_end(args);
  return code;
}

static hr_code no_allocate(hr_ctx* ctx, hr_tensor* output) {
  (void)output;
  return fail_launch(ctx, HR_INTERNAL, "a kernel of the fake device allocates");
}
static hr_code no_forward(hr_ctx* ctx, const hr_tensor* value, hr_tensor* output) {
  (void)value;
  return no_allocate(ctx, output);
}
static hr_code no_string(hr_ctx* ctx, hr_string* string, const char* data, size_t size) {
  (void)string, (void)data, (void)size;
  return no_allocate(ctx, NULL);
}
static void no_count(hr_buffer* buffer) { (void)buffer; } /* tensors of a launch have no owner */
static void no_object(hr_object* object) { (void)object; }

static void run_inline(hr_ctx* ctx, int64_t total, int64_t grain,
                       void (*body)(void*, int64_t, int64_t), void* argument) {
  (void)ctx, (void)grain;
  body(argument, 0, total);
}

static hr_code give_slots(hr_ctx* ctx, int32_t n, const hr_tensor* const* refs, hr_tensor* values) {
  (void)refs;
  const Context* context = (const Context*)ctx;
  if (n != context->n_slots)
    return fail_launch(ctx, HR_INTERNAL, "a kernel of the fake device writes %d variables, not %d",
                       (int)n, (int)context->n_slots);
  memcpy(values, context->slots, (size_t)n * sizeof *values);
  return HR_OK;
}
static void no_commit(hr_ctx* ctx, int32_t n, const hr_tensor* const* refs) {
  (void)ctx, (void)n, (void)refs;
}
static hr_code no_slot_read(hr_ctx* ctx, const hr_tensor* ref, hr_tensor* value) {
  (void)ref, (void)value;
  return fail_launch(ctx, HR_INTERNAL, "a kernel of the fake device reads a variable");
}
static hr_code no_slot_assign(hr_ctx* ctx, const hr_tensor* ref, const hr_tensor* value) {
  (void)ref, (void)value;
  return fail_launch(ctx, HR_INTERNAL, "a kernel of the fake device assigns a variable");
}
static hr_code no_lookup(hr_ctx* ctx, const char* container, const char* name, const char* kind,
                         hr_object* (*make)(void*), void* argument, hr_object** object) {
  (void)container, (void)name, (void)kind, (void)make, (void)argument, (void)object;
  return fail_launch(ctx, HR_INTERNAL, "a kernel of the fake device looks for a resource");
}
static uint64_t no_cancel(hr_ctx* ctx, void (*cancel)(void*), void* argument) {
  (void)ctx, (void)cancel, (void)argument;
  return 1;
}
static void forget_nothing(hr_ctx* ctx, uint64_t token) { (void)ctx, (void)token; }

static const hr_ctx_api launch_api = {.size = sizeof(hr_ctx_api),
                                      .fail = fail_launch,
                                      .allocate = no_allocate,
                                      .forward = no_forward,
                                      .retain = no_count,
                                      .release = no_count,
                                      .set_string = no_string,
                                      .parallel_for = run_inline,
                                      .begin_write = give_slots,
                                      .commit = no_commit,
                                      .slot_read = no_slot_read,
                                      .slot_assign = no_slot_assign,
                                      .lookup_or_create = no_lookup,
                                      .retain_object = no_object,
                                      .release_object = no_object,
                                      .on_cancel = no_cancel,
                                      .forget_cancel = forget_nothing,
                                      .allocate_host = no_allocate};
static const volatile int32_t never_cancelled = 0;

/* ---- state and plan ---------------------------------------------------------------- */

static int32_t drop(int32_t* references) {
  return __atomic_sub_fetch(references, 1, __ATOMIC_ACQ_REL) == 0;
}
static void keep(int32_t* references) { __atomic_add_fetch(references, 1, __ATOMIC_RELAXED); }

static void drop_state(void* pointer) {
  State* state = pointer;
  if (!drop(&state->references)) return;
  if (state->kernel->destroy) state->kernel->destroy(state->state);
  free(state->in_host);
  free(state);
}

static void drop_plan(void* pointer) {
  Plan* plan = pointer;
  if (!drop(&plan->references)) return;
  if (plan->destroy && plan->plan) plan->destroy(plan->plan);
  drop_state(plan->state);
  free(plan);
}

static int32_t is_slot(hr_dtype dtype) { return dtype >= HR_REF || dtype == HR_RESOURCE; }

static hr_code create_state(const hr_kernel* kernel, uint64_t host_arguments, hr_node* node,
                            void** made) {
  State* state = fake_calloc(1, sizeof *state);
  state->references = 1;
  state->kernel = kernel;
  state->node = node;
  state->n_inputs = node->n_inputs;
  state->n_outputs = node->n_outputs;
  state->in_host = fake_calloc((size_t)node->n_inputs, 1);
  snprintf(state->label, sizeof state->label, "%s '%s'", node->op, node->name);
  while (state->n_slots < node->n_inputs && is_slot(node->input_dtypes[state->n_slots]))
    ++state->n_slots;
  for (int32_t argument = 0; argument < 64; ++argument) {
    if (!(host_arguments >> argument & 1)) continue;
    int32_t first, count;
    node->api->input_range(node, argument, &first, &count);
    memset(state->in_host + first, 1, (size_t)count);
  }
  const hr_code code = kernel->create ? kernel->create(node, &state->state) : HR_OK;
  if (code) {
    free(state->in_host);
    free(state);
    return code;
  }
  *made = state;
  return HR_OK;
}

/* What the kernel of host memory plans; `request` gets it. */
static hr_code plan_on_host(State* state, hr_request* request) {
  hr_device* const device = request->device;
  const int32_t threads = request->threads;
  const uint64_t private_layout = request->private_layout;
  request->device = NULL;
  request->threads = 1;
  request->private_layout = 0;
  const hr_code code =
      state->kernel->prepare ? state->kernel->prepare(state->state, request) : HR_OK;
  request->device = device;
  request->threads = threads;
  request->private_layout = private_layout;
  if (code && request->plan && request->destroy_plan) request->destroy_plan(request->plan);
  if (code) request->plan = NULL;
  return code;
}

static Plan* make_plan(State* state, const hr_request* request) {
  Plan* plan = fake_calloc(1, sizeof *plan);
  plan->references = 1;
  plan->state = state;
  keep(&state->references);
  plan->compute = request->compute ? request->compute : state->kernel->compute;
  plan->plan = request->plan;
  plan->destroy = request->destroy_plan;
  plan->workspace = (int64_t)request->workspace;
  return plan;
}

static hr_code prepare(void* pointer, hr_request* request) {
  State* state = pointer;
  hr_code code = plan_on_host(state, request);
  if (code) return code;
  Plan* plan = make_plan(state, request);
  plan->by_data = request->shape_depends_on_data;
  if (plan->by_data) plan->workspace = 0;
  request->workspace = (size_t)plan->workspace;
  request->compute = NULL;
  request->plan = plan;
  request->destroy_plan = drop_plan;
  return HR_OK;
}

/* Plans again with the values of inputs in host memory, and allocates the outputs. */
static hr_code plan_now(hr_ctx* ctx, const Plan* planned, const hr_tensor* const* inputs,
                        hr_tensor* const* outputs, Plan** made) {
  State* state = planned->state;
  hr_tensor* known = fake_calloc((size_t)state->n_inputs, sizeof *known);
  const hr_tensor** pointers = fake_calloc((size_t)state->n_inputs, sizeof *pointers);
  for (int32_t i = 0; i < state->n_inputs; ++i) {
    known[i] = *inputs[i];
    if (!state->in_host[i]) known[i].data = NULL;
    pointers[i] = known + i;
  }
  hr_request request = {.size = sizeof request,
                        .node = state->node,
                        .inputs = pointers,
                        .outputs = outputs,
                        .device = ctx->device};
  hr_code code = plan_on_host(state, &request);
  if (code) {
    /* What prepare says is for its caller. The kernel itself says the same to a step, before it
     * wants memory, which it does not get here. */
    Context own = {.ctx = {.size = sizeof(hr_ctx),
                           .threads = 1,
                           .api = &launch_api,
                           .cancelled = &never_cancelled,
                           .step = ctx->step}};
    fake_call_kernel(planned->compute, &own.ctx, state->state, planned->plan, pointers, outputs,
                     NULL);
    code = hr_ctx_fail(ctx, code, "%s", own.message);
  }
  free(known);
  free(pointers);
  if (code) return code;
  Plan* plan = make_plan(state, &request);
  if (request.shape_depends_on_data || plan->workspace)
    code = hr_ctx_fail(ctx, HR_UNIMPLEMENTED,
                       "%s: the shape of an output depends on data on the device, which %s does "
                       "not support",
                       state->label, ctx->device->description);
  for (int32_t i = 0; i < state->n_outputs && !code; ++i)
    code = ctx->api->allocate(ctx, outputs[i]);
  if (code) drop_plan(plan);
  else *made = plan;
  return code;
}

/* ---- launches ---------------------------------------------------------------------- */

static void run_launch(FakeDevice* device, Work* work) {
  Launch* launch = (Launch*)work;
  const Plan* plan = launch->plan;
  Context* context = &launch->context;
  hr_code code;
  if (launch->fails) {
    code = fail_launch(&context->ctx, HR_INTERNAL, "fake device: a launch failed");
  } else {
    hr_tensor** inputs = launch->pointers;
    code = fake_call_kernel(plan->compute, &context->ctx, plan->state->state, plan->plan,
                            (const hr_tensor* const*)inputs,
                            (hr_tensor* const*)inputs + plan->state->n_inputs, launch->workspace);
  }
  if (!code) return;
  char message[sizeof context->message + kText + 2];
  snprintf(message, sizeof message, "%s: %s", plan->state->label, context->message);
  fake_keep_error(device, code, message);
}

static void free_launch(Launch* launch) {
  drop_plan(launch->plan);
  free(launch->tensors);
  free(launch->pointers);
  free(launch->host_inputs);
  free(launch);
}

static void end_launch(FakeDevice* device, Work* work) {
  (void)device;
  free_launch((Launch*)work);
}

/* Takes a tensor of the device over into the address space of its thread. */
static hr_code take_tensor(hr_ctx* ctx, const State* state, const char* what, int32_t number,
                           hr_tensor* tensor) {
  tensor->owner = NULL;
  if (!tensor->bytes) return HR_OK;
  void* found = fake_translate(ctx->device, tensor->data, tensor->bytes);
  if (!found)
    return hr_ctx_fail(ctx, HR_INTERNAL, "%s: %s %d is %lld bytes at %p, not in memory of %s",
                       state->label, what, (int)number, (long long)tensor->bytes, tensor->data,
                       ctx->device->description);
  tensor->data = found;
  return HR_OK;
}

static hr_code take_inputs(hr_ctx* ctx, Launch* launch, const hr_tensor* const* inputs) {
  const State* state = launch->plan->state;
  size_t bytes = 0, at = 0;
  for (int32_t i = state->n_slots; i < state->n_inputs; ++i)
    if (state->in_host[i]) bytes += ((size_t)inputs[i]->bytes + 63) / 64 * 64;
  /* A kernel may want host inputs as aligned as the runtime's. */
  launch->host_inputs = aligned_alloc(64, bytes + 64);
  if (!launch->host_inputs) abort();
  for (int32_t i = 0; i < state->n_inputs; ++i) {
    hr_tensor* mine = launch->tensors + i;
    *mine = *inputs[i];
    if (i < state->n_slots) {
      mine->data = NULL, mine->owner = NULL;
      continue;
    }
    if (!state->in_host[i]) {
      const hr_code code = take_tensor(ctx, state, "input", i, mine);
      if (code) return code;
      continue;
    }
    if (mine->bytes && fake_is_device_memory(mine->data))
      return hr_ctx_fail(ctx, HR_INTERNAL, "%s: input %d is at %p, not in host memory",
                         state->label, (int)i, mine->data);
    mine->data = launch->host_inputs + at;
    mine->owner = NULL;
    if (mine->bytes) memcpy(mine->data, inputs[i]->data, (size_t)mine->bytes);
    at += ((size_t)mine->bytes + 63) / 64 * 64;
  }
  return HR_OK;
}

/* Locks the variables; without an error, they must be committed. */
static hr_code take_slots(hr_ctx* ctx, Launch* launch, const hr_tensor* const* inputs) {
  const State* state = launch->plan->state;
  Context* context = &launch->context;
  context->n_slots = state->n_slots;
  if (!state->n_slots) return HR_OK;
  hr_code code = ctx->api->begin_write(ctx, state->n_slots, inputs, context->slots);
  if (code) return code;
  for (int32_t i = 0; i < state->n_slots && !code; ++i)
    code = take_tensor(ctx, state, "variable", i, context->slots + i);
  if (code) ctx->api->commit(ctx, state->n_slots, inputs);
  return code;
}

static hr_code compute(hr_ctx* ctx, void* unused, void* pointer, const hr_tensor* const* inputs,
                       hr_tensor* const* outputs, void* workspace) {
  (void)unused; /* the plan has it */
  Plan* plan = pointer;
  const State* state = plan->state;
  if (!ctx->device) return hr_ctx_fail(ctx, HR_INTERNAL, "%s: hr_ctx.device is null", state->label);
  const int32_t how = fake_next_launch(ctx->device);
  if (how == FAKE_FAILS)
    return hr_ctx_fail(ctx, HR_INTERNAL, "%s: fake device: a launch failed", state->label);
  const size_t n = (size_t)(state->n_inputs + state->n_outputs);
  hr_code code;
  if (!plan->by_data) keep(&plan->references);
  else if ((code = plan_now(ctx, plan, inputs, outputs, &plan))) return code;
  Launch* launch = fake_calloc(1, sizeof *launch);
  launch->plan = plan;
  launch->fails = how == FAKE_FAILS_LATE;
  launch->work.run = run_launch;
  launch->work.end = end_launch;
  launch->work.what = state->kernel->op; /* the table lives as long as the process */
  launch->work.profile = ctx->profile;
  launch->context.ctx = (hr_ctx){.size = sizeof(hr_ctx),
                                 .threads = 1,
                                 .api = &launch_api,
                                 .cancelled = &never_cancelled,
                                 .step = ctx->step};
  launch->tensors = fake_calloc(n, sizeof *launch->tensors);
  launch->pointers = fake_calloc(n, sizeof *launch->pointers);
  for (size_t i = 0; i < n; ++i) launch->pointers[i] = launch->tensors + i;
  code = take_inputs(ctx, launch, inputs);
  for (int32_t i = 0; i < state->n_outputs && !code; ++i) {
    hr_tensor* mine = launch->tensors + state->n_inputs + i;
    *mine = *outputs[i];
    launch->work.bytes += mine->bytes;
    if (!is_slot(mine->dtype)) code = take_tensor(ctx, state, "output", i, mine);
  }
  if (!code && plan->workspace) {
    launch->workspace = fake_translate(ctx->device, workspace, plan->workspace);
    if (!launch->workspace)
      code = hr_ctx_fail(ctx, HR_INTERNAL, "%s: the workspace at %p is not in memory of %s",
                         state->label, workspace, ctx->device->description);
  }
  if (!code) code = take_slots(ctx, launch, inputs);
  if (code) {
    free_launch(launch);
    return code;
  }
  /* Committed once it is enqueued: what reads or writes the variables next is enqueued later. */
  fake_enqueue_launch(ctx->device, &launch->work);
  if (state->n_slots) ctx->api->commit(ctx, state->n_slots, inputs);
  return HR_OK;
}

/* ---- AssignAdd and AssignSub, which runtimes bring for host memory ------------------- */

static hr_code prepare_assign(void* state, hr_request* request) {
  (void)state;
  if (!request->node->n_outputs) return HR_OK;
  const hr_tensor* value = request->inputs[1];
  request->outputs[0]->rank = value->rank;
  memcpy(request->outputs[0]->dims, value->dims, sizeof value->dims);
  return HR_OK;
}

#define ADD(dtype, type)                                                                     \
  case dtype:                                                                                \
    for (int64_t i = 0; i < n; ++i)                                                          \
      ((type*)to)[i] = (type)(((type*)to)[i] + sign * ((const type*)value->data)[i]);        \
    return HR_OK

static hr_code change(hr_ctx* ctx, const hr_tensor* const* inputs, int32_t sign) {
  hr_tensor slot;
  const hr_code code = ctx->api->begin_write(ctx, 1, inputs, &slot);
  if (code) return code;
  ctx->api->commit(ctx, 1, inputs); /* the slots of a launch need no lock */
  const hr_tensor* value = inputs[1];
  if (slot.dtype != value->dtype || slot.rank != value->rank ||
      memcmp(slot.dims, value->dims, (size_t)slot.rank * sizeof *slot.dims))
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "the variable and the value do not fit");
  const int64_t n = hr_elements(value);
  void* to = slot.data;
  switch (value->dtype) {
    ADD(HR_FLOAT, float);
    ADD(HR_DOUBLE, double);
    ADD(HR_INT32, int32_t);
    ADD(HR_INT64, int64_t);
    default: return hr_ctx_fail(ctx, HR_UNIMPLEMENTED, "no arithmetic for that dtype");
  }
}

static hr_code compute_add(hr_ctx* ctx, void* state, void* plan, const hr_tensor* const* inputs,
                           hr_tensor* const* outputs, void* workspace) {
  (void)state, (void)plan, (void)outputs, (void)workspace;
  return change(ctx, inputs, 1);
}
static hr_code compute_sub(hr_ctx* ctx, void* state, void* plan, const hr_tensor* const* inputs,
                           hr_tensor* const* outputs, void* workspace) {
  (void)state, (void)plan, (void)outputs, (void)workspace;
  return change(ctx, inputs, -1);
}

#define CHANGE(op_name, attribute, function)                                                 \
  {.op = op_name, .device_type = "CPU", .constraint = attribute "=float|double|int32|int64", \
   .prepare = prepare_assign, .compute = function}
static const hr_kernel own_kernels[] = {
    CHANGE("AssignAdd", "T", compute_add), CHANGE("AssignAddVariableOp", "dtype", compute_add),
    CHANGE("AssignSub", "T", compute_sub), CHANGE("AssignSubVariableOp", "dtype", compute_sub)};

const hr_kernel* fake_own_kernels(int32_t* n) {
  *n = (int32_t)(sizeof own_kernels / sizeof *own_kernels);
  return own_kernels;
}

/* ---- registrations ----------------------------------------------------------------- */

/* `create` is not told which registration it is of, so each registration has its own. */
enum { kMostKernels = 1000 };
static const hr_kernel* kernels[kMostKernels];
static uint64_t host_arguments[kMostKernels];
static int32_t n_kernels = 0;

#define CREATE(n)                                                                   \
  static hr_code create_##n(hr_node* node, void** state) {                          \
    return create_state(kernels[n - 1000], host_arguments[n - 1000], node, state);  \
  }
#define NAME(n) create_##n,
/* A one comes first, because a number that begins with zero is octal. */
#define TEN(M, n) M(n##0) M(n##1) M(n##2) M(n##3) M(n##4) M(n##5) M(n##6) M(n##7) M(n##8) M(n##9)
#define HUNDRED(M, n)                                                                        \
  TEN(M, n##0) TEN(M, n##1) TEN(M, n##2) TEN(M, n##3) TEN(M, n##4)                           \
  TEN(M, n##5) TEN(M, n##6) TEN(M, n##7) TEN(M, n##8) TEN(M, n##9)
#define THOUSAND(M)                                                                          \
  HUNDRED(M, 10) HUNDRED(M, 11) HUNDRED(M, 12) HUNDRED(M, 13) HUNDRED(M, 14)                 \
  HUNDRED(M, 15) HUNDRED(M, 16) HUNDRED(M, 17) HUNDRED(M, 18) HUNDRED(M, 19)
THOUSAND(CREATE)
static hr_code (*const creates[kMostKernels])(hr_node*, void**) = {THOUSAND(NAME)};

hr_code fake_wrap_kernel(const hr_kernel* kernel, hr_kernel* made) {
  if (n_kernels == kMostKernels) return HR_RESOURCE_EXHAUSTED;
  made->device_type = "GPU";
  made->flags = kernel->flags & ~(uint32_t)HR_KERNEL_PRIVATE_IN;
  made->host_inputs |= kernel->constant_inputs | kernel->value_inputs;
  made->create = creates[n_kernels];
  made->prepare = prepare;
  made->compute = compute;
  made->destroy = drop_state;
  host_arguments[n_kernels] = made->host_inputs;
  kernels[n_kernels++] = kernel;
  return HR_OK;
}
