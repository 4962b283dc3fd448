/* Uses the fake device as a runtime would, with kernels of its own; run under sanitizers by
 * test_fake_device.py. Ends with 0 if all is as it should be. */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_device.h"

#define CHECK(condition)                                                       \
  do {                                                                         \
    if (!(condition)) {                                                        \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);  \
      exit(1);                                                                 \
    }                                                                          \
  } while (0)

/* ---- waiting ----------------------------------------------------------------------- */

typedef struct {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int32_t calls, code;
  char message[512];
} Wait;

static void start_wait(Wait* wait) {
  memset(wait, 0, sizeof *wait);
  pthread_mutex_init(&wait->lock, NULL);
  pthread_cond_init(&wait->changed, NULL);
}
static void done(void* argument, int32_t code, const char* message) {
  Wait* wait = argument;
  pthread_mutex_lock(&wait->lock);
  ++wait->calls;
  wait->code = code;
  snprintf(wait->message, sizeof wait->message, "%s", message);
  pthread_cond_signal(&wait->changed);
  pthread_mutex_unlock(&wait->lock);
}
static int32_t end_wait(Wait* wait) {
  pthread_mutex_lock(&wait->lock);
  while (!wait->calls) pthread_cond_wait(&wait->changed, &wait->lock);
  pthread_mutex_unlock(&wait->lock);
  CHECK(wait->calls == 1);
  return wait->code;
}

static int32_t finish(hr_device* d, Wait* wait) {
  start_wait(wait);
  d->notify(d, done, wait);
  return end_wait(wait);
}
static int32_t read_out(hr_device* d, void* to, const void* from, int64_t bytes) {
  Wait wait;
  start_wait(&wait);
  CHECK(!d->copy_out(d, to, from, bytes, NULL, done, &wait));
  return end_wait(&wait);
}
static float* new_array(hr_device* d, int64_t n, float value) {
  float* host = malloc((size_t)n * sizeof *host);
  for (int64_t i = 0; i < n; ++i) host[i] = value;
  float* made = d->allocate(d, n * 4, "an array");
  CHECK(made && !d->copy_in(d, made, host, n * 4, NULL, NULL, NULL));
  free(host);
  return made;
}

/* ---- kernels that add, count themselves, and err ------------------------------------- */

static int32_t live_states, live_plans;

static hr_code create(hr_node* node, void** state) {
  (void)node;
  __atomic_add_fetch(&live_states, 1, __ATOMIC_RELAXED);
  *state = malloc(1);
  return HR_OK;
}
static void destroy(void* state) {
  __atomic_sub_fetch(&live_states, 1, __ATOMIC_RELAXED);
  free(state);
}
static void destroy_plan(void* plan) {
  CHECK(__atomic_load_n(&live_states, __ATOMIC_RELAXED) > 0);
  __atomic_sub_fetch(&live_plans, 1, __ATOMIC_RELAXED);
  free(plan);
}
static hr_code prepare(void* state, hr_request* request) {
  CHECK(state && request->threads == 1 && !request->private_layout && !request->device);
  __atomic_add_fetch(&live_plans, 1, __ATOMIC_RELAXED);
  request->plan = calloc(1, sizeof(float));
  *(float*)request->plan = 1000;
  request->destroy_plan = destroy_plan;
  const hr_tensor* like = request->inputs[0];
  request->outputs[0]->rank = like->rank;
  memcpy(request->outputs[0]->dims, like->dims, sizeof like->dims);
  request->shape_depends_on_data = like->rank == 2;
  return HR_OK;
}
/* out = a + b + 1000, where b, of one element, is in host memory. */
static hr_code compute(hr_ctx* ctx, void* state, void* plan, const hr_tensor* const* in,
                       hr_tensor* const* out, void* workspace) {
  (void)state, (void)workspace;
  const float *a = in[0]->data, *b = in[1]->data;
  if (*b < 0) return hr_ctx_fail(ctx, HR_OUT_OF_RANGE, "b is %g", *b);
  for (int64_t i = 0; i < hr_elements(in[0]); ++i)
    ((float*)out[0]->data)[i] = a[i] + *b + *(float*)plan;
  return HR_OK;
}
/* Writes one element too many. */
static hr_code overrun(hr_ctx* ctx, void* state, void* plan, const hr_tensor* const* in,
                       hr_tensor* const* out, void* workspace) {
  ((float*)out[0]->data)[hr_elements(in[0])] = 1;
  return compute(ctx, state, plan, in, out, workspace);
}
/* The variable becomes the sum of itself and the value. */
static hr_code update(hr_ctx* ctx, void* state, void* plan, const hr_tensor* const* in,
                      hr_tensor* const* out, void* workspace) {
  (void)state, (void)plan, (void)out, (void)workspace;
  hr_tensor slot;
  const hr_code code = ctx->api->begin_write(ctx, 1, in, &slot);
  if (code) return code;
  for (int64_t i = 0; i < hr_elements(&slot); ++i)
    ((float*)slot.data)[i] += ((const float*)in[1]->data)[i];
  ctx->api->commit(ctx, 1, in);
  return HR_OK;
}
static hr_code prepare_nothing(void* state, hr_request* request) {
  (void)state, (void)request;
  return HR_OK;
}

