// CheckNumerics: returns its input, or fails if it contains NaN or infinity.
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "library/attributes.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "table/element_types.hpp"

namespace hr {
namespace {

template <class T>
hr_code compute_check(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                      hr_tensor* const* out, void*) {
  const T* x = read<T>(in[0]);
  const int64_t n = hr_elements(in[0]);
  int32_t bad = 0;
  for (int64_t i = 0; i < n; ++i) {
    const Compute<T> v = x[i];
    bad |= v != v ? 1 : std::fabs(v) > std::numeric_limits<Compute<T>>::max() ? 2 : 0;
  }
  if (bad)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "%s : Tensor had %s values",
                       static_cast<const std::string*>(plan)->c_str(),
                       bad == 3   ? "Inf and NaN"
                       : bad == 2 ? "Inf"
                                  : "NaN");
  if (out[0]->data != x) std::memcpy(out[0]->data, x, size_t(n) * sizeof(T));
  return HR_OK;
}

hr_code prepare_check(void*, hr_request* r) {
  if (hr_code code = hr_shape_unchanged(r)) return code;
  keep_plan(r, new std::string(attr_text(r->node, "message")));
  r->compute = with_type(r->inputs[0]->dtype, Floats{}, [](auto t) -> hr_compute {
    return compute_check<typename decltype(t)::type>;
  });
  return HR_OK;
}

}  // namespace

HR_KERNELS = {
    kernel("CheckNumerics", "T=" HR_FLOATS, prepare_check).reuses(0),
    kernel("CheckNumericsV2", "T=" HR_FLOATS, prepare_check).reuses(0),
};

}  // namespace hr
