// Ops of sparse tensors, each three tensors: indices [n, rank], values [n], shape [rank].
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "loops/elements.hpp"
#include "math/arithmetic.hpp"
#include "processor/parallel.hpp"
#include "table/indices.hpp"

namespace hr {
namespace {

bool inside(const int64_t* row, const std::vector<int64_t>& shape) {
  for (size_t d = 0; d < shape.size(); ++d)
    if (row[d] < 0 || row[d] >= shape[d]) return false;
  return true;
}

// The row-major place of a row of indices in a shape whose elements can be counted, or -1 where
// it leads outside.
int64_t place(const int64_t* row, const std::vector<int64_t>& shape) {
  if (!inside(row, shape)) return -1;
  int64_t at = 0;
  for (size_t d = 0; d < shape.size(); ++d) at = at * shape[d] + row[d];
  return at;
}

hr_code uncountable(hr_ctx* ctx, const char* name, const std::vector<int64_t>& shape) {
  return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                     "%s %s has a negative size or more elements than can be counted", name,
                     (const char*)ShapeText(int32_t(shape.size()), shape.data()));
}

hr_code outside(hr_ctx* ctx, int64_t i, const int64_t* row, const std::vector<int64_t>& shape) {
  return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                     "indices[%lld] = %s is out of bounds: the shape is %s", (long long)i,
                     (const char*)ShapeText(int32_t(shape.size()), row),
                     (const char*)ShapeText(int32_t(shape.size()), shape.data()));
}

// Whether indices, values and shape belong together; rank at most HR_MAX_RANK.
hr_code check_triplet(hr_ctx* ctx, const hr_tensor* indices, const hr_tensor* values,
                      const hr_tensor* shape) {
  if (indices->rank == 2 && hr_elements(values) == indices->dims[0] &&
      hr_elements(shape) == indices->dims[1] && indices->dims[1] <= HR_MAX_RANK)
    return HR_OK;
  return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                     "indices %s, values %s and shape %s are not a sparse tensor",
                     (const char*)ShapeText(indices), (const char*)ShapeText(values),
                     (const char*)ShapeText(shape));
}

// ---- SparseToDense ------------------------------------------------------------------------------

struct DensePlan {
  bool validate;
};

hr_code compute_to_dense(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                         hr_tensor* const* out, void*) {
  const bool validate = static_cast<const DensePlan*>(plan)->validate;
  const auto indices = to_int64(in[0]);
  const std::vector<int64_t> shape(out[0]->dims, out[0]->dims + out[0]->rank);
  const int64_t rank = int64_t(shape.size());
  const int64_t n = in[0]->rank == 0 ? 1 : in[0]->dims[0], size = hr_dtype_size(out[0]->dtype);
  const bool single = in[2]->rank == 0;
  fill_elements(ctx, out[0]->dtype, out[0]->data, in[3]->data, hr_elements(out[0]));
  int64_t before = -1;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t at = place(indices.data() + i * rank, shape);
    if (at < 0) return outside(ctx, i, indices.data() + i * rank, shape);
    if (validate && at <= before)
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "indices[%lld] = %s is %s", (long long)i,
                         (const char*)ShapeText(int32_t(rank), indices.data() + i * rank),
                         at == before ? "repeated" : "out of order");
    before = at;
    copy_elements(ctx, out[0]->dtype, size, write<char>(out[0]) + at * size,
                  read<char>(in[2]) + (single ? 0 : i) * size, 1);
  }
  return HR_OK;
}

