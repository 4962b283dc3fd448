// Writes rows at given indices into variables, tensors or zeros.
#include <algorithm>
#include <cstring>
#include <vector>

#include "library/attributes.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "library/slice_updates.hpp"
#include "library/slots.hpp"
#include "loops/elements.hpp"
#include "math/arithmetic.hpp"
#include "ops/scatter/scatter.hpp"
#include "processor/parallel.hpp"
#include "processor/simd.hpp"
#include "table/indices.hpp"

namespace hr {
namespace {

template <ScatterUpdate way, class C> HR_INLINE C folded(C a, C b) {
  if constexpr (way == kAdd) return plus(a, b);
  else if constexpr (way == kSub) return minus(a, b);
  else if constexpr (way == kMul) return times(a, b);
  else if constexpr (way == kDiv) {
    if constexpr (is_integer<C>) return truncated_quotient(a, b);
    else return a / b;
  } else if constexpr (way == kMin) return smaller(a, b);
  else return larger(a, b);
}

template <ScatterUpdate way, class T>
void fold_row(void* row_, const void* update_, int64_t n, bool single) {
  using C = Compute<T>;
  T* row = static_cast<T*>(row_);
  const T* update = static_cast<const T*>(update_);
  if (single) {
    const C u = update[0];
    for (int64_t i = 0; i < n; ++i) row[i] = T(folded<way, C>(C(row[i]), u));
  } else {
    HR_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) row[i] = T(folded<way, C>(C(row[i]), C(update[i])));
  }
}

// bool adds as "or".
void or_row(void* row, const void* update, int64_t n, bool single) {
  for (int64_t i = 0; i < n; ++i)
    static_cast<bool*>(row)[i] |= static_cast<const bool*>(update)[single ? 0 : i];
}

template <ScatterUpdate way, class Set> RowLoop loop_for(hr_dtype dtype) {
  return with_type(dtype, Set{},
                   [](auto t) -> RowLoop { return fold_row<way, typename decltype(t)::type>; });
}

RowLoop loop_of(ScatterUpdate way, hr_dtype dtype) {
  switch (way) {
    case kAdd: return dtype == HR_BOOL ? or_row : loop_for<kAdd, Numbers>(dtype);
    case kSub: return loop_for<kSub, Numbers>(dtype);
    case kMul: return loop_for<kMul, Numbers>(dtype);
    case kDiv: return loop_for<kDiv, Numbers>(dtype);
    case kMin: return loop_for<kMin, Reals>(dtype);
    case kMax: return loop_for<kMax, Reals>(dtype);
    default: return nullptr;
  }
}

bool any_zero(const hr_tensor* t) {
  return with_type(t->dtype, Integers{}, [&](auto tag) -> int {
    using T = typename decltype(tag)::type;
    const T* x = read<T>(t);
    return std::find(x, x + hr_elements(t), T(0)) != x + hr_elements(t);
  });
}

}  // namespace

hr_code scatter_rows(hr_ctx* ctx, const ScatterPlan& p, const hr_tensor* target, int64_t inner,
                     const std::vector<int64_t>& offsets, const hr_tensor* updates) {
  const int64_t size = hr_dtype_size(target->dtype), bytes = inner * size;
  const bool single = updates->rank == 0 && (offsets.size() != 1 || inner != 1);
  if (p.way == kDiv && any_zero(updates))
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "Integer division by zero");
  char* to = write<char>(target);
  const char* from = read<char>(updates);
  for (size_t i = 0; i < offsets.size(); ++i) {
    if (offsets[i] < 0) continue;
    char* row = to + offsets[i] * bytes;
    const char* update = single ? from : from + int64_t(i) * bytes;
    if (p.way != kUpdate) p.loop(row, update, inner, single);
    else if (single) fill_elements(ctx, target->dtype, row, update, inner);
    else copy_elements(ctx, target->dtype, size, row, update, inner);
  }
  return HR_OK;
}