static const hr_kernel of_host[] = {
    {.op = "Shift",
     .create = create,
     .prepare = prepare,
     .compute = compute,
     .destroy = destroy,
     .value_inputs = 2},
    {.op = "Overrun",
     .create = create,
     .prepare = prepare,
     .compute = overrun,
     .destroy = destroy,
     .value_inputs = 2},
    {.op = "Update", .prepare = prepare_nothing, .compute = update}};
static hr_kernel kernels[3];

/* ---- the runtime's side of a kernel -------------------------------------------------- */

static void input_range(const hr_node* node, int32_t argument, int32_t* first, int32_t* count) {
  (void)node;
  *first = argument, *count = 1;
}
static char failure[512]; /* of calls outside of the threads */
static hr_code node_fail(const hr_node* node, hr_code code, const char* format, ...) {
  (void)node;
  va_list args;
  va_start(args, format);
  vsnprintf(failure, sizeof failure, format, args);
  va_end(args);
  return code;
}
static hr_code ctx_fail(hr_ctx* ctx, hr_code code, const char* format, ...) {
  (void)ctx;
  va_list args;
  va_start(args, format);
  vsnprintf(failure, sizeof failure, format, args);
  va_end(args);
  return code;
}

static hr_tensor variable;
static int32_t writes, commits;
static hr_code begin_write(hr_ctx* ctx, int32_t n, const hr_tensor* const* refs, hr_tensor* to) {
  (void)ctx;
  CHECK(n == 1 && refs[0]->dtype == HR_RESOURCE);
  ++writes;
  *to = variable;
  return HR_OK;
}
static void commit(hr_ctx* ctx, int32_t n, const hr_tensor* const* refs) {
  (void)ctx, (void)n, (void)refs;
  ++commits;
}

static const hr_node_api node_api = {
    .size = sizeof node_api, .input_range = input_range, .fail = node_fail};
static const hr_ctx_api ctx_api = {
    .size = sizeof ctx_api, .fail = ctx_fail, .begin_write = begin_write, .commit = commit};

static hr_tensor vector(void* data, int64_t n) {
  return (hr_tensor){.data = data, .bytes = n * 4, .dtype = HR_FLOAT, .rank = 1, .dims = {n}};
}

/* Calls a kernel on vectors a and out, with all that it needs gone when this returns. */
static hr_code call(hr_device* d, const hr_kernel* kernel, float* a, float b, float* out, int64_t n,
                    int32_t rank) {
  hr_dtype in_types[] = {HR_FLOAT, HR_FLOAT}, out_types[] = {HR_FLOAT};
  const int32_t updates = !strcmp(kernel->op, "Update");
  if (updates) in_types[0] = HR_RESOURCE;
  hr_node node = {sizeof node, &node_api, "n", kernel->op, "", 2, !updates, in_types, out_types};
  void* state;
  CHECK(!kernel->create(&node, &state));
  float* host = malloc(sizeof *host);
  *host = b;
  hr_tensor first = vector(a, n), second = vector(host, 1), result = vector(out, n);
  if (updates) {
    second = first;
    first = (hr_tensor){.dtype = HR_RESOURCE, .bytes = 8, .data = host};
  }
  first.rank = first.dtype == HR_FLOAT ? rank : 0;
  if (rank == 2) first.dims[1] = 1;
  const hr_tensor* inputs[] = {&first, &second};
  hr_tensor* outputs[] = {&result};
  hr_request request = {.size = sizeof request,
                        .node = &node,
                        .inputs = inputs,
                        .threads = 2,
                        .private_layout = 1,
                        .outputs = outputs,
                        .device = d};
  hr_code code = kernel->prepare(state, &request);
  if (!code) {
    hr_ctx ctx = {.size = sizeof ctx, .threads = 2, .api = &ctx_api, .device = d};
    code = (request.compute ? request.compute : kernel->compute)(&ctx, state, request.plan, inputs,
                                                                 outputs, NULL);
    request.destroy_plan(request.plan);
  }
  memset(host, 0xff, sizeof *host);
  free(host);
  kernel->destroy(state);
  return code;
}