hr_code prepare_to_dense(void*, hr_request* r) {
  const hr_tensor *indices = r->inputs[0], *shape = r->inputs[1], *values = r->inputs[2];
  const int64_t rank = hr_elements(shape);
  const int64_t n = indices->rank == 0 ? 1 : indices->dims[0];
  const int64_t depth = indices->rank == 2 ? indices->dims[1] : 1;
  if (shape->rank != 1)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "output_shape should be a vector, got shape %s",
                           (const char*)ShapeText(shape));
  if (r->inputs[3]->rank != 0)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "default_value should be a scalar.");
  if (rank > HR_MAX_RANK)
    return hr_request_fail(r, HR_UNIMPLEMENTED, "a shape of %lld dimensions, at most %d",
                           (long long)rank, HR_MAX_RANK);
  if (indices->rank > 2 || depth != rank || values->rank > 1 ||
      (values->rank && hr_elements(values) != n))
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "sparse_indices %s and sparse_values %s do not fit output_shape %s",
                           (const char*)ShapeText(indices), (const char*)ShapeText(values),
                           (const char*)ShapeText(shape));
  r->outputs[0]->rank = int32_t(rank);
  for (int64_t d = 0; d < rank; ++d) {
    r->outputs[0]->dims[d] = int_at(shape, d);
    if (r->outputs[0]->dims[d] < 0)
      return hr_request_fail(r, HR_INVALID_ARGUMENT, "output_shape has a negative size");
  }
  keep_plan(r, new DensePlan{hr_attr_bool(r->node, "validate_indices", 1) != 0});
  r->compute = compute_to_dense;
  return HR_OK;
}

// ---- SparseReshape ------------------------------------------------------------------------------

hr_code compute_reshape(hr_ctx* ctx, void*, void*, const hr_tensor* const* in,
                        hr_tensor* const* out, void*) {
  const auto old_shape = to_int64(in[1]);
  auto shape = to_int64(in[2]);
  int64_t total, known;
  if (!checked_product(old_shape, &total)) return uncountable(ctx, "input_shape", old_shape);
  const auto unknown = std::find(shape.begin(), shape.end(), -1);
  if (unknown != shape.end()) *unknown = 1;
  if (!checked_product(shape, &known)) return uncountable(ctx, "new_shape", shape);
  if (unknown != shape.end() && !known)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "reshape cannot infer the missing input size for an empty tensor unless all "
                       "specified input sizes are non-zero");
  if (unknown != shape.end()) known *= * unknown = total / known;
  if (known != total)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "%lld elements do not fit new_shape %s",
                       (long long)total,
                       (const char*)ShapeText(int32_t(shape.size()), shape.data()));
  const int64_t n = in[0]->dims[0], rank = int64_t(shape.size());
  const int64_t old_rank = int64_t(old_shape.size());
  if (in[0]->dims[1] != old_rank)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "input_indices %s do not fit input_shape %s",
                       (const char*)ShapeText(in[0]), (const char*)ShapeText(in[1]));
  for (int64_t i = 0; i < n; ++i) {
    const int64_t* row = read<int64_t>(in[0]) + i * old_rank;
    int64_t at = place(row, old_shape);
    if (at < 0) return outside(ctx, i, row, old_shape);
    for (int64_t d = rank - 1; d >= 0; --d) {
      write<int64_t>(out[0])[i * rank + d] = at % shape[size_t(d)];
      at /= shape[size_t(d)];
    }
  }
  std::copy(shape.begin(), shape.end(), write<int64_t>(out[1]));
  return HR_OK;
}

hr_code prepare_reshape(void*, hr_request* r) {
  HR_APPLY_RULE(sparse_reshape, r);
  return HR_OK;
}

// ---- SparseReorder ------------------------------------------------------------------------------

std::vector<int64_t> sorted_rows(const int64_t* indices, int64_t n, int64_t rank) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), int64_t(0));
  std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
    return std::lexicographical_compare(indices + i * rank, indices + (i + 1) * rank,
                                        indices + j * rank, indices + (j + 1) * rank);
  });
  return order;
}

hr_code compute_reorder(hr_ctx* ctx, void*, void*, const hr_tensor* const* in,
                        hr_tensor* const* out, void*) {
  const int64_t n = in[0]->dims[0], rank = in[0]->dims[1];
  const auto order = sorted_rows(read<int64_t>(in[0]), n, rank);
  const int64_t size = hr_dtype_size(in[1]->dtype);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t from = order[size_t(i)];
    std::copy_n(read<int64_t>(in[0]) + from * rank, rank, write<int64_t>(out[0]) + i * rank);
    copy_elements(ctx, in[1]->dtype, size, write<char>(out[1]) + i * size,
                  read<char>(in[1]) + from * size, 1);
  }
  return HR_OK;
}

