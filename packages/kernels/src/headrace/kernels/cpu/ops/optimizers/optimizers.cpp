// Optimizers: one pass over a variable and its slots, for whole gradients and for rows.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "ops/optimizers/optimizer_rules.hpp"
#include "processor/parallel.hpp"
#include "table/element_types.hpp"
#include "table/registration.hpp"
#include "table/shapes.hpp"
#include "table/slots.hpp"

namespace hr {
namespace {

template <class Rule, class T>
using Parameters = typename Rule::template Parameters<Compute<T>>;

// Where the op has its inputs: slots first, then scalars, with the gradient (and the indices
// right after it) among them.
struct Plan {
  int32_t gradient;
  bool by_rows;
};

template <class Rule, class T>
HR_CLONES void update(T* var, T* slot0, T* slot1, T* slot2, const T* grad,
                      const Parameters<Rule, T>* parameters, int64_t n) {
  using C = Compute<T>;
  const Parameters<Rule, T>& p = *parameters;
  HR_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) {
    C x = C(var[i]), a = C(0), b = C(0), c = C(0);
    if (Rule::slots > 0) a = C(slot0[i]);
    if (Rule::slots > 1) b = C(slot1[i]);
    if (Rule::slots > 2) c = C(slot2[i]);
    Rule::step(x, a, b, c, C(grad[i]), p);
    var[i] = T(x);
    if (Rule::slots > 0) slot0[i] = T(a);
    if (Rule::slots > 1) slot1[i] = T(b);
    if (Rule::slots > 2) slot2[i] = T(c);
  }
}

// Integers and complex numbers know only gradient descent.
template <class T>
void descend(T* w, const T* g, T alpha, int64_t n) {
  for (int64_t i = 0; i < n; ++i) w[i] = T(w[i] - g[i] * alpha);
}

template <class Index>
hr_code check_indices(hr_ctx* ctx, const hr_tensor* indices, int64_t rows) {
  const Index* at = read<Index>(indices);
  for (int64_t i = 0; i < indices->dims[0]; ++i) {
    if (at[i] < 0 || at[i] >= rows)
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "index %lld at %lld is outside [0, %lld)",
                         (long long)at[i], (long long)i, (long long)rows);
  }
  return HR_OK;
}

hr_code check_shapes(hr_ctx* ctx, const Plan& p, const hr_tensor* values, int n,
                     const hr_tensor* const* inputs) {
  const hr_tensor &var = values[0], *grad = inputs[p.gradient];
  for (int i = 0; i < n; ++i) {
    if (!same_shape(&values[i], &var))
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "variable is %s, its slot %d is %s",
                         ShapeText(&var).text, i, ShapeText(&values[i]).text);
  }
  if (!p.by_rows) {
    if (!same_shape(&var, grad))
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "variable is %s, gradient is %s",
                         ShapeText(&var).text, ShapeText(grad).text);
    return HR_OK;
  }
  const hr_tensor* indices = inputs[p.gradient + 1];
  const bool fits = var.rank >= 1 && grad->rank == var.rank && indices->rank == 1 &&
                    grad->dims[0] == indices->dims[0] &&
                    std::equal(var.dims + 1, var.dims + var.rank, grad->dims + 1);
  if (!fits)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "rows do not fit: variable is %s, gradient is %s, indices is %s",
                       ShapeText(&var).text, ShapeText(grad).text, ShapeText(indices).text);
  return indices->dtype == HR_INT64 ? check_indices<int64_t>(ctx, indices, var.dims[0])
                                    : check_indices<int32_t>(ctx, indices, var.dims[0]);
}

template <class C>
C scalar_of(const hr_tensor* t) {
  switch (t->dtype) {
    case HR_FLOAT: return C(*read<float>(t));
    case HR_DOUBLE: return C(*read<double>(t));
    case HR_HALF: return C(float(*read<half>(t)));
    case HR_BFLOAT16: return C(float(*read<bfloat16>(t)));
    default: return C(int_at(t, 0));
  }
}

