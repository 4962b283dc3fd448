// The largest elements, or the n-th, of each row: TopK, NthElement.
#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "processor/parallel.hpp"
#include "table/element_types.hpp"
#include "table/indices.hpp"

namespace hr {
namespace {

// Larger first, among equals the lower index; NaN last.
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
    return hr_request_fail(r, HR_UNIMPLEMENTED, "rows of %lld elements: at most %d", (long long)n,
                           std::numeric_limits<int32_t>::max());
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
hr_code compute_nth(hr_ctx* ctx, void*, void* plan_, const hr_tensor* const* in,
                    hr_tensor* const* out, void*) {
  const auto& p = *static_cast<const TopPlan*>(plan_);
  std::vector<Compute<T>> row(static_cast<size_t>(p.n));
  for (int64_t r = 0; r < p.rows; ++r) {
    std::copy_n(read<T>(in[0]) + r * p.n, p.n, row.begin());
    poll(ctx);
    // NaN is last: nth_element needs a strict weak order, which a < b is not for NaN.
    std::nth_element(row.begin(), row.begin() + p.k, row.end(),
                     [](Compute<T> a, Compute<T> b) { return a < b || (a == a && b != b); });
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

}  // namespace

HR_KERNELS = {
    kernel("TopKV2", "T=" HR_REALS, prepare_top).constant(1),
    kernel("TopK", "T=" HR_REALS, prepare_top),
    kernel("NthElement", "T=" HR_REALS, prepare_nth).constant(1),
};

}  // namespace hr
