// Ops that return their input's memory under another shape, and ops that return shapes.
#include <algorithm>
#include <vector>

#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "loops/elements.hpp"
#include "processor/parallel.hpp"

namespace hr {
namespace {

template <hr_code (*rule)(hr_request*)> hr_code view(void*, hr_request* request) {
  return rule(request);
}

// ---- copies that are not views -----------------------------------------------------------

hr_code copy_each(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in, hr_tensor* const* out,
                  void*) {
  const auto n = reinterpret_cast<intptr_t>(plan);
  for (intptr_t i = 0; i < n; ++i)
    if (in[i]->data != out[i]->data)
      copy_elements(ctx, in[i]->dtype, hr_dtype_size(in[i]->dtype), out[i]->data, in[i]->data,
                    hr_elements(in[i]));
  return HR_OK;
}

hr_code prepare_copies(void*, hr_request* r) {
  HR_APPLY_RULE(each_unchanged, r);
  r->plan = reinterpret_cast<void*>(intptr_t(r->node->n_inputs));
  return HR_OK;
}

// ---- shapes as values ------------------------------------------------------------------------

void put(hr_tensor* out, int64_t i, int64_t value) {
  if (out->dtype == HR_INT32) write<int32_t>(out)[i] = int32_t(value);
  else write<int64_t>(out)[i] = value;
}

hr_code compute_shape(hr_ctx* ctx, void*, void*, const hr_tensor* const* in, hr_tensor* const* out,
                      void*) {
  for (int32_t d = 0; d < in[0]->rank; ++d) {
    if (out[0]->dtype == HR_INT32 && in[0]->dims[d] > INT32_MAX)
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                         "dimension %d is %lld, too large for int32: set out_type to int64", d,
                         (long long)in[0]->dims[d]);
    put(out[0], d, in[0]->dims[d]);
  }
  return HR_OK;
}

hr_code compute_shapes(hr_ctx*, void*, void* plan, const hr_tensor* const* in,
                       hr_tensor* const* out, void*) {
  const auto n = reinterpret_cast<intptr_t>(plan);
  for (intptr_t i = 0; i < n; ++i)
    for (int32_t d = 0; d < in[i]->rank; ++d) put(out[i], d, in[i]->dims[d]);
  return HR_OK;
}

hr_code compute_size(hr_ctx*, void*, void*, const hr_tensor* const* in, hr_tensor* const* out,
                     void*) {
  put(out[0], 0, hr_elements(in[0]));
  return HR_OK;
}

hr_code compute_rank(hr_ctx*, void*, void*, const hr_tensor* const* in, hr_tensor* const* out,
                     void*) {
  put(out[0], 0, in[0]->rank);
  return HR_OK;
}

hr_code prepare_shapes(void*, hr_request* r) {
  r->plan = reinterpret_cast<void*>(intptr_t(r->node->n_inputs));
  return hr_shape_shape_n(r);
}

// Sizes aligned at the end; 1 where a shape has no such dimension.
int64_t from_end(const hr_tensor* shape, int64_t i) {
  const int64_t n = hr_elements(shape);
  return i < n ? int_at(shape, n - 1 - i) : 1;
}

hr_code compute_broadcast_args(hr_ctx* ctx, void*, void*, const hr_tensor* const* in,
                               hr_tensor* const* out, void*) {
  const int64_t rank = hr_elements(out[0]);
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t a = from_end(in[0], i), b = from_end(in[1], i);
    if (a != b && a != 1 && b != 1)
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                         "shapes do not broadcast: sizes %lld and %lld, %lld from the end",
                         (long long)a, (long long)b, (long long)i);
    put(out[0], rank - 1 - i, a == 1 ? b : a);
  }
  return HR_OK;
}

// For each operand the dimensions along which its gradient must be summed.
struct GradientAxes {
  std::vector<int64_t> of[2];
};

hr_code compute_gradient_axes(hr_ctx*, void*, void* plan, const hr_tensor* const*,
                              hr_tensor* const* out, void*) {
  const auto& axes = *static_cast<const GradientAxes*>(plan);
  for (int k = 0; k < 2; ++k)
    for (size_t j = 0; j < axes.of[k].size(); ++j) put(out[k], int64_t(j), axes.of[k][j]);
  return HR_OK;
}