hr_code keep_scatter_plan(hr_request* r, ScatterUpdate way, hr_dtype dtype, hr_compute compute) {
  if (hr_code code = check_bad_indices_policy(r)) return code;
  auto* plan = keep_plan(r, new ScatterPlan{way, loop_of(way, dtype),
                                            attr_text(r->node, "bad_indices_policy") == "IGNORE"});
  if (way != kUpdate && !plan->loop)
    return hr_request_fail(r, HR_UNIMPLEMENTED, "no kernel for this dtype");
  r->compute = compute;
  return HR_OK;
}

namespace {

// ---- rows of a variable
// --------------------------------------------------------------------------

hr_code check_fit(hr_ctx* ctx, const hr_tensor* variable, const hr_tensor* indices,
                  const hr_tensor* updates) {
  bool fits = variable->rank >= 1;
  if (updates->rank) {
    fits = fits && updates->rank == indices->rank + variable->rank - 1 &&
           std::equal(indices->dims, indices->dims + indices->rank, updates->dims) &&
           std::equal(variable->dims + 1, variable->dims + variable->rank,
                      updates->dims + indices->rank);
  }
  if (fits) return HR_OK;
  return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "updates %s do not fit indices %s and variable %s",
                     (const char*)ShapeText(updates), (const char*)ShapeText(indices),
                     (const char*)ShapeText(variable));
}

hr_code compute_rows(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in, hr_tensor* const*,
                     void*) {
  WriteSlots<1> variable(ctx, in, in[2]->dtype);
  if (variable.code) return variable.code;
  const hr_tensor& value = variable.values[0];
  if (hr_code code = check_fit(ctx, &value, in[1], in[2])) return code;
  const int64_t bad = first_outside(in[1], value.dims[0]);
  if (bad >= 0) return index_error(ctx, in[1], bad, value.dims[0]);
  return scatter_rows(ctx, *static_cast<const ScatterPlan*>(plan), &value,
                      product(value.dims, 1, value.rank), to_int64(in[1]), in[2]);
}

template <ScatterUpdate way> hr_code prepare_rows(void*, hr_request* r) {
  if (r->node->n_outputs) {
    // The shape of a reference may be unknown until it is written.
    if (r->inputs[0]->rank >= 0) HR_APPLY_RULE(scatter, r);
    else r->outputs[0]->rank = -1;
  }
  return keep_scatter_plan(r, way, r->inputs[2]->dtype, compute_rows);
}

// ---- slices of a variable
// ------------------------------------------------------------------------

hr_code scatter_nd(hr_ctx* ctx, const ScatterPlan& p, const hr_tensor* target,
                   const hr_tensor* indices, const hr_tensor* updates) {
  const int64_t depth = indices->rank ? indices->dims[indices->rank - 1] : -1;
  bool fits = depth >= 0 && depth <= target->rank;
  if (fits && updates->rank)
    fits = updates->rank == indices->rank - 1 + target->rank - depth &&
           std::equal(indices->dims, indices->dims + indices->rank - 1, updates->dims) &&
           std::equal(target->dims + depth, target->dims + target->rank,
                      updates->dims + indices->rank - 1);
  if (!fits)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "updates %s do not fit indices %s and shape %s",
                       (const char*)ShapeText(updates), (const char*)ShapeText(indices),
                       (const char*)ShapeText(target));
  int64_t bad;
  const auto offsets = slice_offsets(indices, target->dims, &bad);
  if (bad >= 0 && !p.ignore) return slice_error(ctx, indices, bad, target->rank, target->dims);
  return scatter_rows(ctx, p, target, product(target->dims, int32_t(depth), target->rank), offsets,
                      updates);
}

hr_code compute_slices(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                       hr_tensor* const*, void*) {
  WriteSlots<1> variable(ctx, in, in[2]->dtype);
  if (variable.code) return variable.code;
  return scatter_nd(ctx, *static_cast<const ScatterPlan*>(plan), &variable.values[0], in[1], in[2]);
}