// body(gradient's first element, variable's first element, n) for each contiguous stretch.
template <class Body>
void over_stretches(hr_ctx* ctx, const Plan& p, const hr_tensor& var,
                    const hr_tensor* const* inputs, int64_t bytes, Body&& body) {
  if (!p.by_rows) {
    parallel_ranges(ctx, hr_elements(&var), grain_of(bytes),
                    [&](int64_t begin, int64_t end) { body(begin, begin, end - begin); });
    return;
  }
  // One row after the other: a row may come twice, and then counts twice.
  const hr_tensor* indices = inputs[p.gradient + 1];
  const int64_t width = product(var.dims, 1, var.rank);
  for (int64_t i = 0; i < indices->dims[0]; ++i) body(i * width, int_at(indices, i) * width, width);
}

template <class Rule, class T>
hr_code apply(hr_ctx* ctx, const Plan& p, hr_tensor* values, const hr_tensor* const* inputs,
              const Parameters<Rule, T>& parameters) {
  T* at[4] = {};
  for (int i = 0; i <= Rule::slots; ++i) at[i] = write<T>(&values[i]);
  const T* grad = read<T>(inputs[p.gradient]);
  over_stretches(ctx, p, values[0], inputs, (Rule::slots + 2) * sizeof(T),
                 [&](int64_t from, int64_t to, int64_t n) {
                   update<Rule, T>(at[0] + to, at[1] + to, at[2] + to, at[3] + to, grad + from,
                                   &parameters, n);
                 });
  return HR_OK;
}

// The parameters of ApplyFtrl, which has no l2_shrinkage.
template <class C>
struct FtrlParameters {
  C learning_rate, l1, l2, learning_rate_power;
};

// learning_rate_power is a value, so which loop it needs is known only now.
template <bool with_shrinkage, bool multiply>
struct AnyFtrl {
  static constexpr int slots = 2;
  template <class C>
  using AllParameters = typename optimizer::Ftrl<true, multiply>::template Parameters<C>;
  template <class C>
  using Parameters = std::conditional_t<with_shrinkage, AllParameters<C>, FtrlParameters<C>>;
};

template <class Rule>
struct Dispatch {
  template <class T>
  static hr_code run(hr_ctx* ctx, const Plan& p, hr_tensor* values, const hr_tensor* const* inputs,
                     Parameters<Rule, T> parameters) {
    Rule::prepare(parameters);
    return apply<Rule, T>(ctx, p, values, inputs, parameters);
  }
};
template <bool with_shrinkage, bool multiply>
struct Dispatch<AnyFtrl<with_shrinkage, multiply>> {
  template <class T, class Rule>
  static hr_code with_power(hr_ctx* ctx, const Plan& p, hr_tensor* values,
                            const hr_tensor* const* inputs,
                            const Parameters<AnyFtrl<with_shrinkage, multiply>, T>& given) {
    Parameters<Rule, T> all{given.learning_rate, given.l1, given.l2, 0, given.learning_rate_power};
    if constexpr (with_shrinkage) all.l2_shrinkage = given.l2_shrinkage;
    return apply<Rule, T>(ctx, p, values, inputs, all);
  }
  template <class T>
  static hr_code run(hr_ctx* ctx, const Plan& p, hr_tensor* values, const hr_tensor* const* inputs,
                     const Parameters<AnyFtrl<with_shrinkage, multiply>, T>& given) {
    if (given.learning_rate_power == Compute<T>(-0.5))
      return with_power<T, optimizer::Ftrl<true, multiply>>(ctx, p, values, inputs, given);
    return with_power<T, optimizer::Ftrl<false, multiply>>(ctx, p, values, inputs, given);
  }
};

