// The attribute values of a node: parsed when a kernel reads them, from AttrValue messages.
#pragma once
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/graph_node.hpp"
#include "memory/buffer.hpp"
#include "memory/tensor_proto.hpp"
#include "memory/wire.hpp"

namespace headrace {

// The field of AttrValue that is set; kNoKind: none.
enum AttrKind : int32_t {
  kNoKind = 0,
  kList = 1,
  kString = 2,
  kInt = 3,
  kFloat = 4,
  kBool = 5,
  kType = 6,
  kShape = 7,
  kTensor = 8,
  kPlaceholder = 9,
  kFunc = 10
};

struct AttrSpec {
  std::string name, type;   // type as OpDef writes it: "list(int)"
  AttrKind kind = kNoKind;  // that a value must have; lists: kList
  AttrKind element = kNoKind;
  bool has_default = false, has_minimum = false;
  std::string default_value;
  int64_t minimum = 0;
  std::vector<hr_dtype> allowed_types;
  std::vector<std::string> allowed_strings;
};

enum Failure : int32_t { kNoValues = 0, kIntegers = 1, kAnyValues = 2 };

// The catalogue's entry of an op, with facts that only the planner needs.
struct OpEntry : OpInfo {
  std::vector<AttrSpec> attrs;
  int32_t kind = 0;              // NodeKind
  bool placeholder = false;      // must be fed
  bool writes = false;           // changes a variable that it receives
  bool has_ref = false;          // has reference inputs or outputs
  bool limits_ranks = false;     // the rank of some input is restricted
  bool internal = false;         // only passes make it; graphs that contain it are rejected
  bool has_fused_op = false;     // there is a _Fused op that takes in an epilogue
  bool pure = false;             // running it changes nothing, waits for nothing, checks nothing
  Failure failure = kAnyValues;  // which input values may make it fail once it is prepared
};

struct AttrEntry {
  std::string_view key, value;  // value: an AttrValue message
};

// A scalar value, read in place: its bytes are valid as long as the node.
struct AttrScalar {
  AttrKind kind = kNoKind;
  uint64_t number = 0;
  float real = 0;
  std::string_view bytes;  // of strings, and of the messages of the other kinds
  const char* problem = nullptr;
};

inline AttrScalar read_attr(std::string_view value) {
  AttrScalar scalar;
  WireReader reader(value);
  while (reader.next()) {
    uint32_t field = reader.field();
    switch (field) {
      case kInt:
      case kBool:
      case kType: scalar.number = reader.as_varint(); break;
      case kFloat: {
        uint32_t bits = reader.as_fixed32();
        std::memcpy(&scalar.real, &bits, 4);
        break;
      }
      case kList:
      case kString:
      case kShape:
      case kTensor:
      case kPlaceholder:
      case kFunc: scalar.bytes = reader.as_bytes(); break;
      default: continue;
    }
    scalar.kind = static_cast<AttrKind>(field);
  }
  scalar.problem = reader.problem();
  return scalar;
}

struct ParsedValue {  // of an attribute that is not a scalar
  std::string key;
  AttrKind kind = kNoKind;
  hr_code code = HR_OK;
  std::string problem;
  hr_tensor tensor{};
  void* storage = nullptr;
  BufferRef texts{nullptr};  // the bytes of its strings
  std::vector<int64_t> ints;
  std::vector<float> floats;
  std::vector<hr_dtype> types;
  std::vector<hr_string> strings;
  std::vector<ShapeProto> shapes;
  std::vector<int32_t> ranks;
  std::vector<const int64_t*> dims;
  ParsedValue* next = nullptr;  // in Attributes::parsed

  ParsedValue() = default;
  ParsedValue(const ParsedValue&) = delete;
  ParsedValue& operator=(const ParsedValue&) = delete;
  ~ParsedValue() {
    if (storage) ::operator delete(storage, std::align_val_t(64));
  }
};

struct Attributes {
  std::vector<AttrEntry> entries;  // views into bytes that outlive this object, or into `owned`
  std::list<std::string> owned;
  std::atomic<ParsedValue*> parsed{nullptr};  // a list that only grows at its head

