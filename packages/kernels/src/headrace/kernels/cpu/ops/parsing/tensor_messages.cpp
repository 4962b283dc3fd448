// Tensors as TensorProto messages: ParseTensor, SerializeTensor.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "files/disk.hpp"
#include "files/protobuf_writer.hpp"
#include "headrace/wire.h"
#include "library/dtype_names.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/text.hpp"
#include "loops/elements.hpp"
#include "table/element_types.hpp"

namespace hr::parsing {
namespace {

// The fields of TensorProto.
enum Field : uint32_t {
  kDtype = 1,
  kShape = 2,
  kContent = 4,
  kFloat = 5,
  kDouble = 6,
  kInt = 7,
  kString = 8,
  kComplex64 = 9,
  kInt64 = 10,
  kBool = 11,
  kComplex128 = 12,
  kHalf = 13,
  kUint32 = 16,
  kUint64 = 17
};

[[noreturn]] void invalid(const std::string& text) { throw Failure{HR_INVALID_ARGUMENT, text}; }
[[noreturn]] void malformed() {
  invalid("Could not parse `serialized` as TensorProto: the message is malformed");
}

const uint8_t* octets(std::string_view text) {
  return reinterpret_cast<const uint8_t*>(text.data());
}

// The field with the elements of a dtype.
uint32_t field_of(hr_dtype dtype) {
  switch (dtype) {
    case HR_FLOAT: return kFloat;
    case HR_DOUBLE: return kDouble;
    case HR_STRING: return kString;
    case HR_COMPLEX64: return kComplex64;
    case HR_COMPLEX128: return kComplex128;
    case HR_INT64: return kInt64;
    case HR_BOOL: return kBool;
    case HR_HALF:
    case HR_BFLOAT16: return kHalf;
    case HR_UINT32: return kUint32;
    case HR_UINT64: return kUint64;
    default: return kInt;
  }
}

template <class Body> void each_field(const uint8_t* data, uint64_t size, Body&& body) {
  hr_wire_field field;
  uint64_t at = 0;
  int more;
  while ((more = hr_wire_next(data, size, &at, &field)) > 0) body(field);
  if (more < 0) malformed();
}

struct Message {
  hr_dtype dtype = HR_INVALID;
  std::vector<int64_t> dims;
  bool unknown_rank = false;
  std::string_view content;
};

Message read_message(std::string_view text) {
  Message m;
  each_field(octets(text), text.size(), [&](const hr_wire_field& field) {
    if (field.number == kDtype && field.wire == HR_WIRE_VARINT) m.dtype = hr_dtype(field.value);
    if (field.number == kContent && field.wire == HR_WIRE_BYTES)
      m.content = {reinterpret_cast<const char*>(field.data), size_t(field.size)};
    if (field.number != kShape || field.wire != HR_WIRE_BYTES) return;
    each_field(field.data, field.size, [&](const hr_wire_field& part) {
      if (part.number == 3 && part.wire == HR_WIRE_VARINT) m.unknown_rank = part.value != 0;
      if (part.number != 2 || part.wire != HR_WIRE_BYTES) return;
      m.dims.push_back(0);
      each_field(part.data, part.size, [&](const hr_wire_field& dim) {
        if (dim.number == 1 && dim.wire == HR_WIRE_VARINT) m.dims.back() = int64_t(dim.value);
      });
    });
  });
  return m;
}

// One number of the message, in the form of its field, as an element of the dtype.
void put_number(hr_dtype dtype, uint64_t bits, char* to) {
  switch (hr_dtype_size(dtype)) {
    case 1: {
      const uint8_t value = dtype == HR_BOOL ? bits != 0 : uint8_t(bits);
      std::memcpy(to, &value, 1);
      return;
    }
    case 2: {
      const uint16_t value = uint16_t(bits);
      std::memcpy(to, &value, 2);
      return;
    }
    case 4: {
      const uint32_t value = uint32_t(bits);
      std::memcpy(to, &value, 4);
      return;
    }
    default: std::memcpy(to, &bits, 8);
  }
}

// Fills in the elements of the repeated field; the last one also stands for all that are missing.
void fill(hr_ctx* ctx, std::string_view text, hr_tensor* out) {
  const uint32_t wanted = field_of(out->dtype);
  const bool complex = wanted == kComplex64 || wanted == kComplex128;
  // Elements are written part by part: a complex number has two.
  const int64_t size = hr_dtype_size(out->dtype) / (complex ? 2 : 1);
  const hr_dtype part = wanted == kComplex64    ? HR_FLOAT
                        : wanted == kComplex128 ? HR_DOUBLE
                                                : out->dtype;
  const int64_t n = hr_elements(out) * (complex ? 2 : 1);
  char* const begin = write<char>(out);
  int64_t filled = 0;
  const auto put = [&](uint64_t bits) {
    if (filled < n) put_number(part, bits, begin + filled++ * size);
  };
  each_field(octets(text), text.size(), [&](const hr_wire_field& field) {
    if (field.number != wanted) return;
    if (wanted == kString) {
      if (field.wire == HR_WIRE_BYTES && filled < n)
        check(set_text(ctx, out, filled++,
                       {reinterpret_cast<const char*>(field.data), size_t(field.size)}));
      return;
    }
    if (field.wire != HR_WIRE_BYTES) return put(field.value);
    const bool fixed32 = wanted == kFloat || wanted == kComplex64;
    if (fixed32 || wanted == kDouble || wanted == kComplex128) {
      const uint64_t width = fixed32 ? 4 : 8;
      if (field.size % width) malformed();
      for (uint64_t at = 0; at < field.size; at += width)
        put(fixed32 ? hr_load_u32(field.data + at) : hr_load_u64(field.data + at));
      return;
    }
    for (uint64_t at = 0; at < field.size;) {
      uint64_t value;
      if (!hr_wire_varint(field.data, field.size, &at, &value)) malformed();
      put(value);
    }
  });
  if (complex && filled % 2) malformed();
  const int64_t step = complex ? 2 : 1;
  if (filled == n) return;
  if (filled == 0) {
    if (wanted != kString) zero_polled(ctx, out);
    return;
  }
  fill_elements(ctx, out->dtype, begin + filled * size, begin + (filled - step) * size,
                (n - filled) / step);
}

hr_code compute_parse(hr_ctx* ctx, void*, void*, const hr_tensor* const* in, hr_tensor* const* out,
                      void*) {
  return error_boundary(ctx, [&] {
    const std::string_view text = text_at(in[0], 0);
    const Message m = read_message(text);
    if (m.dtype != out[0]->dtype)
      invalid(std::string("Type mismatch between parsed tensor (") + dtype_name(m.dtype) +
              ") and dtype (" + dtype_name(out[0]->dtype) + ")");
    int64_t n, bytes;
    if (m.unknown_rank || m.dims.size() > HR_MAX_RANK || !checked_product(m.dims, &n) ||
        __builtin_mul_overflow(n, hr_dtype_size(m.dtype), &bytes))
      invalid("Could not parse `serialized` as TensorProto: its shape is not that of a tensor");
    const bool raw = !m.content.empty() && m.dtype != HR_STRING;
    if (raw && int64_t(m.content.size()) != bytes)
      invalid("Could not parse `serialized` as TensorProto: its content has " +
              std::to_string(m.content.size()) + " bytes, its shape needs " +
              std::to_string(bytes));
    set_shape(out[0], int32_t(m.dims.size()), m.dims.data());
    check(ctx->api->allocate(ctx, out[0]));
    if (raw) copy_polled(ctx, out[0]->data, m.content.data(), m.content.size());
    else if (n) fill(ctx, text, out[0]);
  });
}

hr_code prepare_parse(void*, hr_request* r) {
  if (r->inputs[0]->rank != 0)
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "Expected `serialized` to be a scalar, got shape: %s",
                           ShapeText(r->inputs[0]).text);
  r->shape_depends_on_data = 1;
  return HR_OK;
}

hr_code compute_serialize(hr_ctx* ctx, void*, void*, const hr_tensor* const* in,
                          hr_tensor* const* out, void*) {
  return error_boundary(ctx, [&] {
    const hr_tensor& t = *in[0];
    protobuf::Message shape, message;
    for (int32_t i = 0; i < t.rank; ++i) {
      protobuf::Message dim;
      dim.number(1, uint64_t(t.dims[i]));
      shape.always(2, dim);
    }
    message.number(kDtype, uint64_t(t.dtype));
    message.always(kShape, shape);
    const int64_t n = hr_elements(&t);
    if (t.dtype == HR_STRING)
      for (int64_t i = 0; i < n; ++i) message.always(kString, text_at(&t, i));
    else
      message.text(kContent,
                   {static_cast<const char*>(t.data), size_t(n * hr_dtype_size(t.dtype))});
    check(set_text(ctx, out[0], 0, message.bytes()));
  });
}

hr_code prepare_serialize(void*, hr_request* r) { return hr_shape_scalar(r); }

#define HR_MESSAGE_DTYPES HR_NUMBERS "|bool|string|qint8|quint8|qint16|quint16|qint32"

}  // namespace

HR_KERNELS = {
    kernel("ParseTensor", "out_type=" HR_MESSAGE_DTYPES, prepare_parse, compute_parse)
        .is(HR_KERNEL_DATA_SHAPE),
    kernel("SerializeTensor", "T=" HR_MESSAGE_DTYPES, prepare_serialize, compute_serialize),
};

}  // namespace hr::parsing
