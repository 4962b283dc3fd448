// Writes and reads one item of a TensorArray, without copying it.
#include "library/registration.hpp"
#include "library/shapes.hpp"
#include "loops/elements.hpp"
#include "ops/tensor_arrays/tensor_array.hpp"

namespace hr {
namespace {

hr_code read_index(hr_ctx* ctx, const hr_tensor* value, int64_t* index) {
  if (value->rank != 0)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "TensorArray index must be scalar, but had shape: %s",
                       (const char*)PartialShapeText(shape_of(value)));
  *index = int_at(value, 0);
  return HR_OK;
}

hr_code compute_write(hr_ctx* ctx, void*, void*, const hr_tensor* const* in, hr_tensor* const* out,
                      void*) {
  int64_t index;
  if (hr_code code = read_index(ctx, in[1], &index)) return code;
  TensorArray* array = TensorArray::of(ctx, in[0]);
  if (!array) return HR_NOT_FOUND;
  if (hr_code code = check_written_dtype(ctx, array, in[2]->dtype)) return code;
  if (hr_code code = array->write(ctx, index, in[2])) return code;
  *write<float>(out[0]) = *read<float>(in[3]);
  return HR_OK;
}

hr_code prepare_write(void*, hr_request* r) {
  set_shape(r->outputs[0], {});
  return HR_OK;
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

hr_code prepare_read(void*, hr_request* r) {
  r->shape_depends_on_data = 1;
  return HR_OK;
}

}  // namespace

HR_KERNELS = {
    kernel("TensorArrayWriteV2", nullptr, prepare_write, compute_write),
    kernel("TensorArrayWriteV3", nullptr, prepare_write, compute_write),
    kernel("TensorArrayReadV2", nullptr, prepare_read, compute_read).is(HR_KERNEL_DATA_SHAPE),
    kernel("TensorArrayReadV3", nullptr, prepare_read, compute_read).is(HR_KERNEL_DATA_SHAPE),
};

}  // namespace hr