  Attributes() = default;
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  ~Attributes() {
    for (ParsedValue* value = parsed.load(); value;) delete std::exchange(value, value->next);
  }

  // The value of a key among the parsed ones before `end`.
  ParsedValue* known(std::string_view key, const ParsedValue* end = nullptr) const {
    ParsedValue* value = parsed.load(std::memory_order_acquire);
    while (value != end && value->key != key) value = value->next;
    return value == end ? nullptr : value;
  }

  const AttrEntry* find(std::string_view key) const {
    for (size_t i = entries.size(); i-- > 0;)  // the last of equal keys counts
      if (entries[i].key == key) return &entries[i];
    return nullptr;
  }
  void add(std::string_view key, std::string value) {
    owned.emplace_back(key);
    std::string_view kept = owned.back();
    owned.push_back(std::move(value));
    entries.push_back({kept, owned.back()});
  }
};

// ---- making AttrValue messages (for nodes that passes add, and for defaults) ---------------

inline void put_varint(std::string& to, uint64_t value) {
  for (; value >= 0x80; value >>= 7) to.push_back(static_cast<char>(value | 0x80));
  to.push_back(static_cast<char>(value));
}
inline std::string number_attr(int32_t kind, int64_t value) {
  std::string to;
  put_varint(to, static_cast<uint64_t>(kind) << 3);
  put_varint(to, static_cast<uint64_t>(value));
  return to;
}
inline std::string bytes_attr(int32_t kind, std::string_view value) {
  std::string to;
  put_varint(to, static_cast<uint64_t>(kind) << 3 | 2);
  put_varint(to, value.size());
  to.append(value);
  return to;
}
inline std::string float_attr(float value) {
  std::string to(5, '\0');
  to[0] = kFloat << 3 | 5;
  std::memcpy(&to[1], &value, 4);
  return to;
}

// ---- accessors --------------------------------------------------------------------------------

inline const GraphNode* graph_node(const hr_node* node) {
  return reinterpret_cast<const GraphNode*>(node);
}

inline Attributes* attributes_of(const GraphNode* node) { return node->attributes.get(); }
inline Attributes* make_attributes(GraphNode* node) {
  node->attributes = std::make_shared<Attributes>();
  return node->attributes.get();
}

// The text of an attribute; "" without one.
inline std::string text_attribute(const hr_node* node, const char* key) {
  const char* data = nullptr;
  size_t size = 0;
  if (node->api->attr_string(node, key, &data, &size) != HR_OK) return {};
  return std::string(data, size);
}

inline hr_code find_scalar(const GraphNode* node, std::string_view key, AttrKind kind,
                           AttrScalar& scalar) {
  const AttrEntry* entry = node->attributes ? node->attributes->find(key) : nullptr;
  if (!entry) return HR_NOT_FOUND;
  scalar = read_attr(entry->value);
  return scalar.problem || scalar.kind != kind ? HR_INVALID_ARGUMENT : HR_OK;
}

namespace attributes_detail {

// Copies the bytes of strings from the message into a buffer that the strings name as their owner:
// queues, variables and other tasks keep a string by its owner, and may outlive the message.
inline void own_strings(hr_string* strings, size_t n, ParsedValue& value) {
  size_t total = 0;
  const char* last = nullptr;  // a repeated element has the bytes of the one before it
  for (size_t i = 0; i < n; ++i) {
    if (!strings[i].size || strings[i].data == last) continue;
    last = strings[i].data;
    total += strings[i].size;
  }
  hr_buffer* owner = total ? new_byte_buffer(total) : nullptr;
  if (total && !owner) {
    value.code = HR_RESOURCE_EXHAUSTED;
    value.problem = "no memory for its " + std::to_string(total) + " bytes of text";
    return;
  }
  value.texts = BufferRef(owner);
  char* next = owner ? static_cast<char*>(owner->data) : nullptr;
  const char* copy = nullptr;  // of what lies at `last`
  last = nullptr;
  for (size_t i = 0; i < n; ++i) {
    hr_string& text = strings[i];
    if (!text.size) {
      text = hr_string{nullptr, 0, nullptr};
      continue;
    }
    if (text.data != last) {
      last = text.data;
      copy = next;
      std::memcpy(next, text.data, text.size);
      next += text.size;
    }
    text.data = copy;
    text.owner = owner;
  }
}

inline void parse_tensor(std::string_view proto, ParsedValue& value) {
  TensorHeader header;
  if (parse_tensor_header(proto, header)) {
    hr_tensor& tensor = value.tensor;
    tensor.dtype = header.dtype;
    tensor.rank = header.rank;
    tensor.bytes = header.bytes;
    std::memcpy(tensor.dims, header.dims, sizeof(header.dims));
    auto address = reinterpret_cast<uintptr_t>(header.content.data());
    // Elements are aligned; complex ones to their halves.
    uintptr_t alignment = static_cast<uintptr_t>(hr_dtype_size(header.dtype));
    if (header.has_content && header.dtype != HR_STRING && address % alignment == 0) {
      tensor.data = const_cast<char*>(header.content.data());
      return;
    }
    value.storage = ::operator new(static_cast<size_t>(header.bytes ? header.bytes : 1),
                                   std::align_val_t(64), std::nothrow);
    tensor.data = value.storage;
    if (!value.storage)
      header.fail(HR_RESOURCE_EXHAUSTED,
                  "no memory for its " + std::to_string(header.bytes) + " bytes");
    else if (decode_tensor_values(proto, header, value.storage)) {
      if (header.dtype == HR_STRING)
        own_strings(static_cast<hr_string*>(value.storage), static_cast<size_t>(header.elements),
                    value);
      return;
    }
  }
  value.code = header.code;
  value.problem = std::move(header.problem);
}

inline void add_shape(std::string_view bytes, ParsedValue& value) {
  value.shapes.emplace_back();
  if (const char* problem = parse_shape(bytes, value.shapes.back())) {
    value.code = HR_INVALID_ARGUMENT;
    value.problem = problem;
  }
}

inline void parse_list(std::string_view bytes, ParsedValue& value) {
  WireReader reader(bytes);
  while (reader.next()) {
    switch (reader.field()) {
      case 2: {
        std::string_view text = reader.as_bytes();
        value.strings.push_back({text.data(), text.size(), nullptr});
        break;
      }
      case 3:
      case 5:
        each_number(reader, HR_WIRE_VARINT,
                    [&](uint64_t n) { value.ints.push_back(static_cast<int64_t>(n)); });
        break;
      case 4:
        each_number(reader, HR_WIRE_FIXED32, [&](uint64_t n) {
          const auto bits = static_cast<uint32_t>(n);
          float real;
          std::memcpy(&real, &bits, 4);
          value.floats.push_back(real);
        });
        break;
      case 6:
        each_number(reader, HR_WIRE_VARINT,
                    [&](uint64_t n) { value.types.push_back(static_cast<hr_dtype>(n)); });
        break;
      case 7: add_shape(reader.as_bytes(), value); break;
      default: break;
    }
  }
  if (reader.problem()) {
    value.code = HR_INVALID_ARGUMENT;
    value.problem = reader.problem();
    return;
  }
  own_strings(value.strings.data(), value.strings.size(), value);
}

}  // namespace attributes_detail

// The parsed value of a list, shape or tensor, cached in the node. Null: there is no such
// attribute. Two threads may parse the same value, and one result is kept: a lock could be left
// taken by a fork.
inline ParsedValue* parsed_value(const GraphNode* node, std::string_view key) {
  using namespace attributes_detail;
  Attributes* attributes = node->attributes.get();
  const AttrEntry* entry = attributes ? attributes->find(key) : nullptr;
  if (!entry) return nullptr;
  if (ParsedValue* known = attributes->known(key)) return known;
  auto value = std::make_unique<ParsedValue>();
  value->key = key;
  AttrScalar scalar = read_attr(entry->value);
  value->kind = scalar.kind;
  if (scalar.problem) {
    value->code = HR_INVALID_ARGUMENT;
    value->problem = scalar.problem;
  } else if (scalar.kind == kTensor) {
    parse_tensor(scalar.bytes, *value);
  } else if (scalar.kind == kShape) {
    add_shape(scalar.bytes, *value);
  } else if (scalar.kind == kList) {
    parse_list(scalar.bytes, *value);
  } else {
    value->code = HR_INVALID_ARGUMENT;
  }
  for (const ShapeProto& shape : value->shapes) {
    value->ranks.push_back(shape.unknown_rank ? -1 : static_cast<int32_t>(shape.dims.size()));
    value->dims.push_back(shape.dims.data());
  }
  ParsedValue* seen = nullptr;  // the list has been searched up to here
  while (!attributes->parsed.compare_exchange_weak(value->next, value.get(),
                                                   std::memory_order_acq_rel)) {
    if (ParsedValue* known = attributes->known(key, seen)) return known;
    seen = value->next;
  }
  return value.release();
}

inline hr_code find_parsed(const hr_node* node, const char* key, AttrKind kind,
                           const ParsedValue** value) {
  *value = parsed_value(graph_node(node), key);
  if (!*value) return HR_NOT_FOUND;
  if ((*value)->code != HR_OK) {
    const_cast<GraphNode*>(graph_node(node))
        ->error.assign("attribute '" + std::string(key) + "': " + (*value)->problem);
    return (*value)->code;
  }
  return (*value)->kind == kind ? HR_OK : HR_INVALID_ARGUMENT;
}

// The tensors of an argument. Nodes that passes add have one tensor per argument.
inline void argument_range(const GraphNode* node, bool outputs, int32_t argument, int32_t* first,
                           int32_t* count) {
  int32_t total = outputs ? node->abi_node.n_outputs : node->abi_node.n_inputs;
  *first = 0;
  *count = 0;
  if (!node->info) {
    *first = argument < total ? argument : total;
    *count = argument < total ? 1 : 0;
    return;
  }
  const std::vector<ArgInfo>& args = outputs ? node->info->outputs : node->info->inputs;
  for (int32_t i = 0; i <= argument && i < static_cast<int32_t>(args.size()); ++i) {
    *first += *count;
    *count = 1;
    if (!args[i].number_attr.empty()) {
      AttrScalar scalar;
      *count = find_scalar(node, args[i].number_attr, kInt, scalar) == HR_OK
                   ? static_cast<int32_t>(scalar.number)
                   : 0;
    } else if (!args[i].type_list_attr.empty()) {
      const ParsedValue* value = parsed_value(node, args[i].type_list_attr);
      *count = value ? static_cast<int32_t>(value->types.size()) : 0;
    }
  }
  if (argument >= static_cast<int32_t>(args.size())) {
    *first = total;
    *count = 0;
  }
}

namespace attributes_detail {

inline hr_code get_int(const hr_node* node, const char* key, int64_t* value) {
  AttrScalar scalar;
  hr_code code = find_scalar(graph_node(node), key, kInt, scalar);
  if (code == HR_OK) *value = static_cast<int64_t>(scalar.number);
  return code;
}
inline hr_code get_float(const hr_node* node, const char* key, float* value) {
  AttrScalar scalar;
  hr_code code = find_scalar(graph_node(node), key, kFloat, scalar);
  if (code == HR_OK) *value = scalar.real;
  return code;
}
inline hr_code get_bool(const hr_node* node, const char* key, int32_t* value) {
  AttrScalar scalar;
  hr_code code = find_scalar(graph_node(node), key, kBool, scalar);
  if (code == HR_OK) *value = scalar.number != 0;
  return code;
}
inline hr_code get_type(const hr_node* node, const char* key, hr_dtype* value) {
  AttrScalar scalar;
  hr_code code = find_scalar(graph_node(node), key, kType, scalar);
  if (code == HR_OK) *value = static_cast<hr_dtype>(scalar.number);
  return code;
}
inline hr_code get_string(const hr_node* node, const char* key, const char** data, size_t* size) {
  AttrScalar scalar;
  hr_code code = find_scalar(graph_node(node), key, kString, scalar);
  if (code == HR_OK) {
    *data = scalar.bytes.data();
    *size = scalar.bytes.size();
  }
  return code;
}
inline hr_code get_tensor(const hr_node* node, const char* key, const hr_tensor** tensor) {
  const ParsedValue* value;
  hr_code code = find_parsed(node, key, kTensor, &value);
  if (code == HR_OK) *tensor = &value->tensor;
  return code;
}
inline hr_code get_shape(const hr_node* node, const char* key, int32_t* rank,
                         const int64_t** dims) {
  const ParsedValue* value;
  hr_code code = find_parsed(node, key, kShape, &value);
  if (code == HR_OK) {
    *rank = value->ranks[0];
    *dims = value->dims[0];
  }
  return code;
}
template <typename T>
hr_code get_list(const hr_node* node, const char* key, std::vector<T> ParsedValue::* list,
                 const T** values, size_t* n) {
  const ParsedValue* value;
  hr_code code = find_parsed(node, key, kList, &value);
  if (code == HR_OK) {
    *values = (value->*list).data();
    *n = (value->*list).size();
  }
  return code;
}
inline hr_code get_ints(const hr_node* node, const char* key, const int64_t** values, size_t* n) {
  return get_list(node, key, &ParsedValue::ints, values, n);
}
inline hr_code get_floats(const hr_node* node, const char* key, const float** values, size_t* n) {
  return get_list(node, key, &ParsedValue::floats, values, n);
}
inline hr_code get_types(const hr_node* node, const char* key, const hr_dtype** values, size_t* n) {
  return get_list(node, key, &ParsedValue::types, values, n);
}
inline hr_code get_strings(const hr_node* node, const char* key, const hr_string** values,
                           size_t* n) {
  return get_list(node, key, &ParsedValue::strings, values, n);
}
inline hr_code get_shapes(const hr_node* node, const char* key, const int32_t** ranks,
                          const int64_t* const** dims, size_t* n) {
  const ParsedValue* value;
  hr_code code = find_parsed(node, key, kList, &value);
  if (code == HR_OK) {
    *ranks = value->ranks.data();
    *dims = value->dims.data();
    *n = value->ranks.size();
  }
  return code;
}
inline void input_range(const hr_node* node, int32_t argument, int32_t* first, int32_t* count) {
  argument_range(graph_node(node), false, argument, first, count);
}
inline void output_range(const hr_node* node, int32_t argument, int32_t* first, int32_t* count) {
  argument_range(graph_node(node), true, argument, first, count);
}
inline hr_code fail(const hr_node* node, hr_code code, const char* format, ...) {
  char text[2048];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  const_cast<GraphNode*>(graph_node(node))->error.assign(text);
  return code;
}

}  // namespace attributes_detail

inline const hr_node_api headrace_node_api = {
    sizeof(hr_node_api),           attributes_detail::get_int,     attributes_detail::get_float,
    attributes_detail::get_bool,   attributes_detail::get_type,    attributes_detail::get_string,
    attributes_detail::get_tensor, attributes_detail::get_shape,   attributes_detail::get_ints,
    attributes_detail::get_floats, attributes_detail::get_types,   attributes_detail::get_strings,
    attributes_detail::get_shapes, attributes_detail::input_range, attributes_detail::output_range,
    attributes_detail::fail,
};

// Makes the abi_node point at the node's fields; called when these no longer change.
inline void fill_abi_node(GraphNode* node) {
  node->abi_node.size = sizeof(hr_node);
  node->abi_node.api = &headrace_node_api;
  node->abi_node.name = node->name.c_str();
  node->abi_node.op = node->op.c_str();
  node->abi_node.device = node->device.c_str();
  node->abi_node.n_inputs = static_cast<int32_t>(node->input_dtypes.size());
  node->abi_node.n_outputs = static_cast<int32_t>(node->output_dtypes.size());
  node->abi_node.input_dtypes = node->input_dtypes.data();
  node->abi_node.output_dtypes = node->output_dtypes.data();
}

}  // namespace headrace
