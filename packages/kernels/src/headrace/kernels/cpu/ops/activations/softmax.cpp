// Softmax and LogSoftmax over the last dimension.
#include "loops/softmax_rows.hpp"

#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "loops/via_float.hpp"
#include "processor/parallel.hpp"
#include "table/element_types.hpp"

namespace hr {
namespace {

template <class T, bool is_log>
hr_code compute_softmax(hr_ctx* ctx, void*, void*, const hr_tensor* const* inputs,
                        hr_tensor* const* outputs, void*) {
  const int64_t n = inputs[0]->dims[inputs[0]->rank - 1];
  if (n == 0) return HR_OK;
  const T* x = read<T>(inputs[0]);
  T* y = write<T>(outputs[0]);
  parallel_ranges(ctx, hr_elements(inputs[0]) / n, grain_of(8 * n * int64_t(sizeof(T))),
                  [&](int64_t begin, int64_t end) {
                    if (is_log) log_softmax_of_rows(x + begin * n, y + begin * n, end - begin, n);
                    else softmax_of_rows(x + begin * n, y + begin * n, end - begin, n);
                  });
  return HR_OK;
}

template <bool is_log>
hr_code prepare_softmax(void*, hr_request* r) {
  if (r->inputs[0]->rank < 1)
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "logits must have at least 1 dimension: logits is %s",
                           ShapeText(r->inputs[0]).text);
  hr_code code = hr_shape_softmax(r);
  r->compute = r->inputs[0]->dtype == HR_DOUBLE ? compute_softmax<double, is_log>
                                                : compute_softmax<float, is_log>;
  return code;
}

}  // namespace

HR_KERNELS = {
    kernel("Softmax", "T=" HR_FLOATS, widened<prepare_softmax<false>>).reuses(0),
    kernel("LogSoftmax", "T=" HR_FLOATS, widened<prepare_softmax<true>>).reuses(0),
};

}  // namespace hr
