// ParseSequenceExample, ParseSequenceExampleV2, ParseSingleSequenceExample.
#include <algorithm>
#include <memory>

#include "library/registration.hpp"
#include "library/shapes.hpp"
#include "library/text.hpp"
#include "ops/parsing/feature_lists.hpp"
#include "ops/parsing/requested.hpp"

namespace hr::parsing {
namespace {

constexpr AttributeNames kContext = {"context_sparse_types", "Tcontext_dense",
                                     "context_dense_shapes", "context_ragged_value_types",
                                     "context_ragged_split_types"};
constexpr AttributeNames kLists = {"feature_list_sparse_types", "feature_list_dense_types",
                                   "feature_list_dense_shapes", "feature_list_ragged_value_types",
                                   "feature_list_ragged_split_types"};

// The keys of one kind: context or lists, sparse, dense or ragged.
using Keys = std::vector<std::string>;

struct AllKeys {
  Keys context_sparse, context_dense, context_ragged, list_sparse, list_dense, list_ragged;
  std::vector<bool> may_lack;  // of list_dense
};

struct State {
  Requested context, lists;
  AllKeys keys;  // of ParseSequenceExample, whose attributes they are
};

[[noreturn]] void invalid(const std::string& text) { throw Failure{HR_INVALID_ARGUMENT, text}; }

Keys attribute_keys(const hr_node* node, const char* name) {
  Keys keys;
  for (const hr_string& key : attr_strings(node, name)) keys.emplace_back(text_of(key));
  return keys;
}

std::vector<bool> lackable(const Keys& keys, const Keys& assumed_empty) {
  std::vector<bool> may_lack;
  for (const std::string& key : keys)
    may_lack.push_back(std::find(assumed_empty.begin(), assumed_empty.end(), key) !=
                       assumed_empty.end());
  return may_lack;
}

hr_code read_state(const hr_node* node, State* state) {
  if (hr_code code = read_requested(node, kContext, false, &state->context)) return code;
  if (hr_code code = read_requested(node, kLists, false, &state->lists)) return code;
  const auto check_kind = [&](const Requested& r, const char* dense, const char* shapes,
                              const char* ragged, const char* splits) {
    if (hr_code code = check_lengths(node, dense, r.dense.size(), shapes, r.shapes.size()))
      return code;
    return check_lengths(node, ragged, r.ragged.size(), splits, r.ragged_splits.size());
  };
  if (hr_code code = check_kind(state->context, "context_dense_keys", "context_dense_shapes",
                                "context_ragged_keys", "context_ragged_split_types"))
    return code;
  return check_kind(state->lists, "feature_list_dense_keys", "feature_list_dense_shapes",
                    "feature_list_ragged_keys", "feature_list_ragged_split_types");
}

// The numbers of keys that a node declares; `has`: of its attributes, null: as many.
hr_code check_numbers(const hr_node* node, const State& state, bool dense_numbers,
                      const AllKeys* has) {
  const struct {
    const char *number, *keys, *types;
    size_t n;
    const Keys AllKeys::* of;
    bool declared;
  } kinds[] = {
      {"Ncontext_sparse", "context_sparse_keys", "context_sparse_types",
       state.context.sparse.size(), &AllKeys::context_sparse, true},
      {"Ncontext_dense", "context_dense_keys", "context_dense_types", state.context.dense.size(),
       &AllKeys::context_dense, dense_numbers},
      {"Nfeature_list_sparse", "feature_list_sparse_keys", "feature_list_sparse_types",
       state.lists.sparse.size(), &AllKeys::list_sparse, true},
      {"Nfeature_list_dense", "feature_list_dense_keys", "feature_list_dense_types",
       state.lists.dense.size(), &AllKeys::list_dense, true},
  };
  for (const auto& kind : kinds) {
    if (kind.declared) {
      const size_t number = size_t(hr_attr_int(node, kind.number, 0));
      if (hr_code code = check_lengths(node, kind.keys, number, kind.types, kind.n)) return code;
    }
    if (has)
      if (hr_code code = check_lengths(node, kind.keys, (has->*kind.of).size(), kind.types, kind.n))
        return code;
  }
  return HR_OK;
}

hr_code create_batch(hr_node* node, void** state) {
  auto made = std::make_unique<State>();
  if (hr_code code = read_state(node, made.get())) return code;
  AllKeys& keys = made->keys;
  keys.context_sparse = attribute_keys(node, "context_sparse_keys");
  keys.context_dense = attribute_keys(node, "context_dense_keys");
  keys.list_sparse = attribute_keys(node, "feature_list_sparse_keys");
  keys.list_dense = attribute_keys(node, "feature_list_dense_keys");
  keys.may_lack =
      lackable(keys.list_dense, attribute_keys(node, "feature_list_dense_missing_assumed_empty"));
  if (hr_code code = check_numbers(node, *made, true, &keys)) return code;
  *state = made.release();
  return HR_OK;
}

template <bool dense_numbers> hr_code create_with_inputs(hr_node* node, void** state) {
  auto made = std::make_unique<State>();
  if (hr_code code = read_state(node, made.get())) return code;
  if (hr_code code = check_numbers(node, *made, dense_numbers, nullptr)) return code;
  *state = made.release();
  return HR_OK;
}

void destroy_state(void* state) { delete static_cast<State*>(state); }

// Gives the outputs one after another.
class Outputs {
 public:
  explicit Outputs(hr_tensor* const* outputs) : next_(outputs) {}
  hr_tensor* const* take(size_t n) {
    next_ += n;
    return next_ - n;
  }

