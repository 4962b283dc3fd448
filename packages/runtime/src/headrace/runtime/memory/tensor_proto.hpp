// Decodes a TensorProto message into memory; malformed messages are rejected.
#pragma once
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/kernel.h"
#include "memory/wire.hpp"

namespace headrace {

// The most bytes of a tensor whose message is shorter than the tensor itself.
constexpr int64_t kLargestExpandedTensor = std::numeric_limits<int32_t>::max();

struct ShapeProto {
  bool unknown_rank = false;
  std::vector<int64_t> dims;
};

inline const char* parse_shape(std::string_view bytes, ShapeProto& shape) {
  WireReader reader(bytes);
  while (reader.next()) {
    if (reader.field() == 2) {
      WireReader dim(reader.as_bytes());
      int64_t size = 0;
      while (dim.next()) {
        if (dim.field() == 1) size = static_cast<int64_t>(dim.as_varint());
      }
      if (dim.problem()) return dim.problem();
      if (size < -1) return "a dimension below -1";
      if (shape.dims.size() >= 254) return "a shape of more than 254 dimensions";
      shape.dims.push_back(size);
    } else if (reader.field() == 3) {
      shape.unknown_rank = reader.as_varint() != 0;
    }
  }
  return reader.problem();
}

struct TensorHeader {
  hr_dtype dtype = HR_INVALID;
  int32_t rank = 0;
  int64_t dims[HR_MAX_RANK] = {};
  int64_t elements = 1, bytes = 0;
  std::string_view content;
  bool has_content = false;
  hr_code code = HR_OK;
  std::string problem;

