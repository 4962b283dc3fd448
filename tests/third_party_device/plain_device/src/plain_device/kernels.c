/* Add, Mul and MatMul of float32 in memory of the device. */
#include "device.h"

static hr_code prepare_elementwise(void* state, hr_request* request) {
  (void)state;
  const hr_tensor* a = request->inputs[0];
  const hr_tensor* b = request->inputs[1];
  const hr_tensor* large = a->rank >= b->rank ? a : b;
  const hr_tensor* small = a->rank >= b->rank ? b : a;
  for (int32_t i = 1; i <= small->rank; ++i)
    if (small->dims[small->rank - i] != large->dims[large->rank - i])
      return hr_request_fail(request, HR_UNIMPLEMENTED,
                             "the plain device broadcasts only along leading dimensions");
  request->outputs[0]->rank = large->rank;
  for (int32_t i = 0; i < large->rank; ++i) request->outputs[0]->dims[i] = large->dims[i];
  return HR_OK;
}

#define ELEMENTWISE(NAME, OPERATOR)                                                            \
  static hr_code NAME(hr_ctx* ctx, void* state, void* plan, const hr_tensor* const* inputs,    \
                      hr_tensor* const* outputs, void* workspace) {                            \
    (void)ctx, (void)state, (void)plan, (void)workspace;                                       \
    const int64_t n = hr_elements(outputs[0]);                                                 \
    if (!n) return HR_OK;                                                                      \
    const int64_t n_a = hr_elements(inputs[0]), n_b = hr_elements(inputs[1]);                  \
    const float *a = plain_host(inputs[0]->data), *b = plain_host(inputs[1]->data);            \
    float* to = plain_host(outputs[0]->data);                                                  \
    for (int64_t i = 0; i < n; ++i) to[i] = a[i % n_a] OPERATOR b[i % n_b];                    \
    return HR_OK;                                                                              \
  }

ELEMENTWISE(add, +)
ELEMENTWISE(multiply, *)

static hr_code prepare_matmul(void* state, hr_request* request) {
  (void)state;
  const hr_tensor *a = request->inputs[0], *b = request->inputs[1];
  if (hr_attr_bool(request->node, "transpose_a", 0) ||
      hr_attr_bool(request->node, "transpose_b", 0))
    return hr_request_fail(request, HR_UNIMPLEMENTED, "the plain device transposes nothing");
  if (a->rank != 2 || b->rank != 2 || a->dims[1] != b->dims[0])
    return hr_request_fail(request, HR_INVALID_ARGUMENT,
                           "these are no two matrices of one inner size");
  request->outputs[0]->rank = 2;
  request->outputs[0]->dims[0] = a->dims[0];
  request->outputs[0]->dims[1] = b->dims[1];
  return HR_OK;
}

static hr_code matmul(hr_ctx* ctx, void* state, void* plan, const hr_tensor* const* inputs,
                      hr_tensor* const* outputs, void* workspace) {
  (void)ctx, (void)state, (void)plan, (void)workspace;
  const int64_t rows = inputs[0]->dims[0], inner = inputs[0]->dims[1], columns = inputs[1]->dims[1];
  const float *a = plain_host(inputs[0]->data), *b = plain_host(inputs[1]->data);
  float* to = plain_host(outputs[0]->data);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      float sum = 0;
      for (int64_t k = 0; k < inner; ++k) sum += a[i * inner + k] * b[k * columns + j];
      to[i * columns + j] = sum;
    }
  return HR_OK;
}

#define KERNEL(OP, PREPARE, COMPUTE) \
  {.op = OP, .device_type = "NPU", .constraint = "T=float", .prepare = PREPARE, .compute = COMPUTE}

const hr_kernel plain_kernels[] = {
    KERNEL("Add", prepare_elementwise, add),
    KERNEL("AddV2", prepare_elementwise, add),
    KERNEL("Mul", prepare_elementwise, multiply),
    KERNEL("MatMul", prepare_matmul, matmul),
};
const int32_t plain_n_kernels = sizeof plain_kernels / sizeof plain_kernels[0];