 private:
  hr_tensor* const* next_;
};

// Parses; the outputs are in the order of the signature: context, then lists, each sparse, dense,
// ragged.
void parse(const Batch& batch, const State& state, const AllKeys& keys,
           const hr_tensor* const* defaults, hr_tensor* const* out, bool has_lengths) {
  Outputs outputs(out);
  std::vector<Column> columns;
  const Requested &c = state.context, &l = state.lists;
  const auto sparse_outputs = [&](size_t n) {
    hr_tensor* const* all = outputs.take(3 * n);
    return [all, n](size_t part, size_t i) { return all[part * n + i]; };
  };
  const auto context_sparse = sparse_outputs(c.sparse.size());
  for (size_t i = 0; i < c.sparse.size(); ++i) {
    Column column;
    column.kind = Column::kSparse;
    column.key = keys.context_sparse[i];
    column.dtype = c.sparse[i];
    column.indices = context_sparse(0, i);
    column.values = context_sparse(1, i);
    column.shape = context_sparse(2, i);
    columns.push_back(column);
  }
  hr_tensor* const* dense = outputs.take(c.dense.size());
  for (size_t i = 0; i < c.dense.size(); ++i) {
    Column column;
    column.key = keys.context_dense[i];
    column.dtype = c.dense[i];
    column.values = dense[i];
    set_dense(&column, c, i, defaults[i]);
    columns.push_back(column);
  }
  hr_tensor* const* ragged = outputs.take(2 * c.ragged.size());
  for (size_t i = 0; i < c.ragged.size(); ++i) {
    Column column;
    column.kind = Column::kRagged;
    column.key = keys.context_ragged[i];
    column.dtype = c.ragged[i];
    column.values = ragged[i];
    column.splits = ragged[c.ragged.size() + i];
    columns.push_back(column);
  }
  std::vector<ListColumn> lists;
  const auto list_sparse = sparse_outputs(l.sparse.size());
  for (size_t i = 0; i < l.sparse.size(); ++i) {
    ListColumn column;
    column.kind = Column::kSparse;
    column.key = keys.list_sparse[i];
    column.dtype = l.sparse[i];
    column.indices = list_sparse(0, i);
    column.values = list_sparse(1, i);
    column.shape = list_sparse(2, i);
    lists.push_back(column);
  }
  dense = outputs.take(l.dense.size());
  hr_tensor* const* lengths = has_lengths ? outputs.take(l.dense.size()) : nullptr;
  for (size_t i = 0; i < l.dense.size(); ++i) {
    ListColumn column;
    column.key = keys.list_dense[i];
    column.dtype = l.dense[i];
    column.values = dense[i];
    column.lengths = lengths ? lengths[i] : nullptr;
    column.dims = l.shapes[i].dims;
    column.may_lack = keys.may_lack[i];
    lists.push_back(column);
  }
  ragged = outputs.take(3 * l.ragged.size());
  for (size_t i = 0; i < l.ragged.size(); ++i) {
    ListColumn column;
    column.kind = Column::kRagged;
    column.key = keys.list_ragged[i];
    column.dtype = l.ragged[i];
    column.values = ragged[i];
    column.outer_splits = ragged[l.ragged.size() + i];
    column.inner_splits = ragged[2 * l.ragged.size() + i];
    lists.push_back(column);
  }
  parse_batch(batch, columns);
  parse_feature_lists(batch, lists);
  if (!batch.has_batch)
    for (const Column& column : columns)
      if (column.splits) allocate(batch.ctx, column.splits, {0});
}

void check_names(const hr_tensor* names, const hr_tensor* serialized) {
  if (hr_elements(names) && !same_shape(names, serialized))
    invalid(std::string("Expected debug_name to have the same shape as serialized: ") +
            ShapeText(names).text + " and " + ShapeText(serialized).text);
}

hr_code compute_batch(hr_ctx* ctx, void* state, void*, const hr_tensor* const* in,
                      hr_tensor* const* out, void*) {
  return error_boundary(ctx, [&] {
    const auto& s = *static_cast<const State*>(state);
    if (in[0]->rank != 1)
      invalid(std::string("Expected serialized to be a vector, got shape: ") +
              ShapeText(in[0]).text);
    check_names(in[1], in[0]);
    parse({ctx, read<hr_string>(in[0]), in[0]->dims[0], true, in[1]}, s, s.keys, in + 2, out, true);
  });
}

Keys keys_of(const hr_tensor* input, const char* what, size_t expected) {
  if (input->rank != 1 || input->dims[0] != int64_t(expected))
    invalid(std::string("Expected len(") + what + ") == " + std::to_string(expected) +
            ", got a tensor of shape " + ShapeText(input).text);
  Keys keys;
  for (size_t i = 0; i < expected; ++i) keys.push_back(key_in(input, int64_t(i)));
  return keys;
}

hr_code compute_batch_v2(hr_ctx* ctx, void* state, void*, const hr_tensor* const* in,
                         hr_tensor* const* out, void*) {
  return error_boundary(ctx, [&] {
    const auto& s = *static_cast<const State*>(state);
    if (in[0]->rank > 1)
      invalid(std::string("Expected serialized to be a scalar or vector, got shape: ") +
              ShapeText(in[0]).text);
    check_names(in[1], in[0]);
    AllKeys keys;
    keys.context_sparse = keys_of(in[2], "context_sparse_keys", s.context.sparse.size());
    keys.context_dense = keys_of(in[3], "context_dense_keys", s.context.dense.size());
    keys.context_ragged = keys_of(in[4], "context_ragged_keys", s.context.ragged.size());
    keys.list_sparse = keys_of(in[5], "feature_list_sparse_keys", s.lists.sparse.size());
    keys.list_dense = keys_of(in[6], "feature_list_dense_keys", s.lists.dense.size());
    keys.list_ragged = keys_of(in[7], "feature_list_ragged_keys", s.lists.ragged.size());
    if (in[8]->rank != 1 || in[8]->dims[0] != int64_t(keys.list_dense.size()))
      invalid(std::string("Expected len(feature_list_dense_missing_assumed_empty) == ") +
              std::to_string(keys.list_dense.size()) + ", got a tensor of shape " +
              ShapeText(in[8]).text);
    for (size_t i = 0; i < keys.list_dense.size(); ++i)
      keys.may_lack.push_back(read<bool>(in[8])[i]);
    parse({ctx, read<hr_string>(in[0]), hr_elements(in[0]), in[0]->rank == 1, in[1]}, s, keys,
          in + 9, out, true);
  });
}

hr_code compute_single(hr_ctx* ctx, void* state, void*, const hr_tensor* const* in,
                       hr_tensor* const* out, void*) {
  return error_boundary(ctx, [&] {
    const auto& s = *static_cast<const State*>(state);
    if (in[0]->rank != 0)
      invalid(std::string("Expected serialized to be a scalar, got shape: ") +
              ShapeText(in[0]).text);
    if (in[1]->rank != 1)
      invalid(std::string("Expected feature_list_dense_missing_assumed_empty to be a vector, got "
                          "shape: ") +
              ShapeText(in[1]).text);
    Keys assumed_empty;
    for (int64_t i = 0; i < in[1]->dims[0]; ++i) assumed_empty.push_back(key_in(in[1], i));
    const hr_tensor* const* next = in + 2;
    const auto take = [&](size_t n) {
      Keys keys;
      for (; keys.size() < n; ++next) {
        if (hr_elements(*next) != 1)
          invalid(std::string("Expected the keys to be scalars, got shape: ") +
                  ShapeText(*next).text);
        keys.push_back(key_in(*next, 0));
      }
      return keys;
    };
    AllKeys keys;
    keys.context_sparse = take(s.context.sparse.size());
    keys.context_dense = take(s.context.dense.size());
    keys.list_sparse = take(s.lists.sparse.size());
    keys.list_dense = take(s.lists.dense.size());
    keys.may_lack = lackable(keys.list_dense, assumed_empty);
    const hr_tensor* name = next[s.context.dense.size()];
    parse({ctx, read<hr_string>(in[0]), 1, false, name}, s, keys, next, out, false);
  });
}

hr_code prepare_sequence(void*, hr_request* r) {
  r->shape_depends_on_data = 1;
  return HR_OK;
}

}  // namespace

HR_KERNELS = {
    kernel("ParseSequenceExample", nullptr, prepare_sequence, compute_batch)
        .with_state(create_batch, destroy_state)
        .is(HR_KERNEL_DATA_SHAPE),
    kernel("ParseSequenceExampleV2", nullptr, prepare_sequence, compute_batch_v2)
        .with_state(create_with_inputs<false>, destroy_state)
        .is(HR_KERNEL_DATA_SHAPE),
    kernel("ParseSingleSequenceExample", nullptr, prepare_sequence, compute_single)
        .with_state(create_with_inputs<true>, destroy_state)
        .is(HR_KERNEL_DATA_SHAPE),
};

}  // namespace hr::parsing
