/* A device of type LATENCY: kernels of another library, each of which runs some time after it was
 * started, on the device's own thread, in the order in which they were started (a stream). */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "headrace/kernel.h"

typedef struct {
  const hr_kernel* kernel;
  void* state; /* the kernel's own */
} State;

typedef struct {
  hr_compute compute;
  void* plan; /* the kernel's own */
  void (*destroy)(void* plan);
} Plan;

typedef struct Launch {
  hr_ctx* ctx;
  State* state;
  Plan* plan;
  const hr_tensor* const* inputs;
  hr_tensor* const* outputs;
  void* workspace;
  hr_done done;
  void* argument;
  struct timespec due;
  struct Launch* next;
} Launch;

static struct {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  Launch *first, *last;
  int64_t latency_ns, launches;
  int running;
} stream = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, 0, 0, 0};

static void* run_stream(void* unused) {
  (void)unused;
  pthread_mutex_lock(&stream.lock);
  for (;;) {
    while (!stream.first) pthread_cond_wait(&stream.changed, &stream.lock);
    Launch* launch = stream.first;
    stream.first = launch->next;
    if (!stream.first) stream.last = 0;
    pthread_mutex_unlock(&stream.lock);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &launch->due, 0);
    hr_code code = launch->plan->compute(launch->ctx, launch->state->state, launch->plan->plan,
                                         launch->inputs, launch->outputs, launch->workspace);
    launch->done(launch->argument, code);
    free(launch);
    pthread_mutex_lock(&stream.lock);
    ++stream.launches;
  }
  return 0;
}

void set_latency_ns(int64_t latency_ns) {
  pthread_mutex_lock(&stream.lock);
  stream.latency_ns = latency_ns;
  pthread_mutex_unlock(&stream.lock);
}

int64_t count_launches(void) {
  pthread_mutex_lock(&stream.lock);
  int64_t launches = stream.launches;
  pthread_mutex_unlock(&stream.lock);
  return launches;
}

/* Called by the `create` of each registration, which knows its kernel. */
hr_code create_state(const hr_kernel* kernel, hr_node* node, void** state) {
  State* made = calloc(1, sizeof *made);
  made->kernel = kernel;
  hr_code code = kernel->create ? kernel->create(node, &made->state) : HR_OK;
  if (code != HR_OK) {
    free(made);
    return code;
  }
  *state = made;
  return HR_OK;
}

void destroy_state(void* pointer) {
  State* state = pointer;
  if (state->kernel->destroy) state->kernel->destroy(state->state);
  free(state);
}

static void destroy_plan(void* pointer) {
  Plan* plan = pointer;
  if (plan->destroy) plan->destroy(plan->plan);
  free(plan);
}

hr_code prepare(void* pointer, hr_request* request) {
  State* state = pointer;
  hr_code code = state->kernel->prepare ? state->kernel->prepare(state->state, request) : HR_OK;
  if (code != HR_OK) return code;
  Plan* plan = calloc(1, sizeof *plan);
  plan->compute = request->compute ? request->compute : state->kernel->compute;
  plan->plan = request->plan;
  plan->destroy = request->destroy_plan;
  request->compute = 0;
  request->plan = plan;
  request->destroy_plan = destroy_plan;
  return HR_OK;
}

void compute_async(hr_ctx* ctx, void* state, void* plan, const hr_tensor* const* inputs,
                   hr_tensor* const* outputs, void* workspace, hr_done done, void* argument) {
  Launch* launch = calloc(1, sizeof *launch);
  *launch = (Launch){ctx, state, plan, inputs, outputs, workspace, done, argument, {0, 0}, 0};
  clock_gettime(CLOCK_MONOTONIC, &launch->due);
  pthread_mutex_lock(&stream.lock);
  int64_t ns = launch->due.tv_nsec + stream.latency_ns;
  launch->due.tv_sec += ns / 1000000000;
  launch->due.tv_nsec = ns % 1000000000;
  if (!stream.running) {
    pthread_t thread;
    stream.running = pthread_create(&thread, 0, run_stream, 0) == 0;
    if (stream.running) pthread_detach(thread);
  }
  if (stream.last) stream.last->next = launch;
  else stream.first = launch;
  stream.last = launch;
  pthread_cond_signal(&stream.changed);
  pthread_mutex_unlock(&stream.lock);
}