hr_code prepare_reorder(void*, hr_request* r) {
  if (r->inputs[0]->rank != 2 || r->inputs[1]->rank != 1 ||
      r->inputs[0]->dims[0] != r->inputs[1]->dims[0])
    return hr_request_fail(
        r, HR_INVALID_ARGUMENT, "input_indices %s and input_values %s are not a sparse tensor",
        (const char*)ShapeText(r->inputs[0]), (const char*)ShapeText(r->inputs[1]));
  if (r->inputs[2]->rank != 1 || r->inputs[2]->dims[0] != r->inputs[0]->dims[1])
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "Index rank (%lld) and shape %s of input_shape do not match",
                           (long long)r->inputs[0]->dims[1], (const char*)ShapeText(r->inputs[2]));
  copy_shape(r->inputs[0], r->outputs[0]);
  copy_shape(r->inputs[1], r->outputs[1]);
  return HR_OK;
}

// ---- SparseConcat -------------------------------------------------------------------------------

struct ConcatPlan {
  int32_t n;
  int64_t axis;
};

hr_code compute_concat(hr_ctx* ctx, void*, void* plan_, const hr_tensor* const* in,
                       hr_tensor* const* out, void*) {
  const auto& p = *static_cast<const ConcatPlan*>(plan_);
  const int64_t rank = in[0]->dims[1], total = out[0]->dims[0];
  std::vector<int64_t> indices, shape = to_int64(in[2 * p.n]);
  std::vector<const char*> values;
  const hr_dtype dtype = in[p.n]->dtype;
  const int64_t size = hr_dtype_size(dtype);
  int64_t offset = 0;
  for (int32_t k = 0; k < p.n; ++k) {
    const hr_tensor *rows = in[k], *part = in[p.n + k];
    if (hr_code code = check_triplet(ctx, rows, part, in[2 * p.n + k])) return code;
    if (rows->dims[1] != rank)
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "shapes 0 and %d have ranks %lld and %lld",
                         int(k), (long long)rank, (long long)rows->dims[1]);
    const auto own = to_int64(in[2 * p.n + k]);
    for (int64_t d = 0; d < rank; ++d)
      if (d != p.axis && own[size_t(d)] != shape[size_t(d)])
        return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                           "shapes 0 and %d differ in dimension %lld: %lld and %lld", int(k),
                           (long long)d, (long long)shape[size_t(d)], (long long)own[size_t(d)]);
    for (int64_t i = 0; i < rows->dims[0]; ++i) {
      for (int64_t d = 0; d < rank; ++d)
        indices.push_back(read<int64_t>(rows)[i * rank + d] + (d == p.axis ? offset : 0));
      values.push_back(read<char>(part) + i * size);
    }
    const int64_t more = own[size_t(p.axis)];
    if (more < 0 || offset > INT64_MAX - more)
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                         "Encountered overflow from large input shape: %lld and %lld",
                         (long long)offset, (long long)more);
    offset += more;
  }
  const auto order = sorted_rows(indices.data(), total, rank);
  for (int64_t i = 0; i < total; ++i) {
    const size_t from = size_t(order[size_t(i)]);
    std::copy_n(indices.data() + int64_t(from) * rank, rank, write<int64_t>(out[0]) + i * rank);
    copy_elements(ctx, dtype, size, write<char>(out[1]) + i * size, values[from], 1);
  }
  shape[size_t(p.axis)] = offset;
  std::copy(shape.begin(), shape.end(), write<int64_t>(out[2]));
  return HR_OK;
}

