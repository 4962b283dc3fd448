// Kernels of conditional accumulators, dense and sparse.
#pragma once
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/slot_arithmetic.hpp"
#include "kernels/synchronisation/named_objects.hpp"
#include "state/synchronisation/accumulator.hpp"

namespace headrace::accumulators {

inline const char* const kDtypes = "dtype=half|float|double";

inline hr_code complete_take(Accumulator* accumulator, TakeGradient* take);

inline hr_object* make(void* argument) {
  auto* node = static_cast<hr_node*>(argument);
  auto* created = new Accumulator();
  created->complete_take = complete_take;
  AccumulatorSpec& spec = created->spec;
  spec.name = shared_name_of(node);
  spec.dtype = hr_attr_type(node, "dtype");
  spec.mean = text_attribute(node, "reduction_type") != "SUM";
  spec.sparse = std::strstr(node->op, "Sparse") != nullptr;
  int32_t rank = -1;
  const int64_t* dims = nullptr;
  if (node->api->attr_shape(node, "shape", &rank, &dims) == HR_OK && rank >= 0) {
    spec.rank = rank;
    spec.dims.assign(dims, dims + rank);
  }
  return as_new_object(created, spec.sparse ? "SparseAccumulator" : "Accumulator");
}

inline hr_code create_dense(hr_node* node, void** state) {
  return create_node_object<make>(node, state, "Accumulator");
}
inline hr_code create_sparse(hr_node* node, void** state) {
  return create_node_object<make>(node, state, "SparseAccumulator");
}

// The accumulator that input 0 refers to; null: the error is recorded.
inline Accumulator* accumulator_of(hr_ctx* ctx, const hr_node* node, const hr_tensor* handle,
                                   hr_dtype dtype) {
  hr_object* object = object_of(handle, "Accumulator");
  if (!object) object = object_of(handle, "SparseAccumulator");
  auto* found = reinterpret_cast<Accumulator*>(object);
  const bool sparse = std::strncmp(node->op, "Sparse", 6) == 0;
  if (!found) {
    hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "the handle does not point at an accumulator");
  } else if (dtype != HR_INVALID && found->spec.sparse != sparse) {
    hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "accumulator '%s' is %s, %s needs a %s one",
                found->spec.name.c_str(), sparse ? "dense" : "sparse", node->op,
                sparse ? "sparse" : "dense");
    return nullptr;
  } else if (dtype != HR_INVALID && found->spec.dtype != dtype) {
    hr_ctx_fail(
        ctx, HR_INVALID_ARGUMENT, "Signature mismatch: accumulator '%s' holds %s, %s has dtype %s",
        found->spec.name.c_str(), dtype_name(found->spec.dtype), node->op, dtype_name(dtype));
    return nullptr;
  }
  return found;
}

// ---- dense -------------------------------------------------------------------------------------

inline hr_code fail_shape(hr_ctx* ctx, const std::string& expected, const hr_tensor* actual) {
  return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "Shape mismatch: expected %s, got %s",
                     expected.c_str(), sizes_text(actual->rank, actual->dims).c_str());
}

inline hr_code add_dense(hr_ctx* ctx, const AccumulatorSpec& spec, const hr_tensor* gradient,
                         GradientSum* sum) {
  hr_tensor* value = sum->value.get();
  if (sum->count > 0 && !same_shape(value, gradient))
    return fail_shape(ctx, sizes_text(value->rank, value->dims), gradient);
  bool fits = spec.rank < 0 || spec.rank == gradient->rank;
  for (int32_t i = 0; fits && i < spec.rank; ++i)
    fits = spec.dims[i] < 0 || spec.dims[i] == gradient->dims[i];
  if (!fits) return fail_shape(ctx, sizes_text(spec.rank, spec.dims.data()), gradient);
  if (sum->count == 0) return keep_input(ctx, gradient, &sum->value);
  if (buffer_references(value->owner) != 1) {  // others hold the first gradient
    OwnedTensor copy;
    const hr_code code = new_tensor(ctx, value->dtype, value->rank, value->dims, &copy);
    if (code != HR_OK) return code;
    std::memcpy(copy.get()->data, value->data, static_cast<size_t>(value->bytes));
    sum->value.take_from(copy);
  }
  slot_add(sum->value.get(), gradient, 1);
  return HR_OK;
}

inline hr_code apply_dense(hr_ctx* ctx, void* state, void*, const hr_tensor* const* inputs,
                           hr_tensor* const*, void*) {
  auto* node = static_cast<hr_node*>(state);
  Accumulator* accumulator = accumulator_of(ctx, node, inputs[0], inputs[2]->dtype);
  if (!accumulator) return HR_INVALID_ARGUMENT;
  return accumulator->apply(*static_cast<const int64_t*>(inputs[1]->data), [&](GradientSum* sum) {
    return add_dense(ctx, accumulator->spec, inputs[2], sum);
  });
}

