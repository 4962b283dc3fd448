// Writes and reads one item of a TensorArray, without copying it.
#include "library/shapes.hpp"
#include "library/tensor_arrays/kernels.hpp"
#include "library/tensor_arrays/tensor_array.hpp"

namespace hr::tensor_arrays {
namespace {

hr_code read_index(hr_ctx* ctx, const hr_tensor* value, int64_t* index) {
  if (value->rank != 0)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "TensorArray index must be scalar, but had shape: %s",
                       (const char*)PartialShapeText(shape_of(value)));
  *index = int_at(value, 0);
  return HR_OK;
}

}  // namespace

hr_code compute_write(hr_ctx* ctx, void*, void*, const hr_tensor* const* in, hr_tensor* const* out,
                      void*) {
  int64_t index;
  if (hr_code code = read_index(ctx, in[1], &index)) return code;
  TensorArray* array = TensorArray::of(ctx, in[0]);
  if (!array) return HR_NOT_FOUND;
  if (hr_code code = check_written_dtype(ctx, array, in[2]->dtype)) return code;
  if (hr_code code = array->write(ctx, index, in[2])) return code;
  return pass_flow(ctx, in[3], out[0]);
}

hr_code compute_read(hr_ctx* ctx, void*, void*, const hr_tensor* const* in, hr_tensor* const* out,
                     void*) {
  int64_t index;
  if (hr_code code = read_index(ctx, in[1], &index)) return code;
  TensorArray* array = TensorArray::of(ctx, in[0]);
  if (!array) return HR_NOT_FOUND;
  if (hr_code code = check_read_dtype(ctx, array, out[0]->dtype)) return code;
  HeldTensor value;
  if (hr_code code = array->read(ctx, index, &value)) return code;
  return ctx->api->forward(ctx, &value.get(), out[0]);
}

}  // namespace hr::tensor_arrays
