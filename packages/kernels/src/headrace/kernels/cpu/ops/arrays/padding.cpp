// Pads tensors: Pad, PadV2, MirrorPad and its gradient.
#include <cstring>
#include <vector>

#include "library/mirror_padding.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "loops/elements.hpp"
#include "loops/strided_copy.hpp"
#include "math/arithmetic.hpp"
#include "processor/parallel.hpp"

namespace hr {
namespace {

struct PadPlan {
  StridedCopy interior;
  bool covers;  // no margin at all
};

hr_code compute_pad(hr_ctx* ctx, void*, void* plan_, const hr_tensor* const* in,
                    hr_tensor* const* out, void*) {
  const auto* plan = static_cast<const PadPlan*>(plan_);
  const hr_dtype dtype = out[0]->dtype;
  static const Bytes16 zero = {0, 0};
  if (!plan->covers && is_plain(dtype))
    fill_elements(ctx, dtype, out[0]->data, &zero, hr_elements(out[0]));
  plan->interior.run(ctx, out[0]->data, in[0]->data);
  return HR_OK;
}

hr_code compute_pad_v2(hr_ctx* ctx, void*, void* plan_, const hr_tensor* const* in,
                       hr_tensor* const* out, void*) {
  const auto* plan = static_cast<const PadPlan*>(plan_);
  if (!plan->covers)
    fill_elements(ctx, out[0]->dtype, out[0]->data, in[2]->data, hr_elements(out[0]));
  plan->interior.run(ctx, out[0]->data, in[0]->data);
  return HR_OK;
}

hr_code prepare_pad(void*, hr_request* r) {
  HR_APPLY_RULE(pad, r);
  const hr_tensor *x = r->inputs[0], *p = r->inputs[1];
  int64_t to[HR_MAX_RANK], from[HR_MAX_RANK], offset = 0;
  row_major(x->rank, r->outputs[0]->dims, to);
  row_major(x->rank, x->dims, from);
  for (int32_t d = 0; d < x->rank; ++d) offset += to[d] * int_at(p, 2 * d);
  auto* plan = keep_plan(
      r, new PadPlan{StridedCopy(x->dtype, x->rank, x->dims, to, from, offset, 0), false});
  plan->covers = hr_elements(x) == hr_elements(r->outputs[0]);
  r->compute = r->node->n_inputs == 3 ? compute_pad_v2 : compute_pad;
  r->bytes_moved = double(hr_elements(x) + hr_elements(r->outputs[0])) * hr_dtype_size(x->dtype);
  return HR_OK;
}

// Where each position of the padded tensor comes from, dimension by dimension.
struct MirrorPlan {
  int32_t rank;
  int64_t dims[HR_MAX_RANK];     // padded
  int64_t strides[HR_MAX_RANK];  // of the inner tensor
  std::vector<int64_t> source[HR_MAX_RANK];
  int64_t inner_elements;
};

template <class F> void each_mirrored(const MirrorPlan& plan, F&& f) {
  int64_t at[HR_MAX_RANK] = {};
  const int64_t n = product(plan.dims, 0, plan.rank);
  for (int64_t i = 0; i < n; ++i) {
    int64_t from = 0;
    for (int32_t d = 0; d < plan.rank; ++d) from += plan.source[d][size_t(at[d])] * plan.strides[d];
    f(i, from);
    for (int32_t d = plan.rank - 1; d >= 0 && ++at[d] == plan.dims[d]; --d) at[d] = 0;
  }
}

hr_code compute_mirror(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                       hr_tensor* const* out, void*) {
  const int64_t size = hr_dtype_size(in[0]->dtype);
  const char* from = read<char>(in[0]);
  char* to = write<char>(out[0]);
  each_mirrored(*static_cast<const MirrorPlan*>(plan), [&](int64_t t, int64_t f) {
    poll_at(ctx, t);
    copy_elements(ctx, in[0]->dtype, size, to + t * size, from + f * size, 1);
  });
  return HR_OK;
}

template <class T>
hr_code compute_mirror_grad(hr_ctx* ctx, void*, void* plan_, const hr_tensor* const* in,
                            hr_tensor* const* out, void*) {
  const auto& plan = *static_cast<const MirrorPlan*>(plan_);
  T* to = write<T>(out[0]);
  std::fill(to, to + plan.inner_elements, T(0));
  each_mirrored(plan, [&](int64_t t, int64_t f) {
    poll_at(ctx, t);
    to[f] = T(plus(Compute<T>(to[f]), Compute<T>(read<T>(in[0])[t])));
  });
  return HR_OK;
}

template <bool gradient> hr_code prepare_mirror(void*, hr_request* r) {
  if constexpr (gradient) HR_APPLY_RULE(pad_grad, r);
  else HR_APPLY_RULE(pad, r);
  const hr_tensor *x = r->inputs[0], *p = r->inputs[1];
  const hr_tensor *inner = gradient ? r->outputs[0] : x, *padded = gradient ? x : r->outputs[0];
  if (hr_code code = check_mirrored(r, inner)) return code;
  const int64_t skip = mirror_skip(r->node);
  auto* plan = keep_plan(r, new MirrorPlan);
  plan->rank = x->rank;
  for (int32_t d = 0; d < x->rank; ++d) {
    const int64_t before = int_at(p, 2 * d), after = int_at(p, 2 * d + 1);
    const int64_t size = inner->dims[d];
    plan->dims[d] = padded->dims[d];
    for (int64_t i = -before; i < size + after; ++i)
      plan->source[d].push_back(i < 0 ? -i - 1 + skip : i >= size ? 2 * size - 1 - skip - i : i);
  }
  plan->inner_elements = row_major(x->rank, inner->dims, plan->strides);
  if (!gradient) {
    r->compute = compute_mirror;
    return HR_OK;
  }
  r->compute = with_type(x->dtype, Numbers{}, [](auto t) -> hr_compute {
    return compute_mirror_grad<typename decltype(t)::type>;
  });
  return r->compute ? HR_OK : hr_request_fail(r, HR_UNIMPLEMENTED, "no kernel for this dtype");
}

}  // namespace

HR_KERNELS = {
    kernel("Pad", nullptr, prepare_pad).constant(1),
    kernel("PadV2", nullptr, prepare_pad).constant(1),
    kernel("MirrorPad", nullptr, prepare_mirror<false>).constant(1),
    kernel("MirrorPadGrad", "T=" HR_NUMBERS, prepare_mirror<true>).constant(1),
};

}  // namespace hr
