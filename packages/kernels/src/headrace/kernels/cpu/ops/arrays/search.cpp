// Ops that return indices: Where, InvertPermutation, UnravelIndex, LowerBound, UpperBound.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "processor/parallel.hpp"
#include "table/element_types.hpp"
#include "table/indices.hpp"

namespace hr {
namespace {

// ---- Where
// ----------------------------------------------------------------------------------------

template <class T>
hr_code compute_where(hr_ctx* ctx, void*, void*, const hr_tensor* const* in, hr_tensor* const* out,
                      void*) {
  const T* x = read<T>(in[0]);
  const int64_t n = hr_elements(in[0]);
  const int32_t rank = in[0]->rank;
  int64_t found = 0;
  for (int64_t i = 0; i < n; ++i) {
    poll_at(ctx, i);
    found += Compute<T>(x[i]) != Compute<T>(0);
  }
  set_shape(out[0], {found, rank});
  if (hr_code code = ctx->api->allocate(ctx, out[0])) return code;
  int64_t* to = write<int64_t>(out[0]);
  for (int64_t i = 0; i < n; ++i) {
    poll_at(ctx, i);
    if (!(Compute<T>(x[i]) != Compute<T>(0))) continue;
    int64_t rest = i;
    for (int32_t d = rank - 1; d >= 0; --d) {
      to[d] = rest % in[0]->dims[d];
      rest /= in[0]->dims[d];
    }
    to += rank;
  }
  return HR_OK;
}

hr_code prepare_where(void*, hr_request* r) {
  if (r->inputs[0]->rank == 0)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "WhereOp: Unhandled input dimensions: 0");
  HR_APPLY_DATA_RULE(where, r);
  r->shape_depends_on_data = 1;
  r->compute = with_type(r->inputs[0]->dtype, NumbersAndBool{}, [](auto t) -> hr_compute {
    return compute_where<typename decltype(t)::type>;
  });
  return HR_OK;
}

// ---- permutations and places
// ------------------------------------------------------------------------

hr_code compute_invert(hr_ctx* ctx, void*, void*, const hr_tensor* const* in, hr_tensor* const* out,
                       void*) {
  const int64_t n = hr_elements(in[0]);
  std::vector<bool> seen(static_cast<size_t>(n), false);
  for (int64_t i = 0; i < n; ++i) {
    poll_at(ctx, i);
    const int64_t at = int_at(in[0], i);
    if (at < 0 || at >= n)
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "x[%lld] = %lld is not in [0, %lld)",
                         (long long)i, (long long)at, (long long)n);
    if (seen[size_t(at)])
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "%lld is duplicated in the input.",
                         (long long)at);
    seen[size_t(at)] = true;
    put_index(out[0], at, i);
  }
  return HR_OK;
}

hr_code prepare_invert(void*, hr_request* r) {
  HR_APPLY_RULE(vector_unchanged, r);
  return HR_OK;
}

hr_code compute_unravel(hr_ctx* ctx, void*, void*, const hr_tensor* const* in,
                        hr_tensor* const* out, void*) {
  const int64_t n = hr_elements(in[0]), rank = hr_elements(in[1]);
  const auto dims = to_int64(in[1]);
  int64_t size;
  if (!checked_product(dims, &size))
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "dims %s has a negative size or more elements than can be counted",
                       (const char*)ShapeText(int32_t(rank), dims.data()));
  if (n == 0) return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "received empty tensor indices");
  if (in[0]->dtype == HR_INT32 && size > INT32_MAX)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "Input dims product is causing integer overflow: %s",
                       (const char*)ShapeText(int32_t(rank), dims.data()));
  for (int64_t i = 0; i < n; ++i) {
    int64_t rest = int_at(in[0], i);
    // An index below 0 is one with coordinates below 0, as TensorFlow divides it.
    if (rest >= size || size == 0)
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "index %lld is out of bounds of %lld elements",
                         (long long)rest, (long long)size);
    for (int64_t d = rank - 1; d >= 0; --d) {
      put_index(out[0], d * n + i, rest % dims[size_t(d)]);
      rest /= dims[size_t(d)];
    }
  }
  return HR_OK;
}

hr_code prepare_unravel(void*, hr_request* r) {
  HR_APPLY_RULE(unravel_index, r);
  return HR_OK;
}

// Rows of sorted_inputs searched for rows of values.
template <class T, bool upper>
hr_code compute_bound(hr_ctx* ctx, void*, void*, const hr_tensor* const* in, hr_tensor* const* out,
                      void*) {
  using C = Compute<T>;
  const int64_t n = in[0]->dims[1], m = in[1]->dims[1], rows = in[0]->dims[0];
  const auto less = [](const C& a, const C& b) { return a < b; };
  for (int64_t r = 0; r < rows; ++r) {
    const T* row = read<T>(in[0]) + r * n;
    for (int64_t i = 0; i < m; ++i) {
      if (i % 65536 == 0) poll(ctx);
      const C value = read<T>(in[1])[r * m + i];
      const T* at = upper ? std::upper_bound(row, row + n, value,
                                             [&](const C& v, const T& x) { return less(v, C(x)); })
                          : std::lower_bound(row, row + n, value,
                                             [&](const T& x, const C& v) { return less(C(x), v); });
      put_index(out[0], r * m + i, at - row);
    }
  }
  return HR_OK;
}

template <bool upper> hr_code prepare_bound(void*, hr_request* r) {
  const hr_tensor *s = r->inputs[0], *v = r->inputs[1];
  if (s->rank != 2 || v->rank != 2 || s->dims[0] != v->dims[0])
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "sorted_inputs %s and values %s must be matrices of as many rows",
                           (const char*)ShapeText(s), (const char*)ShapeText(v));
  HR_APPLY_RULE(as_input_1, r);
  r->compute = with_type(s->dtype, Reals{}, [](auto t) -> hr_compute {
    return compute_bound<typename decltype(t)::type, upper>;
  });
  return HR_OK;
}

}  // namespace

HR_KERNELS = {
    kernel("Where", "T=" HR_NUMBERS "|bool", prepare_where).is(HR_KERNEL_DATA_SHAPE),
    kernel("InvertPermutation", nullptr, prepare_invert, compute_invert),
    kernel("UnravelIndex", nullptr, prepare_unravel, compute_unravel),
    kernel("LowerBound", "T=" HR_REALS, prepare_bound<false>),
    kernel("UpperBound", "T=" HR_REALS, prepare_bound<true>),
};

}  // namespace hr
