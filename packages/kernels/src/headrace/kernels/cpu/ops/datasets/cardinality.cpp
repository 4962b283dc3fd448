// DatasetCardinality: the number of elements of a dataset, as far as its description tells it.
#include "ops/datasets/dataset.hpp"

namespace hr::data {
namespace {

hr_code compute(hr_ctx* ctx, void*, void*, const hr_tensor* const* inputs,
                hr_tensor* const* outputs, void*) {
  use_api(ctx);
  return error_boundary(
      ctx, [&] { *write<int64_t>(outputs[0]) = dataset_in(inputs[0])->cardinality(); });
}

}  // namespace

HR_KERNELS = {
    kernel("DatasetCardinality", nullptr, prepare_handle, compute),
    kernel("ExperimentalDatasetCardinality", nullptr, prepare_handle, compute),
};

}  // namespace hr::data