template <class Rule, class T>
hr_code compute(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* inputs, hr_tensor* const*,
                void*) {
  constexpr int n = Rule::slots + 1;
  const Plan& p = *static_cast<Plan*>(plan);
  WriteSlots<n> variables(ctx, inputs, inputs[p.gradient]->dtype);
  if (variables.code) return variables.code;
  if (hr_code code = check_shapes(ctx, p, variables.values, n, inputs)) return code;
  Parameters<Rule, T> parameters;
  Compute<T> scalars[sizeof parameters / sizeof(Compute<T>)];
  int32_t from = n;
  for (Compute<T>& scalar : scalars) {
    if (from == p.gradient) from += p.by_rows ? 2 : 1;
    scalar = scalar_of<Compute<T>>(inputs[from++]);
  }
  std::memcpy(&parameters, scalars, sizeof parameters);
  return Dispatch<Rule>::template run<T>(ctx, p, variables.values, inputs, parameters);
}

template <class T>
hr_code compute_descent(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* inputs,
                        hr_tensor* const*, void*) {
  const Plan& p = *static_cast<Plan*>(plan);
  WriteSlots<1> variable(ctx, inputs, inputs[p.gradient]->dtype);
  if (variable.code) return variable.code;
  hr_tensor& value = variable.values[0];
  if (hr_code code = check_shapes(ctx, p, &value, 1, inputs)) return code;
  descend(write<T>(&value), read<T>(inputs[2]), *read<T>(inputs[1]), hr_elements(&value));
  return HR_OK;
}

template <class Rule>
hr_code choose(hr_request* r, int32_t gradient, bool by_rows) {
  const int32_t first = Rule::slots + 1;
  for (int32_t i = first; i < r->node->n_inputs; ++i) {
    if (i == gradient || (by_rows && i == gradient + 1)) continue;
    if (hr_elements(r->inputs[i]) != 1)
      return hr_request_fail(r, HR_INVALID_ARGUMENT, "input %d must be a scalar: it is %s", i,
                             ShapeText(r->inputs[i]).text);
  }
  if (r->node->n_outputs) copy_shape(r->inputs[0], r->outputs[0]);
  const hr_dtype dtype = r->inputs[gradient]->dtype;
  r->compute = with_type(dtype, Floats{}, [](auto type) -> hr_compute {
    return compute<Rule, typename decltype(type)::type>;
  });
  if constexpr (std::is_same_v<Rule, optimizer::GradientDescent>) {
    if (!r->compute)
      r->compute = with_type(dtype, Join<Integers, Complexes>{}, [](auto type) -> hr_compute {
        return compute_descent<typename decltype(type)::type>;
      });
  }
  if (!r->compute)
    return hr_request_fail(r, HR_UNIMPLEMENTED, "no optimizer of dtype %s", dtype_name(dtype));
  keep_plan(r, new Plan{gradient, by_rows});
  return HR_OK;
}

// gradient: its place among the inputs.
template <class Rule, int gradient, bool by_rows>
hr_code prepare(void*, hr_request* r) {
  return choose<Rule>(r, gradient, by_rows);
}

template <template <bool> class Rule, int gradient, bool by_rows>
hr_code prepare_nesterov(void*, hr_request* r) {
  if (hr_attr_bool(r->node, "use_nesterov", 0)) return choose<Rule<true>>(r, gradient, by_rows);
  return choose<Rule<false>>(r, gradient, by_rows);
}

template <template <bool> class Rule, int gradient, bool by_rows>
hr_code prepare_adagrad(void*, hr_request* r) {
  if (hr_attr_bool(r->node, "update_slots", 1)) return choose<Rule<true>>(r, gradient, by_rows);
  return choose<Rule<false>>(r, gradient, by_rows);
}

template <bool with_shrinkage, bool by_rows>
hr_code prepare_ftrl(void*, hr_request* r) {
  if (hr_attr_bool(r->node, "multiply_linear_by_lr", 0))
    return choose<AnyFtrl<with_shrinkage, true>>(r, 3, by_rows);
  return choose<AnyFtrl<with_shrinkage, false>>(r, 3, by_rows);
}

}  // namespace