// ---- sparse ------------------------------------------------------------------------------------

struct SparseGradient {
  const hr_tensor *indices, *values, *shape;  // shape: null if it is not known
};

inline hr_code fail_sparse(hr_ctx* ctx, const std::string& text) {
  return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "%s", text.c_str());
}

inline std::string dim_text(const char* what, int32_t i, int64_t expected, int64_t actual) {
  return std::string("Shape mismatch: expected ") + what + " dim " + std::to_string(i) + " to be " +
         std::to_string(expected) + ", got " + std::to_string(actual);
}

// Checks a gradient against the declared shape.
inline hr_code check_declared(hr_ctx* ctx, const AccumulatorSpec& spec, const SparseGradient& g) {
  const int64_t n = g.indices->dims[0];
  if (g.shape) {
    const auto* sizes = static_cast<const int64_t*>(g.shape->data);
    if (spec.rank > hr_elements(g.shape))
      return fail_sparse(ctx, "Shape mismatch: expected shape rank at least " +
                                  std::to_string(spec.rank) + ", got " +
                                  std::to_string(hr_elements(g.shape)));
    for (int32_t i = 0; i < spec.rank; ++i)
      if (spec.dims[i] != -1 && spec.dims[i] != sizes[i])
        return fail_sparse(ctx, dim_text("shape", i, spec.dims[i], sizes[i]));
  }
  if (spec.rank > 0 && spec.dims[0] != -1) {
    const auto* indices = static_cast<const int64_t*>(g.indices->data);
    for (int64_t i = 0; i < n; ++i)
      if (indices[i] >= spec.dims[0])
        return fail_sparse(ctx, "Shape mismatch: index of slice " + std::to_string(i) +
                                    " exceeded limits of shape; index is " +
                                    std::to_string(indices[i]) + " exceeded " +
                                    std::to_string(spec.dims[0]));
  }
  return HR_OK;
}

// Checks a gradient's values against the sum, or the declared shape if there is no sum.
inline hr_code check_values(hr_ctx* ctx, const AccumulatorSpec& spec, const GradientSum& sum,
                            const hr_tensor* values) {
  const hr_tensor* held = sum.value.get();
  if (sum.count > 0 && held->rank != values->rank)
    return fail_sparse(ctx, "Shape mismatch: expected values rank " + std::to_string(held->rank) +
                                ", got " + std::to_string(values->rank));
  if (sum.count == 0 && spec.rank > values->rank)
    return fail_sparse(ctx, "Shape mismatch: expected values rank at least " +
                                std::to_string(spec.rank) + ", got " +
                                std::to_string(values->rank));
  const int32_t rank = sum.count > 0 ? held->rank : spec.rank;
  for (int32_t i = 1; i < rank; ++i) {
    const int64_t expected = sum.count > 0 ? held->dims[i] : spec.dims[i];
    if (expected != -1 && expected != values->dims[i])
      return fail_sparse(ctx, dim_text("values", i, expected, values->dims[i]));
  }
  return HR_OK;
}

inline hr_code check_sparse(hr_ctx* ctx, const AccumulatorSpec& spec, const GradientSum& sum,
                            const SparseGradient& g) {
  if (g.indices->rank != 1)
    return fail_sparse(ctx, "Input indices should be vector but received shape: " +
                                sizes_text(g.indices->rank, g.indices->dims));
  if (g.values->rank == 0) return fail_sparse(ctx, "Values cannot be 0-dimensional.");
  if (g.values->dims[0] != g.indices->dims[0])
    return fail_sparse(ctx, "Expected " + std::to_string(g.indices->dims[0]) +
                                " non-empty input values, got " +
                                std::to_string(g.values->dims[0]));
  const hr_code code = check_declared(ctx, spec, g);
  return code == HR_OK ? check_values(ctx, spec, sum, g.values) : code;
}

// Where a row of a sum of two comes from; -1: not from there.
struct MergedRow {
  int64_t sum, gradient;
};

// The rows of both in ascending order, if both are in ascending order. As in TensorFlow, a
// gradient's rows are neither sorted nor joined.
inline std::vector<MergedRow> merge_rows(const std::vector<int64_t>& held, const int64_t* indices,
                                         int64_t n) {
  std::vector<MergedRow> rows;
  const auto m = static_cast<int64_t>(held.size());
  rows.reserve(static_cast<size_t>(m + n));
  for (int64_t i = 0, j = 0; i < m || j < n;) {
    const bool from_sum = i < m && (j == n || held[static_cast<size_t>(i)] <= indices[j]);
    const bool from_gradient = j < n && (i == m || indices[j] <= held[static_cast<size_t>(i)]);
    rows.push_back({from_sum ? i++ : -1, from_gradient ? j++ : -1});
  }
  return rows;
}

