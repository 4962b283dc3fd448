// BoostedTreesBucketize: the first boundary that is not less than a value.
#include <algorithm>

#include "library/registration.hpp"
#include "library/shapes.hpp"

namespace hr {
namespace {

hr_code compute(hr_ctx*, void* state, void*, const hr_tensor* const* in, hr_tensor* const* out,
                void*) {
  const auto* node = static_cast<const hr_node*>(state);
  const auto n = int32_t(hr_attr_int(node, "num_features", 0));
  for (int32_t k = 0; k < n; ++k) {
    const float *values = read<float>(in[k]), *begin = read<float>(in[n + k]);
    const int64_t last = std::max<int64_t>(0, in[n + k]->dims[0] - 1);
    for (int64_t i = 0; i < in[k]->dims[0]; ++i) {
      const auto at = std::lower_bound(begin, begin + in[n + k]->dims[0], values[i]) - begin;
      write<int32_t>(out[k])[i] = int32_t(std::min<int64_t>(at, last));
    }
  }
  return HR_OK;
}

hr_code prepare(void*, hr_request* r) {
  const auto n = int32_t(hr_attr_int(r->node, "num_features", 0));
  for (int32_t k = 0; k < 2 * n; ++k)
    if (r->inputs[k]->rank != 1)
      return hr_request_fail(r, HR_INVALID_ARGUMENT,
                             "values and boundaries must be vectors, input %d has shape %s", k,
                             (const char*)ShapeText(r->inputs[k]));
  for (int32_t k = 0; k < n; ++k) set_shape(r->outputs[k], {r->inputs[k]->dims[0]});
  return HR_OK;
}

hr_code create(hr_node* node, void** state) {
  *state = node;
  return HR_OK;
}

}  // namespace

HR_KERNELS = {
    kernel("BoostedTreesBucketize", nullptr, prepare, compute).with_state(create, [](void*) {}),
};

}  // namespace hr
