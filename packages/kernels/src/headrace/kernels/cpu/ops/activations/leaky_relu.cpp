// LeakyRelu and its gradient, which multiply negative values by an attribute.
#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "processor/parallel.hpp"
#include "processor/simd.hpp"
#include "table/element_types.hpp"

namespace hr {
namespace {

// out = x > 0 ? value : alpha * value, for LeakyRelu (value = x) and its gradient; NaN counts as
// negative.
template <class T>
HR_CLONES void leak(const T* value, const T* x, T* out, int64_t n, Compute<T> alpha) {
  HR_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) {
    const Compute<T> v = value[i];
    out[i] = T(Compute<T>(x[i]) > Compute<T>(0) ? v : v * alpha);
  }
}

template <class T>
hr_code compute_leak(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* inputs,
                     hr_tensor* const* outputs, void*) {
  const float alpha = *static_cast<const float*>(plan);
  const T *value = read<T>(inputs[0]), *x = read<T>(inputs[1]);
  T* out = write<T>(outputs[0]);
  parallel_ranges(ctx, hr_elements(outputs[0]), grain_of(3 * sizeof(T)),
                  [&](int64_t i, int64_t end) {
                    leak<T>(value + i, x + i, out + i, end - i, Compute<T>(alpha));
                  });
  return HR_OK;
}

template <class T>
hr_code compute_leak_of_itself(hr_ctx* ctx, void* state, void* plan, const hr_tensor* const* inputs,
                               hr_tensor* const* outputs, void* workspace) {
  const hr_tensor* twice[2] = {inputs[0], inputs[0]};
  return compute_leak<T>(ctx, state, plan, twice, outputs, workspace);
}

hr_code prepare_leak(void*, hr_request* r) {
  const bool gradient = r->node->n_inputs == 2;
  if (gradient && !same_shape(r->inputs[0], r->inputs[1]))
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "shapes differ: %s and %s",
                           ShapeText(r->inputs[0]).text, ShapeText(r->inputs[1]).text);
  keep_plan(r, new float(hr_attr_float(r->node, "alpha", 0.2f)));
  r->compute = with_type(r->inputs[0]->dtype, Floats{}, [&](auto type) -> hr_compute {
    using T = typename decltype(type)::type;
    return gradient ? compute_leak<T> : compute_leak_of_itself<T>;
  });
  return hr_shape_unchanged(r);
}

}  // namespace

HR_KERNELS = {
    kernel("LeakyRelu", "T=" HR_FLOATS, prepare_leak).reuses(0),
    kernel("LeakyReluGrad", "T=" HR_FLOATS, prepare_leak).reuses(0, 1),
};

}  // namespace hr
