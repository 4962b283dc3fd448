// Creates tensors: Fill, ZerosLike, Range, LinSpace, OneHot, Diag, ...
#include <cstring>

#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "library/tensor_lists/tensor_list.hpp"
#include "library/text.hpp"
#include "loops/elements.hpp"
#include "math/arithmetic.hpp"
#include "processor/parallel.hpp"
#include "processor/polled_stretch.hpp"

namespace hr {
namespace {

hr_code compute_fill(hr_ctx* ctx, void*, void*, const hr_tensor* const* in, hr_tensor* const* out,
                     void*) {
  fill_elements(ctx, out[0]->dtype, out[0]->data, in[1]->data, hr_elements(out[0]));
  return HR_OK;
}

hr_code prepare_fill(void*, hr_request* r) {
  if (hr_elements(r->inputs[1]) != 1)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "value must be a scalar, is %s",
                           (const char*)ShapeText(r->inputs[1]));
  return hr_shape_shape_from_input_0(r);
}

// Fresh strings, resources and variants are empty already.
hr_code compute_zeros(hr_ctx* ctx, void*, void*, const hr_tensor* const*, hr_tensor* const* out,
                      void*) {
  static const Bytes16 zero = {0, 0};
  if (is_plain(out[0]->dtype))
    fill_elements(ctx, out[0]->dtype, out[0]->data, &zero, hr_elements(out[0]));
  return HR_OK;
}

template <class T>
hr_code compute_ones(hr_ctx* ctx, void*, void*, const hr_tensor* const*, hr_tensor* const* out,
                     void*) {
  const T one = T(Compute<T>(1));
  fill_elements(ctx, out[0]->dtype, out[0]->data, &one, hr_elements(out[0]));
  return HR_OK;
}

// A list of zeros has as many items, of the same shapes.
hr_code compute_zeros_like_lists(hr_ctx* ctx, void*, void*, const hr_tensor* const* in,
                                 hr_tensor* const* out, void*) {
  return zeros_like_lists(ctx, in[0], out[0]);
}

hr_code prepare_zeros(void*, hr_request* r) {
  if (r->outputs[0]->dtype == HR_VARIANT) r->compute = compute_zeros_like_lists;
  return hr_shape_unchanged(r);
}

hr_code prepare_ones(void*, hr_request* r) {
  r->compute = with_type(r->outputs[0]->dtype, NumbersAndBool{}, [](auto t) -> hr_compute {
    return compute_ones<typename decltype(t)::type>;
  });
  return hr_shape_unchanged(r);
}

hr_code compute_nothing(hr_ctx*, void*, void*, const hr_tensor* const*, hr_tensor* const*, void*) {
  return HR_OK;
}

hr_code prepare_empty(void*, hr_request* r) {
  r->compute = hr_attr_bool(r->node, "init", 0) ? compute_zeros : compute_nothing;
  return hr_shape_shape_from_input_0(r);
}

// ---- Range and LinSpace ----------------------------------------------------------------------

template <class T>
hr_code compute_range(hr_ctx* ctx, void*, void*, const hr_tensor* const* in, hr_tensor* const* out,
                      void*) {
  using C = Compute<T>;
  const C start = *read<T>(in[0]), delta = *read<T>(in[2]);
  const int64_t n = out[0]->dims[0];
  T* to = write<T>(out[0]);
  in_polled_pieces(ctx, 0, n, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] = T(C(start + C(i) * delta));
  });
  return HR_OK;
}

template <class T> hr_code prepare_range_of(hr_request* r) {
  r->compute = compute_range<T>;
  if constexpr (!is_small_float<T>) {
    HR_APPLY_RULE(range, r);
    return HR_OK;
  } else {
    // The rule reads no values of 16-bit types: their range is counted in float.
    float values[3];
    hr_tensor wide[3];
    const hr_tensor* inputs[3] = {&wide[0], &wide[1], &wide[2]};
    for (int i = 0; i < 3; ++i) {
      wide[i] = *r->inputs[i];
      values[i] = hr_elements(&wide[i]) ? float(*read<T>(&wide[i])) : 0.0f;
      wide[i].dtype = HR_FLOAT;
      wide[i].data = &values[i];
    }
    hr_request as_float = *r;
    as_float.inputs = inputs;
    HR_APPLY_RULE(range, &as_float);
    return HR_OK;
  }
}

hr_code prepare_range(void*, hr_request* r) {
  using Prepared = hr_code (*)(hr_request*);
  const Prepared prepared = with_type(r->inputs[0]->dtype, Reals{}, [](auto t) -> Prepared {
    return prepare_range_of<typename decltype(t)::type>;
  });
  return prepared ? prepared(r) : hr_request_fail(r, HR_UNIMPLEMENTED, "no kernel for this dtype");
}

template <class T>
hr_code compute_linspace(hr_ctx* ctx, void*, void*, const hr_tensor* const* in,
                         hr_tensor* const* out, void*) {
  using C = Compute<T>;
  const C start = *read<T>(in[0]), stop = *read<T>(in[1]);
  const int64_t n = out[0]->dims[0];
  T* to = write<T>(out[0]);
  const C step = n > 1 ? (stop - start) / C(n - 1) : C(0);
  in_polled_pieces(ctx, 0, n, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] = T(start + step * C(i));
  });
  if (n > 1) to[n - 1] = T(stop);  // exactly, whatever the rounding
  return HR_OK;
}