/* ---- checks -------------------------------------------------------------------------- */

static void check_memory(hr_device* d) {
  hr_device_memory m;
  uint16_t seen[300];
  Wait wait;
  char* first = d->allocate(d, 600, "first");
  CHECK(((uintptr_t)first & 255) == 0);
  CHECK(!read_out(d, seen, first, 600));
  for (int i = 0; i < 300; ++i) CHECK(seen[i] == fake_poison());
  memset(seen, 1, sizeof seen);
  CHECK(!d->copy_in(d, first, seen, 600, NULL, NULL, NULL));
  CHECK(!read_out(d, seen + 100, first + 100, 2) && seen[100] == 0x0101);
  char* second = d->allocate(d, 256, "second");
  CHECK(second == first + 768);
  d->release(d, first);
  CHECK(d->copy_out(d, seen, first, 600, NULL, done, &wait) == HR_INVALID_ARGUMENT);
  CHECK(d->copy_in(d, second, seen, 257, NULL, NULL, NULL) == HR_INVALID_ARGUMENT);
  CHECK(d->allocate(d, 601, "third") == first);
  CHECK(!read_out(d, seen, first, 600));
  for (int i = 0; i < 300; ++i) CHECK(seen[i] == fake_poison());
  d->memory(d, &m);
  CHECK(m.in_use == 768 + 512 && m.peak == m.in_use && m.live == 2 && m.allocated == 3);
  char text[100];
  d->describe_memory(d, text, sizeof text);
  CHECK(!strcmp(text, "768 bytes in 1 allocations: third\n512 bytes in 1 allocations: second\n"));
  d->describe_memory(d, text, 40);
  CHECK(!strcmp(text, "768 bytes in 1 allocations: third\n"));
  d->set_limit(d, m.in_use + 511);
  CHECK(!d->allocate(d, 256, "too much"));
  d->set_limit(d, d->memory_bytes);
  CHECK(!d->allocate(d, d->memory_bytes + 1, "too much"));
  d->release(d, first);
  d->release(d, second);
  d->reset_peak(d);
  d->memory(d, &m);
  CHECK(!m.in_use && !m.peak && !m.live && m.reserved == 768 + 512);
  CHECK(d->allocate(d, 1200, "of parts") == first); /* free neighbours are one block */
  d->release(d, first);
  fake_fail_allocation(d, 1);
  char* kept = d->allocate(d, 1, "kept");
  CHECK(kept && !d->allocate(d, 1, "fails"));
  d->release(d, kept);
  CHECK(!finish(d, &wait));
}

