/* The kernel of OuterSine, for float and double, in a table behind a capsule. */
#include <Python.h>

#include <math.h>
#include <stdlib.h>

#include "headrace/kernel.h"

typedef struct {
  double frequency;
} State;

static hr_code create(hr_node* node, void** state) {
  State* made = malloc(sizeof(State));
  if (!made) return HR_RESOURCE_EXHAUSTED;
  made->frequency = hr_attr_float(node, "frequency", 1.0f);
  *state = made;
  return HR_OK;
}

static void destroy(void* state) { free(state); }

static hr_code prepare(void* state, hr_request* request) {
  (void)state;
  for (int i = 0; i < 2; ++i) {
    if (request->inputs[i]->rank != 1)
      return hr_request_fail(request, HR_INVALID_ARGUMENT, "%c must be a vector, but has rank %d",
                             "xy"[i], (int)request->inputs[i]->rank);
    request->outputs[0]->dims[i] = request->inputs[i]->dims[0];
  }
  request->outputs[0]->rank = 2;
  request->flops = 20.0 * (double)(request->inputs[0]->dims[0] * request->inputs[1]->dims[0]);
  return HR_OK;
}

#define LOOP(NAME, TYPE)                                                                       \
  typedef struct {                                                                             \
    const TYPE *x, *y;                                                                         \
    TYPE* z;                                                                                   \
    int64_t columns;                                                                           \
    double frequency;                                                                          \
  } NAME##_work;                                                                               \
  static void NAME##_rows(void* argument, int64_t begin, int64_t end) {                        \
    const NAME##_work* work = argument;                                                        \
    for (int64_t i = begin; i < end; ++i) {                                                    \
      const TYPE s = (TYPE)sin(work->frequency * (double)work->x[i]);                          \
      for (int64_t j = 0; j < work->columns; ++j) work->z[i * work->columns + j] = s * work->y[j]; \
    }                                                                                          \
  }                                                                                            \
  static hr_code NAME(hr_ctx* ctx, void* state, void* plan, const hr_tensor* const* inputs,    \
                      hr_tensor* const* outputs, void* workspace) {                            \
    NAME##_work work = {inputs[0]->data, inputs[1]->data, outputs[0]->data,                    \
                        inputs[1]->dims[0], ((State*)state)->frequency};                       \
    (void)plan, (void)workspace;                                                               \
    ctx->api->parallel_for(ctx, inputs[0]->dims[0], 64, NAME##_rows, &work);                   \
    return HR_OK;                                                                              \
  }

LOOP(outer_sine_float, float)
LOOP(outer_sine_double, double)

static const hr_kernel kernels[] = {
    {.op = "OuterSine",
     .device_type = "CPU",
     .constraint = "T=float",
     .create = create,
     .prepare = prepare,
     .compute = outer_sine_float,
     .destroy = destroy},
    {.op = "OuterSine",
     .device_type = "CPU",
     .constraint = "T=double",
     .create = create,
     .prepare = prepare,
     .compute = outer_sine_double,
     .destroy = destroy},
};

static const hr_kernel_table table = {sizeof(hr_kernel_table),
                                      HR_KERNEL_ABI,
                                      "outer_sine",
                                      "0.3.0",
                                      sizeof(hr_kernel),
                                      sizeof(kernels) / sizeof(kernels[0]),
                                      kernels};

static PyObject* capsule(PyObject* self, PyObject* none) {
  (void)self, (void)none;
  return PyCapsule_New((void*)&table, HR_KERNEL_TABLE_CAPSULE, NULL);
}

static PyMethodDef methods[] = {
    {"capsule", capsule, METH_NOARGS, "The kernel table, for the runtime."}, {NULL, NULL, 0, NULL}};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "kernels", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_kernels(void) { return PyModule_Create(&module); }
