// Registers the kernels of whole lists, in host memory.
#include <cstring>

#include "library/registration.hpp"
#include "library/shapes.hpp"
#include "library/tensor_lists/kernels.hpp"
#include "loops/elements.hpp"
#include "ops/tensor_lists/list_values.hpp"

namespace hr {

void copy_item(hr_ctx* ctx, const TensorList& list, int64_t i, void* to, int64_t bytes) {
  alignas(16) char room[kMostPacked];
  const HeldTensor item = list.held_item(ctx, i, room);
  const hr_tensor& t = item.get();
  const hr_dtype dtype = list.dtype();
  if (t.data) copy_elements(ctx, dtype, hr_dtype_size(dtype), to, t.data, hr_elements(&t));
  else if (is_plain(dtype)) std::memset(to, 0, size_t(bytes));
}

hr_code join_items(hr_ctx* ctx, const TensorList& list, const hr_tensor* indices,
                   const int64_t* rows, hr_tensor* output) {
  if (hr_code code = ctx->api->allocate(ctx, output)) return code;
  const int64_t n = indices ? hr_elements(indices) : list.length();
  const int64_t row = output->dims[0] ? output->bytes / output->dims[0] : 0;
  char* to = static_cast<char*>(output->data);
  for (int64_t i = 0; i < n; ++i) {
    poll_at(ctx, i);
    const int64_t bytes = rows ? rows[i] * row : row;
    copy_item(ctx, list, indices ? int_at(indices, i) : i, to, bytes);
    to += bytes;
  }
  return HR_OK;
}

namespace tensor_lists {

HR_KERNELS = {
    kernel("TensorListStack", nullptr, prepare_stack, compute_stack)
        .is(HR_KERNEL_DATA_SHAPE)
        .with_state(create_list_kernel, destroy_list_kernel),
    kernel("TensorListGather", nullptr, prepare_data_shape, compute_gather)
        .is(HR_KERNEL_DATA_SHAPE)
        .with_state(create_list_kernel, destroy_list_kernel),
    kernel("TensorListFromTensor", nullptr, prepare_list, compute_from_tensor)
        .with_state(create_list_kernel, destroy_list_kernel),
    kernel("TensorListScatter", nullptr, prepare_list, compute_scatter_v1)
        .with_state(create_list_kernel, destroy_list_kernel),
    kernel("TensorListScatterV2", nullptr, prepare_list, compute_scatter)
        .with_state(create_list_kernel, destroy_list_kernel),
    kernel("TensorListScatterIntoExistingList", nullptr, prepare_list, compute_scatter_into)
        .with_state(create_list_kernel, destroy_list_kernel),
    kernel("TensorListConcat", nullptr, prepare_concat, compute_concat)
        .is(HR_KERNEL_DATA_SHAPE)
        .with_state(create_list_kernel, destroy_list_kernel),
    kernel("TensorListConcatV2", nullptr, prepare_data_shape, compute_concat_v2)
        .is(HR_KERNEL_DATA_SHAPE)
        .with_state(create_list_kernel, destroy_list_kernel),
    kernel("TensorListSplit", nullptr, prepare_list, compute_split)
        .with_state(create_list_kernel, destroy_list_kernel),
    kernel("TensorListPushBackBatch", nullptr, prepare_like_first, compute_push_batch)
        .with_state(create_list_kernel, destroy_list_kernel),
    kernel("TensorListConcatLists", nullptr, prepare_like_first, compute_concat_lists)
        .with_state(create_list_kernel, destroy_list_kernel),
};

}  // namespace tensor_lists
}  // namespace hr