template <ScatterUpdate way> hr_code prepare_slices(void*, hr_request* r) {
  if (r->node->n_outputs) {
    r->outputs[0]->rank = -1;
    if (r->inputs[0]->rank >= 0) copy_shape(r->inputs[0], r->outputs[0]);
  }
  return keep_scatter_plan(r, way, r->inputs[2]->dtype, compute_slices);
}

// ---- tensors
// -----------------------------------------------------------------------------------------

hr_code compute_tensor(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                       hr_tensor* const* out, void*) {
  if (out[0]->data != in[0]->data)
    copy_elements(ctx, in[0]->dtype, hr_dtype_size(in[0]->dtype), out[0]->data, in[0]->data,
                  hr_elements(in[0]));
  return scatter_nd(ctx, *static_cast<const ScatterPlan*>(plan), out[0], in[1], in[2]);
}

template <ScatterUpdate way> hr_code prepare_tensor(void*, hr_request* r) {
  if (hr_code code = prepare_tensor_scatter(r)) return code;
  return keep_scatter_plan(r, way, r->inputs[0]->dtype, compute_tensor);
}

hr_code compute_new(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                    hr_tensor* const* out, void*) {
  if (is_plain(out[0]->dtype)) zero_polled(ctx, out[0]);
  return scatter_nd(ctx, *static_cast<const ScatterPlan*>(plan), out[0], in[0], in[1]);
}

hr_code prepare_new(void*, hr_request* r) {
  HR_APPLY_RULE(scatter_nd, r);
  const hr_dtype dtype = r->inputs[1]->dtype;
  return keep_scatter_plan(r, is_plain(dtype) ? kAdd : kUpdate, dtype, compute_new);
}

#define ROWS_OF(Name, way, types)                                       \
  kernel("Scatter" Name, "T=" types, prepare_rows<way>),                   \
      kernel("ResourceScatter" Name, "dtype=" types, prepare_rows<way>)
#define SLICES_OF(Name, way, types)                                     \
  kernel("ScatterNd" Name, "T=" types, prepare_slices<way>),               \
      kernel("ResourceScatterNd" Name, "T=" types, prepare_slices<way>)
#define TENSOR_OF(Name, way, types)                                     \
  kernel("TensorScatter" Name, "T=" types, prepare_tensor<way>).reuses(0)

}  // namespace

HR_KERNELS = {
    kernel("ScatterUpdate", nullptr, prepare_rows<kUpdate>),
    kernel("ResourceScatterUpdate", nullptr, prepare_rows<kUpdate>),
    ROWS_OF("Add", kAdd, HR_NUMBERS),
    ROWS_OF("Sub", kSub, HR_NUMBERS),
    ROWS_OF("Mul", kMul, HR_NUMBERS),
    ROWS_OF("Div", kDiv, HR_NUMBERS),
    ROWS_OF("Min", kMin, HR_REALS),
    ROWS_OF("Max", kMax, HR_REALS),
    kernel("ScatterNdUpdate", nullptr, prepare_slices<kUpdate>),
    kernel("ResourceScatterNdUpdate", nullptr, prepare_slices<kUpdate>),
    SLICES_OF("Add", kAdd, HR_NUMBERS),
    SLICES_OF("Sub", kSub, HR_NUMBERS),
    SLICES_OF("Min", kMin, HR_REALS),
    SLICES_OF("Max", kMax, HR_REALS),
    kernel("TensorScatterUpdate", nullptr, prepare_tensor<kUpdate>).reuses(0),
    TENSOR_OF("Add", kAdd, HR_NUMBERS),
    TENSOR_OF("Sub", kSub, HR_NUMBERS),
    TENSOR_OF("Min", kMin, HR_REALS),
    TENSOR_OF("Max", kMax, HR_REALS),
    kernel("ScatterNdNonAliasingAdd", "T=" HR_NUMBERS, prepare_tensor<kAdd>).reuses(0),
    kernel("ScatterNd", "T=" HR_NUMBERS "|bool|string", prepare_new).constant(2),
};

}  // namespace hr
