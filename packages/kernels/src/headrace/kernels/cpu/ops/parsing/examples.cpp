// ParseExample, ParseExampleV2, ParseSingleExample.
#include <memory>

#include "library/registration.hpp"
#include "library/shapes.hpp"
#include "library/text.hpp"
#include "ops/parsing/requested.hpp"

namespace hr::parsing {
namespace {

constexpr AttributeNames kNames = {"sparse_types", "Tdense", "dense_shapes", "ragged_value_types",
                                   "ragged_split_types"};

struct State {
  Requested requested;
  std::vector<std::string> sparse_keys, dense_keys;  // of ParseSingleExample
};

hr_code read_state(const hr_node* node, State* state) {
  if (hr_code code = read_requested(node, kNames, true, &state->requested)) return code;
  const Requested& r = state->requested;
  return check_lengths(node, "dense_keys", r.dense.size(), "dense_shapes", r.shapes.size());
}

hr_code create_example(hr_node* node, void** state) {
  auto made = std::make_unique<State>();
  if (hr_code code = read_state(node, made.get())) return code;
  const Requested& r = made->requested;
  const size_t n_sparse = size_t(hr_attr_int(node, "Nsparse", 0));
  const size_t n_dense = size_t(hr_attr_int(node, "Ndense", 0));
  if (hr_code code = check_lengths(node, "sparse_keys", n_sparse, "sparse_types", r.sparse.size()))
    return code;
  if (hr_code code = check_lengths(node, "dense_keys", n_dense, "dense_types", r.dense.size()))
    return code;
  *state = made.release();
  return HR_OK;
}

hr_code create_example_v2(hr_node* node, void** state) {
  auto made = std::make_unique<State>();
  if (hr_code code = read_state(node, made.get())) return code;
  const Requested& r = made->requested;
  const size_t n_sparse = size_t(hr_attr_int(node, "num_sparse", 0));
  if (hr_code code = check_lengths(node, "sparse_keys", n_sparse, "sparse_types", r.sparse.size()))
    return code;
  if (hr_code code = check_lengths(node, "ragged_keys", r.ragged.size(), "ragged_split_types",
                                   r.ragged_splits.size()))
    return code;
  *state = made.release();
  return HR_OK;
}

hr_code create_single(hr_node* node, void** state) {
  auto made = std::make_unique<State>();
  if (hr_code code = read_state(node, made.get())) return code;
  for (const hr_string& key : attr_strings(node, "sparse_keys"))
    made->sparse_keys.emplace_back(text_of(key));
  for (const hr_string& key : attr_strings(node, "dense_keys"))
    made->dense_keys.emplace_back(text_of(key));
  const Requested& r = made->requested;
  const int64_t number = hr_attr_int(node, "num_sparse", 0);
  if (number != int64_t(made->sparse_keys.size()) || number != int64_t(r.sparse.size()))
    return node->api->fail(
        node, HR_INVALID_ARGUMENT,
        "num_sparse (%lld) must match the size of sparse_keys (%zu) and sparse_types (%zu)",
        (long long)number, made->sparse_keys.size(), r.sparse.size());
  if (hr_code code =
          check_lengths(node, "dense_keys", made->dense_keys.size(), "dense_types", r.dense.size()))
    return code;
  *state = made.release();
  return HR_OK;
}

void destroy_state(void* state) { delete static_cast<State*>(state); }

// Key i of the kind; the last two: the position of the first default and of the first output.
template <class SparseKey, class DenseKey, class RaggedKey>
std::vector<Column> columns_of(const Requested& r, const hr_tensor* const* defaults,
                               hr_tensor* const* outputs, SparseKey&& sparse_key,
                               DenseKey&& dense_key, RaggedKey&& ragged_key) {
  std::vector<Column> columns;
  const size_t n_sparse = r.sparse.size(), n_dense = r.dense.size(), n_ragged = r.ragged.size();
  for (size_t i = 0; i < n_sparse; ++i) {
    Column column;
    column.kind = Column::kSparse;
    column.key = sparse_key(i);
    column.dtype = r.sparse[i];
    column.indices = outputs[i];
    column.values = outputs[n_sparse + i];
    column.shape = outputs[2 * n_sparse + i];
    columns.push_back(column);
  }
  outputs += 3 * n_sparse;
  for (size_t i = 0; i < n_dense; ++i) {
    Column column;
    column.key = dense_key(i);
    column.dtype = r.dense[i];
    column.values = outputs[i];
    set_dense(&column, r, i, defaults[i]);
    columns.push_back(column);
  }
  outputs += n_dense;
  for (size_t i = 0; i < n_ragged; ++i) {
    Column column;
    column.kind = Column::kRagged;
    column.key = ragged_key(i);
    column.dtype = r.ragged[i];
    column.values = outputs[i];
    column.splits = outputs[n_ragged + i];
    columns.push_back(column);
  }
  return columns;
}

[[noreturn]] void invalid(const std::string& text) { throw Failure{HR_INVALID_ARGUMENT, text}; }

void check_names(const hr_tensor* names, const hr_tensor* serialized) {
  if (hr_elements(names) && !same_shape(names, serialized))
    invalid(std::string("Expected names have the same shape as serialized: name.shape=") +
            ShapeText(names).text + ", serialized.shape=" + ShapeText(serialized).text);
}

hr_code compute_example(hr_ctx* ctx, void* state, void*, const hr_tensor* const* in,
                        hr_tensor* const* out, void*) {
  return error_boundary(ctx, [&] {
    const Requested& r = static_cast<const State*>(state)->requested;
    if (in[0]->rank != 1)
      invalid(std::string("Expected serialized to be a vector, got shape: ") +
              ShapeText(in[0]).text);
    check_names(in[1], in[0]);
    const size_t n_sparse = r.sparse.size(), n_keys = n_sparse + r.dense.size();
    for (size_t i = 0; i < n_keys; ++i)
      if (hr_elements(in[2 + i]) != 1)
        invalid(std::string("Expected the keys to be scalars, got shape: ") +
                ShapeText(in[2 + i]).text);
    const auto columns = columns_of(
        r, in + 2 + n_keys, out, [&](size_t i) { return key_in(in[2 + i], 0); },
        [&](size_t i) { return key_in(in[2 + n_sparse + i], 0); },
        [](size_t) { return std::string(); });
    parse_batch({ctx, read<hr_string>(in[0]), in[0]->dims[0], true, in[1]}, columns);
  });
}

void check_keys(const char* keys, const hr_tensor* has, const char* what, size_t wanted) {
  if (hr_elements(has) != int64_t(wanted))
    invalid(std::string("Expected len(") + keys + ") == " + what +
            " but got: " + std::to_string(hr_elements(has)) + " vs. " + std::to_string(wanted));
}

hr_code compute_example_v2(hr_ctx* ctx, void* state, void*, const hr_tensor* const* in,
                           hr_tensor* const* out, void*) {
  return error_boundary(ctx, [&] {
    const Requested& r = static_cast<const State*>(state)->requested;
    if (in[0]->rank > 1)
      invalid(std::string("Expected serialized to be a scalar or vector, got shape: ") +
              ShapeText(in[0]).text);
    check_names(in[1], in[0]);
    check_keys("sparse_keys", in[2], "num_sparse", r.sparse.size());
    check_keys("dense_keys", in[3], "len(dense_types)", r.dense.size());
    check_keys("ragged_keys", in[4], "len(ragged_value_types)", r.ragged.size());
    const auto key = [&](int input) {
      return [in, input](size_t i) { return key_in(in[input], int64_t(i)); };
    };
    const auto columns = columns_of(r, in + 5, out, key(2), key(3), key(4));
    parse_batch({ctx, read<hr_string>(in[0]), hr_elements(in[0]), in[0]->rank == 1, in[1]},
                columns);
    if (in[0]->rank == 0)
      for (const Column& column : columns)
        if (column.splits) allocate(ctx, column.splits, {0});
  });
}

hr_code compute_single(hr_ctx* ctx, void* state, void*, const hr_tensor* const* in,
                       hr_tensor* const* out, void*) {
  return error_boundary(ctx, [&] {
    const auto& s = *static_cast<const State*>(state);
    if (in[0]->rank != 0)
      invalid(std::string("Expected serialized to be a scalar, got shape: ") +
              ShapeText(in[0]).text);
    const auto columns = columns_of(
        s.requested, in + 1, out, [&](size_t i) { return s.sparse_keys[i]; },
        [&](size_t i) { return s.dense_keys[i]; }, [](size_t) { return std::string(); });
    parse_batch({ctx, read<hr_string>(in[0]), 1, false, nullptr}, columns);
  });
}

hr_code prepare_example(void*, hr_request* r) {
  r->shape_depends_on_data = 1;
  return HR_OK;
}

}  // namespace

HR_KERNELS = {
    kernel("ParseExample", nullptr, prepare_example, compute_example)
        .with_state(create_example, destroy_state)
        .is(HR_KERNEL_DATA_SHAPE),
    kernel("ParseExampleV2", nullptr, prepare_example, compute_example_v2)
        .with_state(create_example_v2, destroy_state)
        .is(HR_KERNEL_DATA_SHAPE),
    kernel("ParseSingleExample", nullptr, prepare_example, compute_single)
        .with_state(create_single, destroy_state)
        .is(HR_KERNEL_DATA_SHAPE),
};

}  // namespace hr::parsing