inline hr_tensor row_of(const hr_tensor& matrix, int64_t row, int64_t row_bytes) {
  hr_tensor out = matrix;
  out.dims[0] = 1;
  out.bytes = row_bytes;
  out.data = static_cast<char*>(matrix.data) + row * row_bytes;
  return out;
}

inline hr_code add_sparse(hr_ctx* ctx, const AccumulatorSpec& spec, const SparseGradient& g,
                          GradientSum* sum) {
  const hr_code checked = check_sparse(ctx, spec, *sum, g);
  if (checked != HR_OK) return checked;
  const auto* indices = static_cast<const int64_t*>(g.indices->data);
  const int64_t n = g.indices->dims[0];
  GradientSum merged;
  if (sum->count == 0) {
    merged.indices.assign(indices, indices + n);
    merged.counts.assign(static_cast<size_t>(n), 1);
    const hr_code code = keep_input(ctx, g.values, &merged.value);
    if (code != HR_OK) return code;
    sum->swap(merged);
    return HR_OK;
  }
  const std::vector<MergedRow> rows = merge_rows(sum->indices, indices, n);
  hr_tensor shape = *g.values;
  shape.dims[0] = static_cast<int64_t>(rows.size());
  const hr_code code = new_tensor(ctx, shape.dtype, shape.rank, shape.dims, &merged.value);
  if (code != HR_OK) return code;
  const int64_t row_bytes = rows.empty() ? 0 : merged.value.get()->bytes / shape.dims[0];
  for (size_t i = 0; i < rows.size(); ++i) {
    const MergedRow& row = rows[i];
    hr_tensor out = row_of(*merged.value.get(), static_cast<int64_t>(i), row_bytes);
    const hr_tensor first = row.sum >= 0 ? row_of(*sum->value.get(), row.sum, row_bytes)
                                         : row_of(*g.values, row.gradient, row_bytes);
    std::memcpy(out.data, first.data, static_cast<size_t>(row_bytes));
    const bool both = row.sum >= 0 && row.gradient >= 0;
    if (both) {
      const hr_tensor second = row_of(*g.values, row.gradient, row_bytes);
      slot_add(&out, &second, 1);
    }
    const size_t held = row.sum >= 0 ? static_cast<size_t>(row.sum) : 0;
    merged.indices.push_back(row.sum >= 0 ? sum->indices[held] : indices[row.gradient]);
    merged.counts.push_back((row.sum >= 0 ? sum->counts[held] : 1) + (both ? 1 : 0));
  }
  merged.count = sum->count;
  sum->swap(merged);
  return HR_OK;
}

inline hr_code apply_sparse(hr_ctx* ctx, void* state, void*, const hr_tensor* const* inputs,
                            hr_tensor* const*, void*) {
  auto* node = static_cast<hr_node*>(state);
  Accumulator* accumulator = accumulator_of(ctx, node, inputs[0], inputs[3]->dtype);
  if (!accumulator) return HR_INVALID_ARGUMENT;
  const SparseGradient gradient{inputs[2], inputs[3],
                                hr_attr_bool(node, "has_known_shape", 0) ? inputs[4] : nullptr};
  return accumulator->apply(*static_cast<const int64_t*>(inputs[1]->data), [&](GradientSum* sum) {
    return add_sparse(ctx, accumulator->spec, gradient, sum);
  });
}

// ---- taking ------------------------------------------------------------------------------------

// Divides the sum by the number of gradients: of a sparse sum each row by its own.
inline hr_code divide(hr_ctx* ctx, GradientSum* sum) {
  hr_tensor* value = sum->value.get();
  if (buffer_references(value->owner) != 1) {
    OwnedTensor copy;
    const hr_code code = new_tensor(ctx, value->dtype, value->rank, value->dims, &copy);
    if (code != HR_OK) return code;
    std::memcpy(copy.get()->data, value->data, static_cast<size_t>(value->bytes));
    sum->value.take_from(copy);
    value = sum->value.get();
  }
  const int64_t rows = static_cast<int64_t>(sum->counts.size()), n = hr_elements(value);
  if (rows == 0) {
    slot_divide(value->dtype, value->data, n, sum->count);
    return HR_OK;
  }
  for (int64_t i = 0; i < rows; ++i)
    slot_divide(value->dtype, static_cast<char*>(value->data) + i * (value->bytes / rows), n / rows,
                sum->counts[static_cast<size_t>(i)]);
  return HR_OK;
}