static void check_copies(hr_device* d) {
  fake_set_latency(d, 20000000, 0);
  Wait wait, late;
  int value = 1, found = 0;
  int* at = d->allocate(d, 512, "copies");
  CHECK(!d->copy_in(d, at, &value, 4, NULL, NULL, NULL));
  value = 2; /* the first copy has read it */
  CHECK(!read_out(d, &found, at, 4) && found == 1);
  start_wait(&late);
  fake_wait_for_flush(d, 1); /* the stream takes the copy after the store, not beside it */
  CHECK(!d->copy_in(d, at, &value, 4, NULL, done, &late));
  value = 3; /* the second has not */
  CHECK(!d->copy_within(d, at + 64, at, 4, NULL));
  CHECK(d->copy_within(d, at + 1, at, 8, NULL) == HR_INVALID_ARGUMENT);
  CHECK(!read_out(d, &found, at + 64, 4) && found == 3 && !end_wait(&late));
  fake_wait_for_flush(d, 0);
  CHECK(!d->copy_in(d, at, &value, 0, NULL, NULL, NULL));

  fake_fail_copy(d, 1, 0);
  CHECK(!d->copy_in(d, at, &value, 4, NULL, NULL, NULL));
  CHECK(d->copy_in(d, at, &value, 4, NULL, NULL, NULL) == HR_INTERNAL);
  fake_fail_copy(d, 0, 1);
  CHECK(!d->copy_in(d, at, &value, 4, NULL, NULL, NULL));
  CHECK(read_out(d, &found, at, 4) == HR_INTERNAL);
  CHECK(finish(d, &wait) == HR_INTERNAL && strstr(wait.message, "a copy failed"));
  CHECK(!finish(d, &wait) && !read_out(d, &found, at, 4));

  fake_set_latency(d, 0, 0);
  fake_wait_for_flush(d, 1);
  start_wait(&late);
  CHECK(!d->copy_in(d, at, &value, 4, NULL, done, &late));
  usleep(20000);
  pthread_mutex_lock(&late.lock);
  CHECK(!late.calls);
  pthread_mutex_unlock(&late.lock);
  d->flush(d);
  CHECK(!end_wait(&late));
  CHECK(!finish(d, &wait)); /* it flushes */
  fake_wait_for_flush(d, 0);
  d->release(d, at);
}

static int64_t spans, span_entry, span_ns, span_bytes;
static void add_span(hr_profile* self, int32_t entry, const char* what, int64_t start, int64_t end,
                     int64_t bytes) {
  (void)self;
  CHECK(!strcmp(what, "copy to device"));
  ++spans;
  span_entry = entry, span_ns = end - start, span_bytes = bytes;
}

static void check_profile(hr_device* d) {
  hr_profile profile = {sizeof profile, 7, add_span};
  char value[40] = {0};
  void* at = d->allocate(d, 40, "profile");
  CHECK(!d->copy_in(d, at, value, 40, &profile, NULL, NULL));
  profile.entry = 8;
  Wait wait;
  CHECK(!finish(d, &wait));
  CHECK(spans == 1 && span_entry == 7 && span_ns >= 0 && span_bytes == 40);
  d->release(d, at);
}

static void check_kernels(hr_device* d, hr_device* other) {
  Wait wait;
  fake_set_latency(d, 5000000, 0);
  float found[100];
  float *a = new_array(d, 100, 1), *b = d->allocate(d, 400, "b"), *c = new_array(other, 100, 1);
  CHECK(!call(d, &kernels[0], a, 10, b, 100, 1));
  CHECK(!call(d, &kernels[0], b, 20, b, 100, 1)); /* in place */
  d->release(d, a);                               /* in order of the stream: not yet */
  CHECK(!read_out(d, found, b, 400) && found[0] == 2031 && found[99] == 2031);
  CHECK(!finish(d, &wait));
  CHECK(!__atomic_load_n(&live_plans, __ATOMIC_RELAXED));
  CHECK(!__atomic_load_n(&live_states, __ATOMIC_RELAXED));

  /* Errors of work are those of the next copy_out and notify; the first stays. */
  CHECK(!call(d, &kernels[0], b, -3, b, 100, 1) && !call(d, &kernels[0], b, -4, b, 100, 1));
  CHECK(read_out(d, found, b, 400) == HR_OUT_OF_RANGE);
  CHECK(finish(d, &wait) == HR_OUT_OF_RANGE && !strcmp(wait.message, "Shift 'n': b is -3"));
  CHECK(!finish(d, &wait));
  fake_fail_launch(d, 1, 0);
  CHECK(!call(d, &kernels[0], b, 1, b, 100, 1) && call(d, &kernels[0], b, 1, b, 100, 1));
  fake_fail_launch(d, 0, 1);
  CHECK(!call(d, &kernels[0], b, 1, b, 100, 1) && finish(d, &wait) == HR_INTERNAL);

  /* What a runtime may do wrong. */
  CHECK(call(d, &kernels[0], found, 1, b, 100, 1) == HR_INTERNAL);
  CHECK(strstr(failure, "not in memory of fake device 0"));
  CHECK(call(d, &kernels[0], c, 1, b, 100, 1) == HR_INTERNAL);
  CHECK(call(d, &kernels[0], b, 1, b + 1, 100, 1) == HR_INTERNAL);
  CHECK(call(d, &kernels[0], a, 1, b, 100, 1) == HR_INTERNAL); /* it was released */
  CHECK(call(d, &kernels[0], b, 1, b, 100, 2) == HR_UNIMPLEMENTED);
  CHECK(strstr(failure, "the shape of an output depends on data"));

  /* The variable is locked while the update is enqueued. */
  variable = vector(b, 100);
  a = new_array(d, 100, 1);
  CHECK(!d->copy_within(d, b, a, 400, NULL));
  for (int i = 0; i < 5; ++i) CHECK(!call(d, &kernels[2], a, 0, NULL, 100, 1));
  CHECK(writes == 5 && commits == 5);
  CHECK(!read_out(d, found, b, 400) && found[0] == 6 && found[99] == 6);

  float* odd = d->allocate(d, 64 * 4, "odd");
  CHECK(!call(d, &kernels[1], a, 1, odd, 64, 1));
  d->release(d, odd);
  CHECK(finish(d, &wait) == HR_INTERNAL && strstr(wait.message, "written behind the end of 'odd'"));
  d->release(d, a);
  d->release(d, b);
  other->release(other, c);
}