hr_code prepare_linspace(void*, hr_request* r) {
  if (hr_code code = need_scalar(r, 0, "start")) return code;
  if (hr_code code = need_scalar(r, 1, "stop")) return code;
  HR_APPLY_RULE(linspace, r);
  r->compute = with_type(r->inputs[0]->dtype, Floats{}, [](auto t) -> hr_compute {
    return compute_linspace<typename decltype(t)::type>;
  });
  return HR_OK;
}

// ---- OneHot ------------------------------------------------------------------------------------

struct OneHotPlan {
  int64_t depth, inner;
};

hr_code compute_one_hot(hr_ctx* ctx, void*, void* plan_, const hr_tensor* const* in,
                        hr_tensor* const* out, void*) {
  const auto& plan = *static_cast<const OneHotPlan*>(plan_);
  const int64_t n = hr_elements(in[0]), size = hr_dtype_size(out[0]->dtype);
  fill_elements(ctx, out[0]->dtype, out[0]->data, in[3]->data, hr_elements(out[0]));
  char* to = write<char>(out[0]);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t hot = int_at(in[0], i);
    if (hot < 0 || hot >= plan.depth) continue;
    const int64_t outer = i / plan.inner, inner = i % plan.inner;
    copy_elements(ctx, out[0]->dtype, size,
                  to + ((outer * plan.depth + hot) * plan.inner + inner) * size, in[2]->data, 1);
  }
  return HR_OK;
}

hr_code prepare_one_hot(void*, hr_request* r) {
  const hr_tensor* x = r->inputs[0];
  const int64_t depth = int_at(r->inputs[1], 0);
  if (depth < 0)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "depth must not be negative, is %lld",
                           (long long)depth);
  const int64_t attribute = hr_attr_int(r->node, "axis", -1);
  const int64_t axis = axis_of(attribute, x->rank + 1);
  if (x->rank == HR_MAX_RANK)
    return hr_request_fail(r, HR_UNIMPLEMENTED, "output would have %d dimensions, above %d",
                           int(x->rank) + 1, HR_MAX_RANK);
  if (axis < 0)
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "axis %lld is out of range for indices of rank %d", (long long)attribute,
                           int(x->rank));
  hr_tensor* y = r->outputs[0];
  y->rank = x->rank + 1;
  for (int32_t d = 0, s = 0; d < y->rank; ++d) y->dims[d] = d == axis ? depth : x->dims[s++];
  keep_plan(r,
            new OneHotPlan{depth, std::max<int64_t>(1, product(x->dims, int32_t(axis), x->rank))});
  r->compute = compute_one_hot;
  return HR_OK;
}

// ---- diagonals ----------------------------------------------------------------------------------

hr_code compute_diag(hr_ctx* ctx, void*, void*, const hr_tensor* const* in, hr_tensor* const* out,
                     void*) {
  const int64_t n = hr_elements(in[0]), size = hr_dtype_size(in[0]->dtype);
  compute_zeros(ctx, nullptr, nullptr, in, out, nullptr);
  for (int64_t i = 0; i < n; ++i)
    std::memcpy(write<char>(out[0]) + i * (n + 1) * size, read<char>(in[0]) + i * size,
                size_t(size));
  return HR_OK;
}

hr_code prepare_diag(void*, hr_request* r) {
  const hr_tensor* x = r->inputs[0];
  if (x->rank < 1 || 2 * x->rank > HR_MAX_RANK)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "diagonal must have rank 1 to %d, has %d",
                           HR_MAX_RANK / 2, int(x->rank));
  r->outputs[0]->rank = 2 * x->rank;
  for (int32_t d = 0; d < x->rank; ++d)
    r->outputs[0]->dims[d] = r->outputs[0]->dims[d + x->rank] = x->dims[d];
  return HR_OK;
}

hr_code compute_diag_part(hr_ctx*, void*, void*, const hr_tensor* const* in, hr_tensor* const* out,
                          void*) {
  const int64_t n = hr_elements(out[0]), size = hr_dtype_size(in[0]->dtype);
  for (int64_t i = 0; i < n; ++i)
    std::memcpy(write<char>(out[0]) + i * size, read<char>(in[0]) + i * (n + 1) * size,
                size_t(size));
  return HR_OK;
}

hr_code prepare_diag_part(void*, hr_request* r) {
  HR_APPLY_RULE(diag_part, r);
  return HR_OK;
}

}  // namespace

HR_KERNELS = {
    kernel("Fill", nullptr, prepare_fill, compute_fill).constant(0),
    kernel("ZerosLike", nullptr, prepare_zeros, compute_zeros).reuses(0),
    kernel("OnesLike", "T=" HR_NUMBERS "|bool", prepare_ones).reuses(0),
    kernel("Empty", nullptr, prepare_empty).constant(0),
    kernel("Range", "Tidx=" HR_REALS, prepare_range).constant(0, 1, 2),
    kernel("LinSpace", "T=" HR_FLOATS, prepare_linspace).constant(2),
    kernel("OneHot", nullptr, prepare_one_hot).constant(1),
    kernel("Diag", nullptr, prepare_diag, compute_diag),
    kernel("DiagPart", nullptr, prepare_diag_part, compute_diag_part),
};

}  // namespace hr
