// Ops along one dimension: ArgMax, ArgMin, Cumsum, Cumprod, CumulativeLogsumexp.
#include <cmath>
#include <limits>

#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "library/text.hpp"
#include "math/arithmetic.hpp"
#include "processor/parallel.hpp"
#include "table/indices.hpp"

namespace hr {
namespace {

struct LinePlan {
  int64_t outer, n, inner;
  bool exclusive, reverse;
};

// ---- ArgMax and ArgMin: the first of equals; NaN never wins --------------------------------

template <class T, bool largest>
hr_code compute_arg(hr_ctx* ctx, void*, void* plan_, const hr_tensor* const* in,
                    hr_tensor* const* out, void*) {
  using C = Compute<T>;
  const auto& p = *static_cast<const LinePlan*>(plan_);
  const T* x = read<T>(in[0]);
  parallel_ranges(ctx, p.outer * p.inner, grain_of(p.n * int64_t(sizeof(T))),
                  [&](int64_t begin, int64_t end) {
                    for (int64_t k = begin; k < end; ++k) {
                      const T* at = x + k / p.inner * p.n * p.inner + k % p.inner;
                      int64_t best = 0;
                      C value = at[0];
                      bool found = value == value;
                      for (int64_t i = 1; i < p.n; ++i) {
                        poll_at(ctx, i);
                        const C v = at[i * p.inner];
                        if (found ? (largest ? v > value : v < value) : v == v) {
                          best = i;
                          value = v;
                          found = true;
                        }
                      }
                      put_index(out[0], k, best);
                    }
                  });
  return HR_OK;
}

template <bool largest> hr_compute arg_of(hr_dtype dtype) {
  return with_type(dtype, Join<Reals, Types<bool>>{}, [](auto t) -> hr_compute {
    return compute_arg<typename decltype(t)::type, largest>;
  });
}

template <bool largest> hr_code prepare_arg(void*, hr_request* r) {
  if (hr_code code = need_scalar(r, 1, "dimension")) return code;
  const hr_tensor* x = r->inputs[0];
  hr_tensor* y = r->outputs[0];
  const int64_t attribute = int_at(r->inputs[1], 0), axis = axis_of(attribute, x->rank);
  if (axis < 0)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "axis %lld is out of range for rank %d",
                           (long long)attribute, int(x->rank));
  if (x->dims[axis] == 0)
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "axis %lld of %s is empty: there is no largest or smallest element",
                           (long long)axis, (const char*)ShapeText(x));
  y->rank = 0;
  for (int32_t d = 0; d < x->rank; ++d)
    if (d != axis) y->dims[y->rank++] = x->dims[d];
  const int32_t a = int32_t(axis);
  keep_plan(r, new LinePlan{product(x->dims, 0, a), x->dims[a], product(x->dims, a + 1, x->rank),
                            false, false});
  if (y->dtype == HR_INT32 || y->dtype == HR_INT64) r->compute = arg_of<largest>(x->dtype);
  return r->compute ? HR_OK : hr_request_fail(r, HR_UNIMPLEMENTED, "no kernel for this dtype");
}

// ---- cumulative ------------------------------------------------------------------------------

struct Add {
  static constexpr bool signless = true;
  template <class A> static A start() { return A(0); }
  template <class A> static A fold(A a, A b) { return plus(a, b); }
};
struct Multiply {
  static constexpr bool signless = true;
  template <class A> static A start() { return A(1); }
  template <class A> static A fold(A a, A b) { return times(a, b); }
};
struct LogSumExp {
  static constexpr bool signless = false;
  template <class A> static A start() { return -std::numeric_limits<A>::infinity(); }
  template <class A> static A fold(A a, A b) {
    const A high = larger(a, b), low = smaller(a, b);
    if (high == start<A>()) return high;
    return high + std::log1p(std::exp(low - high));
  }
};

template <class Op, class T>
hr_code compute_cumulative(hr_ctx* ctx, void*, void* plan_, const hr_tensor* const* in,
                           hr_tensor* const* out, void*) {
  using C = Compute<T>;
  const auto& plan = *static_cast<const LinePlan*>(plan_);
  parallel_ranges(ctx, plan.outer * plan.inner, grain_of(2 * plan.n * int64_t(sizeof(T))),
                  [&](int64_t begin, int64_t end) {
                    const LinePlan p = plan;  // copies, which stay in registers
                    const T* x = read<T>(in[0]);
                    T* y = write<T>(out[0]);
                    for (int64_t k = begin; k < end; ++k) {
                      const int64_t first = k / p.inner * p.n * p.inner + k % p.inner;
                      C total = Op::template start<C>();
                      for (int64_t i = 0; i < p.n; ++i) {
                        poll_at(ctx, i);
                        const int64_t at = first + (p.reverse ? p.n - 1 - i : i) * p.inner;
                        const C v = x[at];  // read before y, which may lie over x
                        if (p.exclusive) y[at] = T(total);
                        total = Op::fold(total, v);
                        if (!p.exclusive) y[at] = T(total);
                      }
                    }
                  });
  return HR_OK;
}

template <class Op, class Set> hr_compute cumulative_loop(hr_dtype dtype) {
  const auto of = [](auto t) -> hr_compute {
    return compute_cumulative<Op, typename decltype(t)::type>;
  };
  if constexpr (Op::signless) return with_type(as_unsigned(dtype), Signless<Set>{}, of);
  else return with_type(dtype, Set{}, of);
}

template <class Op, class Set> hr_code prepare_cumulative(void*, hr_request* r) {
  if (hr_code code = hr_shape_unchanged(r)) return code;
  if (hr_code code = need_scalar(r, 1, "axis")) return code;
  const hr_tensor* x = r->inputs[0];
  const int64_t attribute = int_at(r->inputs[1], 0), axis = axis_of(attribute, x->rank);
  if (axis < 0)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "axis %lld is out of range for rank %d",
                           (long long)attribute, int(x->rank));
  const int32_t a = int32_t(axis);
  keep_plan(r, new LinePlan{product(x->dims, 0, a), x->dims[a], product(x->dims, a + 1, x->rank),
                            hr_attr_bool(r->node, "exclusive", 0) != 0,
                            hr_attr_bool(r->node, "reverse", 0) != 0});
  r->compute = cumulative_loop<Op, Set>(x->dtype);
  return r->compute ? HR_OK : hr_request_fail(r, HR_UNIMPLEMENTED, "no kernel for this dtype");
}

}  // namespace

HR_KERNELS = {
    kernel("ArgMax", "T=" HR_REALS "|bool;output_type=" HR_INDICES, prepare_arg<true>).constant(1),
    kernel("ArgMin", "T=" HR_REALS "|bool;output_type=" HR_INDICES, prepare_arg<false>).constant(1),
    kernel("Cumsum", "T=" HR_NUMBERS, prepare_cumulative<Add, Numbers>).constant(1).reuses(0),
    kernel("Cumprod", "T=" HR_NUMBERS, prepare_cumulative<Multiply, Numbers>).constant(1).reuses(0),
    kernel("CumulativeLogsumexp", "T=" HR_FLOATS, prepare_cumulative<LogSumExp, Floats>)
        .constant(1)
        .reuses(0),
};

}  // namespace hr