hr_code prepare_concat(void*, hr_request* r) {
  HR_APPLY_RULE(sparse_concat, r);
  const int64_t concat_dim = hr_attr_int(r->node, "concat_dim", 0);
  const int64_t axis = axis_of(concat_dim, r->inputs[0]->dims[1]);
  if (axis < 0)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "concat_dim %lld is out of range for rank %lld",
                           (long long)concat_dim, (long long)r->inputs[0]->dims[1]);
  keep_plan(r, new ConcatPlan{r->node->n_inputs / 3, axis});
  r->compute = compute_concat;
  return HR_OK;
}

// ---- SparseFillEmptyRows ------------------------------------------------------------------------

hr_code compute_fill_rows(hr_ctx* ctx, void*, void*, const hr_tensor* const* in,
                          hr_tensor* const* out, void*) {
  if (hr_code code = check_triplet(ctx, in[0], in[1], in[2])) return code;
  const int64_t n = in[0]->dims[0], rank = in[0]->dims[1];
  if (rank == 0) return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "the tensor must have rows");
  const int64_t rows = int_at(in[2], 0), size = hr_dtype_size(in[1]->dtype);
  const int64_t* indices = read<int64_t>(in[0]);
  if (rows < 0)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "dense_shape[0] is negative: %lld",
                       (long long)rows);
  // First how many values a row has, then where the next of them goes.
  std::vector<int64_t> next(size_t(rows), 0);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t row = indices[i * rank];
    if (row < 0 || row >= rows)
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "indices(%lld, 0) is invalid: %lld >= %lld",
                         (long long)i, (long long)row, (long long)rows);
    ++next[size_t(row)];
  }
  int64_t total = 0;
  for (const int64_t count : next) total += std::max<int64_t>(1, count);
  set_shape(out[0], {total, rank});
  set_shape(out[1], {total});
  set_shape(out[2], {rows});
  set_shape(out[3], {n});
  for (int k = 0; k < 4; ++k)
    if (hr_code code = ctx->api->allocate(ctx, out[k])) return code;
  const auto put = [&](int64_t at, const int64_t* index, const char* value) {
    std::copy_n(index, rank, write<int64_t>(out[0]) + at * rank);
    copy_elements(ctx, in[1]->dtype, size, write<char>(out[1]) + at * size, value, 1);
  };
  std::vector<int64_t> blank(size_t(rank), 0);
  int64_t at = 0;
  for (int64_t row = 0; row < rows; ++row) {
    if (row % kElementsBetweenPolls == 0) poll(ctx);
    const int64_t count = next[size_t(row)];
    next[size_t(row)] = at;
    write<bool>(out[2])[row] = count == 0;
    blank[0] = row;
    if (count == 0) put(at, blank.data(), read<char>(in[3]));
    at += std::max<int64_t>(1, count);
  }
  for (int64_t i = 0; i < n; ++i) {
    const int64_t to = next[size_t(indices[i * rank])]++;
    write<int64_t>(out[3])[i] = to;
    put(to, indices + i * rank, read<char>(in[1]) + i * size);
  }
  return HR_OK;
}

hr_code prepare_fill_rows(void*, hr_request* r) {
  HR_APPLY_DATA_RULE(sparse_fill_empty_rows, r);
  if (r->inputs[3]->rank != 0)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "default_value must be a scalar, saw: %s",
                           (const char*)ShapeText(r->inputs[3]));
  r->shape_depends_on_data = 1;
  return HR_OK;
}

template <class T>
hr_code compute_fill_rows_grad(hr_ctx* ctx, void*, void*, const hr_tensor* const* in,
                               hr_tensor* const* out, void*) {
  using C = Compute<T>;
  const int64_t n = hr_elements(in[0]), total = hr_elements(in[1]);
  std::vector<bool> taken(static_cast<size_t>(total), false);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t from = read<int64_t>(in[0])[i];
    if (from < 0 || from >= total)
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                         "reverse_index_map[%lld] = %lld is not in [0, %lld)", (long long)i,
                         (long long)from, (long long)total);
    write<T>(out[0])[i] = read<T>(in[1])[from];
    taken[size_t(from)] = true;
  }
  C rest = C(0);
  for (int64_t i = 0; i < total; ++i)
    if (!taken[size_t(i)]) rest = plus(rest, C(read<T>(in[1])[i]));
  *write<T>(out[1]) = T(rest);
  return HR_OK;
}