inline hr_code give_vector(hr_ctx* ctx, const std::vector<int64_t>& values, hr_tensor* output) {
  output->rank = 1;
  output->dims[0] = static_cast<int64_t>(values.size());
  const hr_code code = ctx->api->allocate(ctx, output);
  if (code == HR_OK && !values.empty())
    std::memcpy(output->data, values.data(), values.size() * sizeof(int64_t));
  return code;
}

inline hr_code complete_take(Accumulator* accumulator, TakeGradient* take) {
  const AccumulatorSpec& spec = accumulator->spec;
  const bool alone = take->sum.count == 1 && take->sum.counts.empty();
  const hr_code code = spec.mean && !alone ? divide(take->ctx, &take->sum) : HR_OK;
  if (code != HR_OK || !spec.sparse) {
    if (code == HR_OK) *take->outputs[0] = take->sum.value.take();
    return code;
  }
  const hr_tensor* value = take->sum.value.get();
  std::vector<int64_t> shape(value->dims, value->dims + value->rank);
  shape[0] = spec.rank > 0 ? spec.dims[0] : -1;
  const hr_code given = give_vector(take->ctx, take->sum.indices, take->outputs[0]);
  if (given != HR_OK) return given;
  *take->outputs[1] = take->sum.value.take();
  return give_vector(take->ctx, shape, take->outputs[2]);
}

inline void take(hr_ctx* ctx, void* state, void*, const hr_tensor* const* inputs,
                 hr_tensor* const* outputs, void*, hr_done done, void* argument) {
  auto* node = static_cast<hr_node*>(state);
  Accumulator* accumulator = accumulator_of(ctx, node, inputs[0], hr_attr_type(node, "dtype"));
  const int32_t required = *static_cast<const int32_t*>(inputs[1]->data);
  if (!accumulator) return done(argument, HR_INVALID_ARGUMENT);
  if (required <= 0) {
    const hr_code code =
        hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "Argument num_required must be positive, but was %d",
                    static_cast<int>(required));
    return done(argument, code);
  }
  Accumulator::Waiters one = accumulator->new_waiter(ctx, outputs, node->n_outputs, done, argument);
  one.front()->required = required;
  Accumulator::submit(std::move(one));
}

inline hr_code set_global_step(hr_ctx* ctx, void* state, void*, const hr_tensor* const* inputs,
                               hr_tensor* const*, void*) {
  Accumulator* accumulator =
      accumulator_of(ctx, static_cast<hr_node*>(state), inputs[0], HR_INVALID);
  if (!accumulator) return HR_INVALID_ARGUMENT;
  accumulator->set_global_step(*static_cast<const int64_t*>(inputs[1]->data));
  return HR_OK;
}

inline hr_code num_accumulated(hr_ctx* ctx, void* state, void*, const hr_tensor* const* inputs,
                               hr_tensor* const* outputs, void*) {
  Accumulator* accumulator =
      accumulator_of(ctx, static_cast<hr_node*>(state), inputs[0], HR_INVALID);
  if (!accumulator) return HR_INVALID_ARGUMENT;
  *static_cast<int32_t*>(outputs[0]->data) = static_cast<int32_t>(accumulator->count());
  return HR_OK;
}

inline void add_kernels(std::vector<hr_kernel>* table) {
  const auto typed = [](hr_kernel kernel) {
    kernel.constraint = kDtypes;
    return kernel;
  };
  table->insert(table->end(),
                {
                    typed(handle_kernel("ConditionalAccumulator", create_dense)),
                    typed(handle_kernel("ResourceConditionalAccumulator", create_dense)),
                    typed(handle_kernel("SparseConditionalAccumulator", create_sparse)),
                    typed(plain_kernel("AccumulatorApplyGradient", apply_dense)),
                    typed(plain_kernel("ResourceAccumulatorApplyGradient", apply_dense)),
                    typed(plain_kernel("SparseAccumulatorApplyGradient", apply_sparse)),
                    typed(async_kernel("AccumulatorTakeGradient", take)),
                    typed(async_kernel("ResourceAccumulatorTakeGradient", take)),
                    typed(async_kernel("SparseAccumulatorTakeGradient", take)),
                    plain_kernel("AccumulatorSetGlobalStep", set_global_step),
                    plain_kernel("ResourceAccumulatorSetGlobalStep", set_global_step),
                    plain_kernel("AccumulatorNumAccumulated", num_accumulated),
                    plain_kernel("ResourceAccumulatorNumAccumulated", num_accumulated),
                });
}

}  // namespace headrace::accumulators
