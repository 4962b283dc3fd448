// Nodes that declare lookup tables: HashTable, MutableHashTable, MutableDenseHashTable, ...
#include <cstring>
#include <memory>
#include <string>

#include "library/dtype_names.hpp"
#include "library/registration.hpp"
#include "library/shapes.hpp"
#include "library/text.hpp"
#include "ops/lookup/lookup_table.hpp"
#include "table/resources.hpp"

namespace hr::lookup {
namespace {

struct TableNode : ResourceNode {
  TableNode(const hr_node* node, TableSpec s)
      : ResourceNode(node, kTableKind), spec(std::move(s)) {}
  const TableSpec spec;
};

// The shape of values. -1: unknown.
int32_t value_shape(const hr_node* node, Dims* dims) {
  int32_t rank = 0;
  const int64_t* sizes = nullptr;
  if (node->api->attr_shape(node, "value_shape", &rank, &sizes) != HR_OK) return 0;
  for (int32_t i = 0; i < rank; ++i) {
    if (sizes[i] < 0) return -1;
    dims->push_back(sizes[i]);
  }
  return rank;
}

template <Kind kind> hr_code create_table(hr_node* node, void** state) {
  TableSpec spec;
  spec.kind = kind;
  spec.key_dtype = hr_attr_type(node, "key_dtype");
  spec.value_dtype = hr_attr_type(node, "value_dtype");
  const int32_t rank = value_shape(node, &spec.value_dims);
  const bool of_tensors = std::string_view(node->op).find("OfTensors") != std::string_view::npos;
  int64_t bytes;
  if (of_tensors && rank != 1)
    return node->api->fail(node, HR_INVALID_ARGUMENT,
                           "Default value must be a vector, got a value_shape of rank %d", rank);
  if (rank < 0 || rank > 1)
    return node->api->fail(node, HR_INVALID_ARGUMENT,
                           "Empty value must be a scalar or a vector, got a value_shape of rank %d",
                           rank);
  if (!checked_product(spec.value_dims, &bytes) ||
      __builtin_mul_overflow(bytes, hr_dtype_size(spec.value_dtype), &bytes))
    return node->api->fail(node, HR_INVALID_ARGUMENT, "value_shape is too large");
  if (kind == Kind::kDense) {
    spec.initial_buckets = hr_attr_int(node, "initial_num_buckets", 0);
    spec.max_load = hr_attr_float(node, "max_load_factor", 0);
    if (!(spec.max_load > 0 && spec.max_load < 1))
      return node->api->fail(node, HR_INVALID_ARGUMENT,
                             "max_load_factor must be between 0 and 1, got: %g",
                             double(spec.max_load));
    if (spec.initial_buckets < 4 || (spec.initial_buckets & (spec.initial_buckets - 1)))
      return node->api->fail(node, HR_INVALID_ARGUMENT,
                             "Number of buckets must be at least 4 and a power of 2, got: %lld",
                             (long long)spec.initial_buckets);
  }
  *state = new TableNode(node, std::move(spec));
  return HR_OK;
}

void destroy_table_node(void* state) { delete static_cast<TableNode*>(state); }

struct MakeRequest {
  hr_ctx* ctx;
  const TableSpec* spec;
  const hr_tensor *empty_key, *deleted_key;
};

// Null: no memory.
hr_object* make_table(void* argument) {
  auto* request = static_cast<MakeRequest*>(argument);
  try {
    auto table = std::make_unique<Table>(*request->spec);
    if (request->empty_key)
      table->reserve_keys(request->ctx, request->empty_key, request->deleted_key);
    return &table.release()->object;
  } catch (const Failure&) { return nullptr; } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

bool same_elements(const hr_tensor* a, const hr_tensor* b) {
  const int64_t n = hr_elements(a);
  if (a->dtype != HR_STRING) return std::memcmp(a->data, b->data, size_t(a->bytes)) == 0;
  for (int64_t i = 0; i < n; ++i)
    if (text_at(a, i) != text_at(b, i)) return false;
  return true;
}

hr_code give_table(hr_ctx* ctx, void* state, void*, const hr_tensor* const* in,
                   hr_tensor* const* out, void*) {
  auto* node = static_cast<TableNode*>(state);
  TableSpec spec = node->spec;
  MakeRequest request{ctx, &spec, nullptr, nullptr};
  if (spec.kind == Kind::kDense) {
    request.empty_key = in[0];
    request.deleted_key = node->node->n_inputs > 1 ? in[1] : nullptr;
    spec.key_dims.assign(in[0]->dims, in[0]->dims + in[0]->rank);
    if (in[0]->rank > 1)
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                         "Empty key must be a scalar or a vector, got shape %s",
                         ShapeText(in[0]).text);
    if (request.deleted_key && !same_shape(in[0], in[1]))
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                         "Empty and deleted keys must have same shape, got shapes: %s and %s",
                         ShapeText(in[0]).text, ShapeText(in[1]).text);
    if (request.deleted_key && same_elements(in[0], in[1]))
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "Empty and deleted keys cannot be equal");
  }
  hr_object* found = nullptr;
  if (hr_code code = node->find(ctx, make_table, &request, &found)) return code;
  const TableSpec& has = reinterpret_cast<Table*>(found)->spec;
  if (has.key_dtype != spec.key_dtype || has.value_dtype != spec.value_dtype) {
    const hr_code conflict = hr_ctx_fail(
        ctx, HR_INVALID_ARGUMENT, "Conflicting key/value dtypes %s->%s with %s-%s for table %s",
        dtype_name(spec.key_dtype), dtype_name(spec.value_dtype), dtype_name(has.key_dtype),
        dtype_name(has.value_dtype), node->name().c_str());
    ctx->api->release_object(found);
    return conflict;
  }
  node->give(ctx, found, out[0]);
  return HR_OK;
}

hr_code prepare_table(void*, hr_request* r) {
  set_shape(r->outputs[0], {});
  return HR_OK;
}

#define HR_TABLE_TYPES \
  "key_dtype=int32|int64|string;" \
  "value_dtype=bool|int32|int64|float|double|string|int8|uint8|int16|uint16|half|bfloat16"

template <Kind kind> constexpr KernelRegistration table(const char* op) {
  return kernel(op, HR_TABLE_TYPES, prepare_table, give_table)
      .with_state(create_table<kind>, destroy_table_node);
}

}  // namespace

HR_KERNELS = {
    table<Kind::kStatic>("HashTable"),
    table<Kind::kStatic>("HashTableV2"),
    table<Kind::kMutable>("MutableHashTable"),
    table<Kind::kMutable>("MutableHashTableV2"),
    table<Kind::kMutable>("MutableHashTableOfTensors"),
    table<Kind::kMutable>("MutableHashTableOfTensorsV2"),
    table<Kind::kDense>("MutableDenseHashTable"),
    table<Kind::kDense>("MutableDenseHashTableV2"),
};

}  // namespace hr::lookup