hr_code prepare_fill_rows_grad(void*, hr_request* r) {
  HR_APPLY_RULE(sparse_fill_empty_rows_grad, r);
  if (r->inputs[1]->rank != 1)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "grad_values must be a vector, saw: %s",
                           (const char*)ShapeText(r->inputs[1]));
  r->compute = with_type(
      as_unsigned(r->inputs[1]->dtype), Signless<Numbers>{},
      [](auto t) -> hr_compute { return compute_fill_rows_grad<typename decltype(t)::type>; });
  return HR_OK;
}

// ---- SparseReduceSum and SparseReduceMax --------------------------------------------------------

template <class T, bool largest>
hr_code compute_reduce(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                       hr_tensor* const* out, void*) {
  using C = Compute<T>;
  const bool keep = plan != nullptr;
  if (hr_code code = check_triplet(ctx, in[0], in[1], in[2])) return code;
  const auto shape = to_int64(in[2]);
  const int64_t rank = int64_t(shape.size()), n = in[0]->dims[0];
  std::vector<bool> gone(size_t(rank), false);  // no axes: nothing goes, as in TensorFlow
  for (int64_t i = 0, m = hr_elements(in[3]); i < m; ++i) {
    const int64_t axis = axis_of(int_at(in[3], i), rank);
    if (axis < 0)
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "axis %lld is out of range for rank %lld",
                         (long long)int_at(in[3], i), (long long)rank);
    gone[size_t(axis)] = true;
  }
  out[0]->rank = 0;
  int64_t steps[HR_MAX_RANK], step = 1;
  for (int64_t d = rank - 1; d >= 0; --d) {
    steps[d] = gone[size_t(d)] ? 0 : step;
    if (!gone[size_t(d)]) step *= shape[size_t(d)];
  }
  for (int64_t d = 0; d < rank; ++d)
    if (!gone[size_t(d)] || keep)
      out[0]->dims[out[0]->rank++] = gone[size_t(d)] ? 1 : shape[size_t(d)];
  if (hr_code code = ctx->api->allocate(ctx, out[0])) return code;
  std::vector<C> totals(size_t(step), C(0));
  std::vector<bool> seen(size_t(step), false);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t* row = read<int64_t>(in[0]) + i * rank;
    if (i % kElementsBetweenPolls == 0) poll(ctx);
    if (!inside(row, shape)) return outside(ctx, i, row, shape);
    int64_t at = 0;
    for (int64_t d = 0; d < rank; ++d) at += row[d] * steps[d];
    const C value = read<T>(in[1])[i];
    C& total = totals[size_t(at)];
    if constexpr (largest) total = seen[size_t(at)] ? larger(total, value) : value;
    else total = plus(total, value);
    seen[size_t(at)] = true;
  }
  for (size_t i = 0; i < totals.size(); ++i) write<T>(out[0])[i] = T(totals[i]);
  return HR_OK;
}

template <bool largest, class Set> hr_code prepare_reduce(void*, hr_request* r) {
  static char yes;
  if (r->inputs[3]->rank > 1)
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "Expected reduction_axes to be a scalar or a vector; got shape: %s",
                           (const char*)ShapeText(r->inputs[3]));
  r->plan = hr_attr_bool(r->node, "keep_dims", 0) ? &yes : nullptr;
  r->shape_depends_on_data = 1;
  const hr_dtype dtype = r->inputs[1]->dtype;
  const auto of = [](auto t) -> hr_compute {
    return compute_reduce<typename decltype(t)::type, largest>;
  };
  if constexpr (largest) r->compute = with_type(dtype, Set{}, of);
  else r->compute = with_type(as_unsigned(dtype), Signless<Set>{}, of);
  return HR_OK;
}

// ---- SparseTensorDenseMatMul --------------------------------------------------------------------

