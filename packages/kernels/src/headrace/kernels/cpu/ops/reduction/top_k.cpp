// Order and places: TopK, NthElement, InTopK, Where, permutations, searches.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "loops/elements.hpp"
#include "math/arithmetic.hpp"
#include "processor/parallel.hpp"
#include "table/indices.hpp"
#include "table/registration.hpp"
#include "table/shape_rules.hpp"
#include "table/shapes.hpp"
#include "table/text.hpp"

namespace hr {
namespace {
// ---- TopK: larger first, among equals the lower index; NaN last ---------------------------------

template <class C> bool before(C a, int32_t i, C b, int32_t j) {
  if (a != a || b != b) {
    if ((a != a) != (b != b)) return b != b;
    return i < j;
  }
  return a > b || (a == b && i < j);
}

struct TopPlan {
  int64_t rows, n, k;
};

template <class T>
hr_code compute_top(hr_ctx* ctx, void*, void* plan_, const hr_tensor* const* in,
                    hr_tensor* const* out, void* workspace) {
  using C = Compute<T>;
  const auto& p = *static_cast<const TopPlan*>(plan_);
  if (p.k == 0) return HR_OK;
  parallel_ranges(ctx, p.rows, grain_of(4 * p.n * int64_t(sizeof(T))),
                  [&](int64_t begin, int64_t end) {
    int32_t* order = static_cast<int32_t*>(workspace) + this_thread() * p.n;
    for (int64_t r = begin; r < end; ++r) {
      poll(ctx);
      const T* x = read<T>(in[0]) + r * p.n;
      if (p.k == 1) {
        int32_t best = 0;
        for (int32_t i = 1; i < p.n; ++i) {
          poll_at(ctx, i);
          if (before<C>(x[i], i, x[best], best)) best = i;
        }
        order[0] = best;
      } else {
        std::iota(order, order + p.n, 0);
        int64_t compared = 0;
        const auto less = [&, ctx](int32_t i, int32_t j) {
          poll_at(ctx, ++compared);
          return before<C>(x[i], i, x[j], j);
        };
        std::partial_sort(order, order + p.k, order + p.n, less);
      }
      for (int64_t i = 0; i < p.k; ++i) {
        write<T>(out[0])[r * p.k + i] = x[order[i]];
        put_index(out[1], r * p.k + i, order[i]);
      }
    }
  });
  return HR_OK;
}

hr_code prepare_top(void*, hr_request* r) {
  if (r->node->n_inputs == 2) HR_APPLY_RULE(top_k_v2, r);
  else HR_APPLY_RULE(top_k, r);
  const hr_tensor* x = r->inputs[0];
  const int64_t n = x->dims[x->rank - 1];
  if (n > std::numeric_limits<int32_t>::max())
    return hr_request_fail(r, HR_UNIMPLEMENTED, "rows of %lld elements: at most %d",
                           (long long)n, std::numeric_limits<int32_t>::max());
  keep_plan(r, new TopPlan{product(x->dims, 0, x->rank - 1), n,
                           r->outputs[0]->dims[r->outputs[0]->rank - 1]});
  r->workspace = size_t(n) * sizeof(int32_t) * size_t(std::max<int32_t>(1, r->threads));
  r->compute = with_type(x->dtype, Reals{}, [](auto t) -> hr_compute {
    return compute_top<typename decltype(t)::type>;
  });
  return HR_OK;
}

// The nth smallest (or largest) of each row.
template <class T>
hr_code compute_nth(hr_ctx* ctx, void*, void* plan_, const hr_tensor* const* in, hr_tensor* const* out,
                    void*) {
  const auto& p = *static_cast<const TopPlan*>(plan_);
  std::vector<Compute<T>> row(static_cast<size_t>(p.n));
  for (int64_t r = 0; r < p.rows; ++r) {
    std::copy_n(read<T>(in[0]) + r * p.n, p.n, row.begin());
    poll(ctx);
    // NaN is last: an order of which NaN is no part would lead the algorithm out of the row.
    std::nth_element(row.begin(), row.begin() + p.k, row.end(), [](Compute<T> a, Compute<T> b) {
      return a < b || (a == a && b != b);
    });
    write<T>(out[0])[r] = T(row[size_t(p.k)]);
  }
  return HR_OK;
}

hr_code prepare_nth(void*, hr_request* r) {
  HR_APPLY_RULE(nth_element, r);
  const hr_tensor* x = r->inputs[0];
  const int64_t n = x->dims[x->rank - 1], k = int_at(r->inputs[1], 0);
  if (k < 0 || k >= n)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "n is %lld, not in [0, %lld)", (long long)k,
                           (long long)n);
  const bool reverse = hr_attr_bool(r->node, "reverse", 0);
  keep_plan(r, new TopPlan{product(x->dims, 0, x->rank - 1), n, reverse ? n - 1 - k : k});
  r->compute = with_type(x->dtype, Reals{}, [](auto t) -> hr_compute {
    return compute_nth<typename decltype(t)::type>;
  });
  return HR_OK;
}

// ---- Where ----------------------------------------------------------------------------------------

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

// ---- permutations and places ------------------------------------------------------------------------

hr_code compute_invert(hr_ctx* ctx, void*, void*, const hr_tensor* const* in,
                       hr_tensor* const* out, void*) {
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
  if (n == 0)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "received empty tensor indices");
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

// ---- InTopK -------------------------------------------------------------------------------------------

hr_code compute_in_top_k(hr_ctx*, void*, void* plan, const hr_tensor* const* in,
                         hr_tensor* const* out, void*) {
  const int64_t k = plan ? *static_cast<const int64_t*>(plan) : int_at(in[2], 0);
  const int64_t rows = in[0]->dims[0], n = in[0]->dims[1];
  for (int64_t r = 0; r < rows; ++r) {
    const float* x = read<float>(in[0]) + r * n;
    const int64_t target = int_at(in[1], r);
    bool finite = target >= 0 && target < n && std::isfinite(x[target]);
    int64_t above = 0;
    for (int64_t i = 0; finite && i < n; ++i) {
      if (!std::isfinite(x[i])) finite = false;
      else above += x[i] > x[target];
    }
    write<bool>(out[0])[r] = finite && above < k;
  }
  return HR_OK;
}

hr_code prepare_in_top_k(void*, hr_request* r) {
  HR_APPLY_RULE(in_top_k, r);
  if (r->node->n_inputs == 3)
    if (hr_code code = need_scalar(r, 2, "k")) return code;
  if (r->node->n_inputs == 2) keep_plan(r, new int64_t(hr_attr_int(r->node, "k", 1)));
  return HR_OK;
}

}  // namespace

HR_KERNELS = {
    kernel("TopKV2", "T=" HR_REALS, prepare_top).constant(1),
    kernel("TopK", "T=" HR_REALS, prepare_top),
    kernel("NthElement", "T=" HR_REALS, prepare_nth).constant(1),
    kernel("Where", "T=" HR_NUMBERS "|bool", prepare_where).is(HR_KERNEL_DATA_SHAPE),
    kernel("InvertPermutation", nullptr, prepare_invert, compute_invert),
    kernel("UnravelIndex", nullptr, prepare_unravel, compute_unravel),
    kernel("LowerBound", "T=" HR_REALS, prepare_bound<false>),
    kernel("UpperBound", "T=" HR_REALS, prepare_bound<true>),
    kernel("InTopK", nullptr, prepare_in_top_k, compute_in_top_k),
    kernel("InTopKV2", nullptr, prepare_in_top_k, compute_in_top_k),
};

}  // namespace hr