  bool fail(hr_code why, std::string text) {
    code = why;
    problem = std::move(text);
    return false;
  }
};

// The field of TensorProto that holds values of a dtype; 0: none.
inline uint32_t value_field(hr_dtype dtype) {
  switch (dtype) {
    case HR_FLOAT: return 5;
    case HR_DOUBLE: return 6;
    case HR_INT32:
    case HR_INT16:
    case HR_INT8:
    case HR_UINT8:
    case HR_UINT16:
    case HR_QINT8:
    case HR_QUINT8:
    case HR_QINT16:
    case HR_QUINT16:
    case HR_QINT32: return 7;
    case HR_STRING: return 8;
    case HR_COMPLEX64: return 9;
    case HR_INT64: return 10;
    case HR_BOOL: return 11;
    case HR_COMPLEX128: return 12;
    case HR_HALF:
    case HR_BFLOAT16: return 13;
    case HR_UINT32: return 16;
    case HR_UINT64: return 17;
    case HR_FLOAT8_E5M2:
    case HR_FLOAT8_E4M3FN: return 18;
    default: return 0;
  }
}

// Reads everything except the values.
inline bool parse_tensor_header(std::string_view proto, TensorHeader& header) {
  ShapeProto shape;
  WireReader reader(proto);
  while (reader.next()) {
    if (reader.field() == 1) {
      header.dtype = static_cast<hr_dtype>(reader.as_varint());
    } else if (reader.field() == 2) {
      shape = ShapeProto();
      if (const char* problem = parse_shape(reader.as_bytes(), shape))
        return header.fail(HR_INVALID_ARGUMENT, std::string("its shape has ") + problem);
    } else if (reader.field() == 4) {
      header.content = reader.as_bytes();
      header.has_content = !header.content.empty();
    }
  }
  if (reader.problem())
    return header.fail(HR_INVALID_ARGUMENT, std::string("its bytes have ") + reader.problem());
  if (!value_field(header.dtype))
    return header.fail(HR_UNIMPLEMENTED,
                       "values of DataType " + std::to_string(header.dtype) + " in a TensorProto");
  if (shape.unknown_rank) return header.fail(HR_INVALID_ARGUMENT, "its rank is unknown");
  if (shape.dims.size() > HR_MAX_RANK)
    return header.fail(HR_UNIMPLEMENTED, std::to_string(shape.dims.size()) + " dimensions; " +
                                             std::to_string(HR_MAX_RANK) + " are the most");
  header.rank = static_cast<int32_t>(shape.dims.size());
  int64_t most = std::numeric_limits<int64_t>::max() / hr_dtype_size(header.dtype);
  bool empty = false;
  for (int64_t dim : shape.dims) empty |= dim == 0;
  for (int32_t i = 0; i < header.rank; ++i) {
    int64_t dim = header.dims[i] = shape.dims[i];
    if (dim < 0) return header.fail(HR_INVALID_ARGUMENT, "its shape has an unknown dimension");
    if (!empty && dim > most / header.elements)
      return header.fail(HR_INVALID_ARGUMENT, "its shape has more elements than memory has bytes");
    header.elements = empty ? 0 : header.elements * dim;
  }
  header.bytes = header.elements * hr_dtype_size(header.dtype);
  if (header.dtype == HR_STRING) {
    int64_t least = header.has_content ? header.elements : 0;
    if (least > static_cast<int64_t>(header.content.size()))
      return header.fail(HR_INVALID_ARGUMENT, "its content holds fewer strings than its shape");
  } else if (header.has_content && static_cast<int64_t>(header.content.size()) != header.bytes) {
    return header.fail(HR_INVALID_ARGUMENT, "its shape takes " + std::to_string(header.bytes) +
                                                " bytes, its content has " +
                                                std::to_string(header.content.size()));
  }
  if ((header.dtype == HR_STRING || !header.has_content) && header.bytes > kLargestExpandedTensor)
    return header.fail(HR_INVALID_ARGUMENT, "its shape takes " + std::to_string(header.bytes) +
                                                " bytes, which its values do not fill; " +
                                                std::to_string(kLargestExpandedTensor) +
                                                " are the most");
  return true;
}

// Whether the message can be decoded, into the dtype if that is not 0; sets `problem` if not.
inline bool check_tensor(std::string_view proto, hr_dtype dtype, std::string& problem) {
  TensorHeader header;
  bool good = parse_tensor_header(proto, header);
  if (good && dtype && dtype != header.dtype)
    good = header.fail(HR_INVALID_ARGUMENT, "its DataType is " + std::to_string(header.dtype) +
                                                ", the node's is " + std::to_string(dtype));
  if (!good) problem = std::move(header.problem);
  return good;
}

namespace tensor_proto_detail {

template <typename To>
struct Filler {  // stores values until the shape is full
  To* to;
  int64_t most, n = 0;
  void operator()(To value) {
    if (n < most) to[n] = value;
    ++n;
  }
};

// Calls take(number) for each value of a field of the message; false where it is malformed.
template <typename Take>
bool each_value(std::string_view proto, uint32_t field, uint32_t wire, Take take) {
  WireReader reader(proto);
  while (reader.next())
    if (reader.field() == field && !each_number(reader, wire, take)) return false;
  return reader.problem() == nullptr;
}

template <typename To, typename Convert>
int64_t fill(std::string_view proto, uint32_t field, uint32_t wire, void* to, int64_t elements,
             Convert convert) {
  Filler<To> filler{static_cast<To*>(to), elements};
  if (!each_value(proto, field, wire, [&](uint64_t raw) { filler(convert(raw)); })) return -1;
  return filler.n;
}

template <typename To>
int64_t fill_integers(std::string_view proto, uint32_t field, void* to, int64_t elements) {
  return fill<To>(proto, field, HR_WIRE_VARINT, to, elements,
                  [](uint64_t raw) { return static_cast<To>(raw); });
}

inline int64_t fill_strings(std::string_view proto, hr_string* to, int64_t elements) {
  WireReader reader(proto);
  int64_t n = 0;
  while (reader.next()) {
    if (reader.field() != 8) continue;
    std::string_view value = reader.as_bytes();
    if (n < elements) to[n] = hr_string{value.data(), value.size(), nullptr};
    ++n;
  }
  return reader.problem() ? -1 : n;
}

// All lengths first, as varints, then all bytes.
inline bool split_strings(std::string_view content, hr_string* to, int64_t elements) {
  PackedReader lengths(content);
  uint64_t total = 0;
  for (int64_t i = 0; i < elements; ++i) {
    uint64_t size = lengths.varint();
    if (lengths.problem() || size > content.size()) return false;
    to[i].size = size;
    total += size;
  }
  if (total > content.size()) return false;
  const char* at = content.data() + (content.size() - total);
  for (int64_t i = 0; i < elements; ++i) {
    to[i].data = at;
    to[i].owner = nullptr;
    at += to[i].size;
  }
  return true;
}

}  // namespace tensor_proto_detail

// Writes the elements into `to`, which has header.bytes. Strings point into the message.
inline bool decode_tensor_values(std::string_view proto, TensorHeader& header, void* to) {
  using namespace tensor_proto_detail;
  const int64_t elements = header.elements;
  const uint32_t field = value_field(header.dtype);
  const auto size = static_cast<size_t>(hr_dtype_size(header.dtype));
  if (header.has_content) {
    if (header.dtype != HR_STRING) {
      std::memcpy(to, header.content.data(), header.content.size());
      return true;
    }
    if (split_strings(header.content, static_cast<hr_string*>(to), elements)) return true;
    return header.fail(HR_INVALID_ARGUMENT, "its content is not a list of strings");
  }
  int64_t n = -1;
  switch (header.dtype) {
    case HR_FLOAT:
      n = fill<uint32_t>(proto, field, HR_WIRE_FIXED32, to, elements,
                         [](uint64_t raw) { return static_cast<uint32_t>(raw); });
      break;
    case HR_DOUBLE:
      n = fill<uint64_t>(proto, field, HR_WIRE_FIXED64, to, elements,
                         [](uint64_t raw) { return raw; });
      break;
    case HR_COMPLEX64:
      n = fill<uint32_t>(proto, field, HR_WIRE_FIXED32, to, 2 * elements,
                         [](uint64_t raw) { return static_cast<uint32_t>(raw); });
      n = n < 0 || n % 2 ? -1 : n / 2;
      break;
    case HR_COMPLEX128:
      n = fill<uint64_t>(proto, field, HR_WIRE_FIXED64, to, 2 * elements,
                         [](uint64_t raw) { return raw; });
      n = n < 0 || n % 2 ? -1 : n / 2;
      break;
    case HR_BOOL:
      n = fill<uint8_t>(proto, field, HR_WIRE_VARINT, to, elements,
                        [](uint64_t raw) { return static_cast<uint8_t>(raw != 0); });
      break;
    case HR_STRING: n = fill_strings(proto, static_cast<hr_string*>(to), elements); break;
    case HR_FLOAT8_E5M2:
    case HR_FLOAT8_E4M3FN: {
      WireReader reader(proto);
      n = 0;
      while (reader.next()) {
        if (reader.field() != field) continue;
        std::string_view values = reader.as_bytes();
        n = static_cast<int64_t>(values.size());
        if (n && n <= elements) std::memcpy(to, values.data(), values.size());
      }
      if (reader.problem()) n = -1;
      break;
    }
    default:
      switch (size) {
        case 1: n = fill_integers<uint8_t>(proto, field, to, elements); break;
        case 2: n = fill_integers<uint16_t>(proto, field, to, elements); break;
        case 4: n = fill_integers<uint32_t>(proto, field, to, elements); break;
        default: n = fill_integers<uint64_t>(proto, field, to, elements);
      }
  }
  if (n < 0) return header.fail(HR_INVALID_ARGUMENT, "its values are malformed");
  if (n > elements)
    return header.fail(HR_INVALID_ARGUMENT, "its shape has " + std::to_string(elements) +
                                                " elements, " + std::to_string(n) +
                                                " values are given");
  // Fewer values than elements: the last one is repeated; none at all: zeros.
  char* bytes = static_cast<char*>(to);
  if (n == 0) {
    std::memset(to, 0, static_cast<size_t>(header.bytes));
  } else {
    for (int64_t i = n; i < elements; ++i)
      std::memcpy(bytes + i * size, bytes + (n - 1) * size, size);
  }
  return true;
}

}  // namespace headrace