struct ProductPlan {
  bool adjoint_a, adjoint_b;
};

template <class T>
hr_code compute_product(hr_ctx* ctx, void*, void* plan_, const hr_tensor* const* in,
                        hr_tensor* const* out, void*) {
  using C = Compute<T>;
  const auto& p = *static_cast<const ProductPlan*>(plan_);
  const int64_t m = out[0]->dims[0], n = out[0]->dims[1];
  const int64_t inner = in[3]->dims[p.adjoint_b ? 1 : 0], columns = in[3]->dims[1];
  const auto indices = to_int64(in[0]);
  const int64_t count = in[0]->dims[0];
  std::vector<C> sum(size_t(m * n), C(0));
  const int64_t between_polls = kElementsBetweenPolls / (n + 1) + 1;
  for (int64_t i = 0; i < count; ++i) {
    if (i % between_polls == 0) poll(ctx);
    const int64_t row = indices[size_t(2 * i + (p.adjoint_a ? 1 : 0))];
    const int64_t k = indices[size_t(2 * i + (p.adjoint_a ? 0 : 1))];
    if (row < 0 || row >= m || k < 0 || k >= inner)
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                         "a_indices[%lld] = [%lld, %lld] is out of bounds", (long long)i,
                         (long long)indices[size_t(2 * i)], (long long)indices[size_t(2 * i + 1)]);
    C value = read<T>(in[1])[i];
    if (p.adjoint_a) value = conjugate(value);
    C* to = sum.data() + row * n;
    const T* b = read<T>(in[3]);
    if (!p.adjoint_b)
      for (int64_t j = 0; j < n; ++j) to[j] = plus(to[j], times(value, C(b[k * columns + j])));
    else
      for (int64_t j = 0; j < n; ++j)
        to[j] = plus(to[j], times(value, conjugate(C(b[j * columns + k]))));
  }
  for (size_t i = 0; i < sum.size(); ++i) write<T>(out[0])[i] = T(sum[i]);
  return HR_OK;
}

hr_code prepare_product(void*, hr_request* r) {
  HR_APPLY_RULE(sparse_dense_matmul, r);
  if (r->inputs[0]->rank != 2 || r->inputs[0]->dims[1] != 2 ||
      hr_elements(r->inputs[1]) != r->inputs[0]->dims[0])
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "a_indices %s and a_values %s are not a matrix",
                           (const char*)ShapeText(r->inputs[0]),
                           (const char*)ShapeText(r->inputs[1]));
  keep_plan(r, new ProductPlan{hr_attr_bool(r->node, "adjoint_a", 0) != 0,
                               hr_attr_bool(r->node, "adjoint_b", 0) != 0});
  r->compute =
      with_type(as_unsigned(r->inputs[1]->dtype), Signless<Numbers>{},
                [](auto t) -> hr_compute { return compute_product<typename decltype(t)::type>; });
  return HR_OK;
}

}  // namespace

HR_KERNELS = {
    kernel("SparseToDense", nullptr, prepare_to_dense).constant(1),
    kernel("SparseReshape", nullptr, prepare_reshape, compute_reshape),
    kernel("SparseReorder", nullptr, prepare_reorder, compute_reorder),
    kernel("SparseConcat", nullptr, prepare_concat),
    kernel("SparseFillEmptyRows", nullptr, prepare_fill_rows, compute_fill_rows)
        .is(HR_KERNEL_DATA_SHAPE),
    kernel("SparseFillEmptyRowsGrad", "T=" HR_NUMBERS, prepare_fill_rows_grad),
    kernel("SparseReduceSum", "T=" HR_NUMBERS, prepare_reduce<false, Numbers>)
        .is(HR_KERNEL_DATA_SHAPE),
    kernel("SparseReduceMax", "T=" HR_REALS, prepare_reduce<true, Reals>).is(HR_KERNEL_DATA_SHAPE),
    kernel("SparseTensorDenseMatMul", "T=" HR_NUMBERS, prepare_product).constant(2),
};

}  // namespace hr
