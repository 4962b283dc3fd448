// Optimizers: one pass over a variable and its slots, for dense and sparse gradients.
#include <algorithm>
#include <type_traits>

#include "library/registration.hpp"
#include "library/shapes.hpp"
#include "library/slots.hpp"
#include "loops/via_float.hpp"
#include "ops/optimizers/optimizer_rules.hpp"
#include "processor/parallel.hpp"
#include "table/element_types.hpp"

namespace hr {
namespace {

constexpr int kMostValues = 4;  // a variable and its slots
constexpr int kMostScalars = 8;

// Updates n elements of a variable and its slots; `parameters` are the Parameters of a rule.
using Step = void (*)(void* const* values, const void* grad, const void* parameters, int64_t n);

// A rule for float or double, behind function pointers.
struct Loop {
  int32_t slots, scalars;
  // Computes what a run needs from the op's scalars, in their place, and chooses the loop.
  Step (*begin)(void* scalars);
};

// Where the op has its inputs: slots first, then scalars, with the gradient (and the indices
// right after it) among them.
struct Plan {
  int32_t gradient;
  bool by_rows;
  const Loop* loop;
};

template <class Rule, class C>
HR_CLONES void update(C* var, C* slot0, C* slot1, C* slot2, const C* grad,
                      const typename Rule::template Parameters<C>* parameters, int64_t n) {
  const auto& p = *parameters;
  HR_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) {
    C x = var[i], a = C(0), b = C(0), c = C(0);
    if (Rule::slots > 0) a = slot0[i];
    if (Rule::slots > 1) b = slot1[i];
    if (Rule::slots > 2) c = slot2[i];
    Rule::step(x, a, b, c, grad[i], p);
    var[i] = x;
    if (Rule::slots > 0) slot0[i] = a;
    if (Rule::slots > 1) slot1[i] = b;
    if (Rule::slots > 2) slot2[i] = c;
  }
}

template <class Rule, class C>
void step(void* const* values, const void* grad, const void* parameters, int64_t n) {
  C* const* at = reinterpret_cast<C* const*>(values);
  update<Rule, C>(at[0], at[1], at[2], at[3], static_cast<const C*>(grad),
                  static_cast<const typename Rule::template Parameters<C>*>(parameters), n);
}

// half and bfloat16: a step of float, block by block.
void narrow_step(hr_dtype dtype, int32_t n_values, Step step, char* const* values, const char* grad,
                 const void* parameters, int64_t n) {
  constexpr int64_t kBlock = 512;
  float wide[kMostValues][kBlock], wide_grad[kBlock];
  void* const at[kMostValues] = {wide[0], wide[1], wide[2], wide[3]};
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t width = std::min(kBlock, n - i);
    narrow_to_float(dtype, grad + 2 * i, wide_grad, width);
    for (int32_t v = 0; v < n_values; ++v)
      narrow_to_float(dtype, values[v] + 2 * i, wide[v], width);
    step(at, wide_grad, parameters, width);
    for (int32_t v = 0; v < n_values; ++v)
      float_to_narrow(dtype, wide[v], values[v] + 2 * i, width);
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

double scalar_of(const hr_tensor* t) {
  switch (t->dtype) {
    case HR_FLOAT: return *read<float>(t);
    case HR_DOUBLE: return *read<double>(t);
    case HR_HALF: return float(*read<half>(t));
    case HR_BFLOAT16: return float(*read<bfloat16>(t));
    default: return double(int_at(t, 0));
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

template <class Rule, class C> Step begin(void* scalars) {
  Rule::prepare(*static_cast<typename Rule::template Parameters<C>*>(scalars));
  return step<Rule, C>;
}

// The parameters of ApplyFtrl, which has no l2_shrinkage.
template <class C>
struct FtrlParameters {
  C learning_rate, l1, l2, learning_rate_power;
};

// learning_rate_power is a value, so which loop it needs is known only now.
template <bool with_shrinkage, bool multiply, class C> Step begin_ftrl(void* scalars) {
  using All = typename optimizer::Ftrl<true, multiply>::template Parameters<C>;
  static_assert(sizeof(All) <= kMostScalars * sizeof(C), "scalars have no room");
  if (!with_shrinkage) {
    const auto four = *static_cast<const FtrlParameters<C>*>(scalars);
    *static_cast<All*>(scalars) = {four.learning_rate, four.l1, four.l2, 0,
                                   four.learning_rate_power};
  }
  if (static_cast<const All*>(scalars)->learning_rate_power == C(-0.5))
    return step<optimizer::Ftrl<true, multiply>, C>;
  using General = optimizer::Ftrl<false, multiply>;
  static_assert(sizeof(typename General::template Parameters<C>) == sizeof(All), "same members");
  return step<General, C>;
}

// Which scalars an op has, and how a run begins.
template <class Rule, class C> struct LoopOf {
  using Parameters = typename Rule::template Parameters<C>;
  static constexpr Loop loop = {Rule::slots, sizeof(Parameters) / sizeof(C), begin<Rule, C>};
};
template <bool with_shrinkage, bool multiply> struct AnyFtrl {};
template <bool with_shrinkage, bool multiply, class C>
struct LoopOf<AnyFtrl<with_shrinkage, multiply>, C> {
  static constexpr Loop loop = {2, with_shrinkage ? 5 : 4, begin_ftrl<with_shrinkage, multiply, C>};
};

hr_code compute(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* inputs, hr_tensor* const*,
                void*) {
  const Plan& p = *static_cast<Plan*>(plan);
  const hr_tensor* grad = inputs[p.gradient];
  const int32_t n_values = p.loop->slots + 1;
  WriteSlots<kMostValues> variables(ctx, inputs, grad->dtype, n_values);
  if (variables.code) return variables.code;
  if (hr_code code = check_shapes(ctx, p, variables.values, n_values, inputs)) return code;
  union {
    float narrow[kMostScalars];
    double wide[kMostScalars];
  } scalars;
  int32_t from = n_values;
  for (int32_t k = 0; k < p.loop->scalars; ++k) {
    if (from == p.gradient) from += p.by_rows ? 2 : 1;
    const double scalar = scalar_of(inputs[from++]);
    if (grad->dtype == HR_DOUBLE) scalars.wide[k] = scalar;
    else scalars.narrow[k] = float(scalar);
  }
  const Step step = p.loop->begin(&scalars);
  char* at[kMostValues] = {};
  for (int32_t v = 0; v < n_values; ++v) at[v] = write<char>(&variables.values[v]);
  const int64_t size = hr_dtype_size(grad->dtype);
  over_stretches(ctx, p, variables.values[0], inputs, (n_values + 1) * size,
                 [&](int64_t from, int64_t to, int64_t n) {
                   char* values[kMostValues] = {};
                   for (int32_t v = 0; v < n_values; ++v) values[v] = at[v] + to * size;
                   const char* gradient = read<char>(grad) + from * size;
                   if (is_narrow(grad->dtype))
                     narrow_step(grad->dtype, n_values, step, values, gradient, &scalars, n);
                   else step(reinterpret_cast<void* const*>(values), gradient, &scalars, n);
                 });
  return HR_OK;
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

hr_code prepare_loop(hr_request* r, const Loop* loop, hr_compute compute, int32_t gradient,
                     bool by_rows) {
  for (int32_t i = loop->slots + 1; i < r->node->n_inputs; ++i) {
    if (i == gradient || (by_rows && i == gradient + 1)) continue;
    if (hr_elements(r->inputs[i]) != 1)
      return hr_request_fail(r, HR_INVALID_ARGUMENT, "input %d must be a scalar: it is %s", i,
                             ShapeText(r->inputs[i]).text);
  }
  if (r->node->n_outputs) copy_shape(r->inputs[0], r->outputs[0]);
  r->compute = compute;
  if (!r->compute)
    return hr_request_fail(r, HR_UNIMPLEMENTED, "no optimizer of dtype %s",
                           dtype_name(r->inputs[gradient]->dtype));
  keep_plan(r, new Plan{gradient, by_rows, loop});
  return HR_OK;
}

template <class Rule>
hr_code choose(hr_request* r, int32_t gradient, bool by_rows) {
  const hr_dtype dtype = r->inputs[gradient]->dtype;
  const Loop* loop = dtype == HR_DOUBLE ? &LoopOf<Rule, double>::loop : &LoopOf<Rule, float>::loop;
  hr_compute chosen =
      dtype == HR_FLOAT || dtype == HR_DOUBLE || is_narrow(dtype) ? compute : nullptr;
  if constexpr (std::is_same_v<Rule, optimizer::GradientDescent>) {
    if (!chosen)
      chosen = with_type(dtype, Join<Integers, Complexes>{}, [](auto type) -> hr_compute {
        return compute_descent<typename decltype(type)::type>;
      });
  }
  return prepare_loop(r, loop, chosen, gradient, by_rows);
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