static void check_fork(hr_device* d) {
  float *a = new_array(d, 10, 1), found[10];
  Wait wait;
  const pid_t child = fork();
  if (!child) {
    CHECK(!d->allocate(d, 1, "lost"));
    CHECK(d->copy_out(d, found, a, 40, NULL, done, &wait) == HR_UNAVAILABLE);
    CHECK(call(d, &kernels[0], a, 1, a, 10, 1) == HR_INTERNAL);
    CHECK(finish(d, &wait) == HR_UNAVAILABLE);
    d->release(d, a);
    _exit(0);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  CHECK(!read_out(d, found, a, 40) && found[9] == 1);
  d->release(d, a);
}

/* ---- many threads -------------------------------------------------------------------- */

typedef struct {
  hr_device* device;
  unsigned seed;
} Worker;

static void* work(void* argument) {
  Worker* worker = argument;
  hr_device* d = worker->device;
  float* found = malloc(5000 * sizeof *found);
  for (int i = 0; i < 60; ++i) {
    const int64_t n = 1 + rand_r(&worker->seed) % 5000;
    const float value = (float)(rand_r(&worker->seed) % 100);
    float *a = new_array(d, n, value), *b = d->allocate(d, n * 4, "work");
    float* c = d->allocate(d, n * 4, "beside");
    CHECK(!call(d, &kernels[0], a, 1, b, n, 1));
    d->release(d, a);
    a = d->allocate(d, n * 4, "again");
    CHECK(!d->copy_within(d, a, b, n * 4, NULL));
    d->release(d, b);
    Wait wait;
    start_wait(&wait);
    CHECK(!d->copy_out(d, found, a, n * 4, NULL, done, &wait));
    /* Beside the copy, which reads a. */
    CHECK(!call(d, &kernels[0], a, 1, c, n, 1));
    CHECK(!end_wait(&wait));
    d->release(d, a);
    d->release(d, c);
    for (int64_t j = 0; j < n; ++j) CHECK(found[j] == value + 1001);
  }
  free(found);
  return NULL;
}

static void check_threads(hr_device* const* devices) {
  pthread_t threads[4];
  Worker workers[4];
  for (int i = 0; i < 2; ++i) fake_set_latency(devices[i], 50000, (uint64_t)i + 1);
  for (int i = 0; i < 4; ++i) {
    workers[i] = (Worker){devices[i % 2], (unsigned)i};
    CHECK(!pthread_create(threads + i, NULL, work, workers + i));
  }
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < 2; ++i) {
    Wait wait;
    hr_device_memory m;
    CHECK(!finish(devices[i], &wait));
    devices[i]->memory(devices[i], &m);
    CHECK(!m.in_use && !m.live);
  }
  CHECK(!live_states && !live_plans);
}

int main(void) {
  hr_device* const* devices = fake_make_devices(2, (int64_t)1 << 30);
  int32_t n;
  CHECK(fake_list_devices(&n) == devices && n == 2);
  for (int i = 0; i < 3; ++i) {
    kernels[i] = of_host[i];
    CHECK(!fake_wrap_kernel(of_host + i, kernels + i));
  }
  check_memory(devices[0]);
  check_copies(devices[0]);
  check_profile(devices[0]);
  check_kernels(devices[0], devices[1]);
  check_fork(devices[0]);
  check_threads(devices);
  return 0;
}