hr_code prepare_gradient_axes(void*, hr_request* r) {
  const hr_tensor *x = r->inputs[0], *y = r->inputs[1];
  const int64_t rank = std::max(hr_elements(x), hr_elements(y));
  bool same = hr_elements(x) == hr_elements(y);
  for (int64_t i = 0; same && i < rank; ++i) same = from_end(x, i) == from_end(y, i);
  auto* axes = keep_plan(r, new GradientAxes);
  for (int64_t d = 0; d < rank && !same; ++d) {
    const int64_t i = rank - 1 - d, a = from_end(x, i), b = from_end(y, i);
    if (a != b && a != 1 && b != 1)
      return hr_request_fail(r, HR_INVALID_ARGUMENT,
                             "shapes do not broadcast: sizes %lld and %lld in dimension %lld",
                             (long long)a, (long long)b, (long long)d);
    // A dimension of 1 in both is reduced too: that changes nothing, and the caller's reshape
    // expects it so.
    if (a == 1) axes->of[0].push_back(d);
    if (b == 1) axes->of[1].push_back(d);
  }
  for (int k = 0; k < 2; ++k) set_shape(r->outputs[k], {int64_t(axes->of[k].size())});
  return HR_OK;
}

hr_code prepare_broadcast_args(void*, hr_request* r) {
  HR_APPLY_RULE(broadcast_args, r);
  return HR_OK;
}

hr_code compute_concat_offset(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                              hr_tensor* const* out, void*) {
  const auto n = reinterpret_cast<intptr_t>(plan);
  const int64_t rank = hr_elements(in[1]);
  const int64_t axis = axis_of(int_at(in[0], 0), rank);
  if (axis < 0)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "concat_dim is %lld, out of range for rank %lld",
                       (long long)int_at(in[0], 0), (long long)rank);
  int64_t at = 0;
  for (intptr_t i = 0; i < n; ++i) {
    if (hr_elements(in[1 + i]) != rank)
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                         "input %d should contain %lld elements, but got %lld", int(i),
                         (long long)rank, (long long)hr_elements(in[1 + i]));
    for (int64_t d = 0; d < rank; ++d) {
      if (d != axis && int_at(in[1 + i], d) != int_at(in[1], d))
        return hr_ctx_fail(
            ctx, HR_INVALID_ARGUMENT, "shapes 0 and %d differ in dimension %lld: %lld and %lld",
            int(i), (long long)d, (long long)int_at(in[1], d), (long long)int_at(in[1 + i], d));
      put(out[i], d, d == axis ? at : 0);
    }
    at += int_at(in[1 + i], axis);
  }
  return HR_OK;
}

hr_code prepare_concat_offset(void*, hr_request* r) {
  r->plan = reinterpret_cast<void*>(intptr_t(r->node->n_inputs - 1));
  return hr_shape_concat_offset(r);
}

template <hr_code (*rule)(hr_request*)> hr_code by_rule(void*, hr_request* request) {
  return rule(request);
}

constexpr KernelRegistration view_of(const char* op, Prepare prepare) {
  return kernel(op, nullptr, prepare).is(HR_KERNEL_VIEW).reuses(0);
}

}  // namespace

HR_KERNELS = {
    view_of("Identity", view<hr_shape_unchanged>),
    view_of("StopGradient", view<hr_shape_unchanged>),
    view_of("PreventGradient", view<hr_shape_unchanged>),
    view_of("GuaranteeConst", view<hr_shape_unchanged>),
    view_of("Snapshot", view<hr_shape_unchanged>),
    view_of("DebugGradientIdentity", view<hr_shape_unchanged>),
    view_of("PlaceholderWithDefault", view<hr_shape_placeholder_with_default>),
    view_of("EnsureShape", view<hr_shape_ensure_shape>),
    view_of("Reshape", view<hr_shape_reshape>).constant(1),
    view_of("ExpandDims", view<hr_shape_expand_dims>).constant(1),
    view_of("Squeeze", view<hr_shape_squeeze>),
    kernel("DeepCopy", nullptr, prepare_copies, copy_each),
    kernel("IdentityN", nullptr, prepare_copies, copy_each),
    kernel("Shape", nullptr, by_rule<hr_shape_shape>, compute_shape),
    kernel("ShapeN", nullptr, prepare_shapes, compute_shapes),
    kernel("Size", nullptr, by_rule<hr_shape_scalar>, compute_size),
    kernel("Rank", nullptr, by_rule<hr_shape_scalar>, compute_rank),
    kernel("BroadcastArgs", nullptr, prepare_broadcast_args, compute_broadcast_args),
    kernel("BroadcastGradientArgs", nullptr, prepare_gradient_axes, compute_gradient_axes)
        .constant(0, 1),
    kernel("ConcatOffset", nullptr, prepare_concat_offset, compute_concat_offset),
};

}  // namespace hr