namespace rule = optimizer;

#define HR_BOTH(name, prepare) \
  kernel(name, "T=" HR_FLOATS, prepare), kernel("Resource" name, "T=" HR_FLOATS, prepare)

HR_KERNELS = {
    kernel("ApplyGradientDescent", "T=" HR_NUMBERS, prepare<rule::GradientDescent, 2, false>),
    kernel("ResourceApplyGradientDescent", "T=" HR_NUMBERS,
           prepare<rule::GradientDescent, 2, false>),
    HR_BOTH("ApplyProximalGradientDescent", (prepare<rule::ProximalGradientDescent, 4, false>)),
    HR_BOTH("ApplyMomentum", (prepare_nesterov<rule::Momentum, 3, false>)),
    kernel("ResourceApplyKerasMomentum", "T=" HR_FLOATS,
           prepare_nesterov<rule::KerasMomentum, 3, false>),
    HR_BOTH("ApplyAdagrad", (prepare_adagrad<rule::Adagrad, 3, false>)),
    HR_BOTH("ApplyAdagradV2", (prepare_adagrad<rule::AdagradV2, 4, false>)),
    HR_BOTH("ApplyProximalAdagrad", (prepare<rule::ProximalAdagrad, 5, false>)),
    HR_BOTH("ApplyAdagradDA", (prepare<rule::AdagradDA, 3, false>)),
    HR_BOTH("ApplyAdadelta", (prepare<rule::Adadelta, 6, false>)),
    HR_BOTH("ApplyAdam", (prepare_nesterov<rule::Adam, 9, false>)),
    kernel("ResourceApplyAdamWithAmsgrad", "T=" HR_FLOATS,
           prepare<rule::AdamWithAmsgrad, 10, false>),
    HR_BOTH("ApplyAdaMax", (prepare<rule::AdaMax, 8, false>)),
    HR_BOTH("ApplyRMSProp", (prepare<rule::RMSProp, 7, false>)),
    HR_BOTH("ApplyCenteredRMSProp", (prepare<rule::CenteredRMSProp, 8, false>)),
    HR_BOTH("ApplyFtrl", (prepare_ftrl<false, false>)),
    HR_BOTH("ApplyFtrlV2", (prepare_ftrl<true, false>)),
    HR_BOTH("ApplyAddSign", (prepare<rule::AddSign, 6, false>)),
    HR_BOTH("ApplyPowerSign", (prepare<rule::PowerSign, 6, false>)),
    HR_BOTH("SparseApplyProximalGradientDescent",
            (prepare<rule::ProximalGradientDescent, 4, true>)),
    HR_BOTH("SparseApplyMomentum", (prepare_nesterov<rule::Momentum, 3, true>)),
    kernel("ResourceSparseApplyKerasMomentum", "T=" HR_FLOATS,
           prepare_nesterov<rule::KerasMomentum, 3, true>),
    HR_BOTH("SparseApplyAdagrad", (prepare_adagrad<rule::Adagrad, 3, true>)),
    HR_BOTH("SparseApplyAdagradV2", (prepare_adagrad<rule::AdagradV2, 4, true>)),
    HR_BOTH("SparseApplyProximalAdagrad", (prepare<rule::ProximalAdagrad, 5, true>)),
    HR_BOTH("SparseApplyAdagradDA", (prepare<rule::AdagradDA, 3, true>)),
    HR_BOTH("SparseApplyAdadelta", (prepare<rule::Adadelta, 6, true>)),
    HR_BOTH("SparseApplyRMSProp", (prepare<rule::RMSProp, 7, true>)),
    HR_BOTH("SparseApplyCenteredRMSProp", (prepare<rule::CenteredRMSProp, 8, true>)),
    HR_BOTH("SparseApplyFtrl", (prepare_ftrl<false, true>)),
    HR_BOTH("SparseApplyFtrlV2", (prepare_ftrl<true, true>)),
};

}  // namespace hr
