// Numbers as text: AsString, StringToNumber.
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "files/disk.hpp"
#include "library/attributes.hpp"
#include "library/dtype_names.hpp"
#include "library/shape_rules.hpp"
#include "library/text.hpp"
#include "math/parsed_number.hpp"
#include "processor/parallel.hpp"
#include "table/element_types.hpp"

namespace hr {
namespace {

// ---- AsString -----------------------------------------------------------------------------------

// printf formats. They are built from checked attributes.
struct Formats {
  std::string real, integer, natural;
  int64_t width = 0;
  bool left = false;
};

hr_code create_as_string(hr_node* node, void** state) {
  const hr_dtype dtype = hr_attr_type(node, "T");
  const int64_t width = hr_attr_int(node, "width", -1);
  const int64_t precision = hr_attr_int(node, "precision", -1);
  const bool scientific = hr_attr_bool(node, "scientific", 0) != 0;
  const bool shortest = hr_attr_bool(node, "shortest", 0) != 0;
  const std::string fill(attr_text(node, "fill"));
  for (const auto& [name, value] : {std::pair<const char*, int64_t>{"width", width},
                                    std::pair<const char*, int64_t>{"precision", precision}})
    if (value != int32_t(value))
      return node->api->fail(node, HR_INVALID_ARGUMENT,
                             "Attr %s has value %lld out of range for an int32", name,
                             (long long)value);
  if (fill.size() > 1)
    return node->api->fail(node, HR_INVALID_ARGUMENT,
                           "Fill string must be one or fewer characters: \"%s\"", fill.c_str());
  if (!fill.empty() && std::string_view(" -0+").find(fill[0]) == std::string_view::npos)
    return node->api->fail(node, HR_INVALID_ARGUMENT, "Fill argument not supported: \"%s\"",
                           fill.c_str());
  if (scientific && shortest)
    return node->api->fail(node, HR_INVALID_ARGUMENT,
                           "Cannot select both scientific and shortest notation");
  const bool is_real = dtype == HR_FLOAT || dtype == HR_DOUBLE || dtype == HR_HALF ||
                       dtype == HR_BFLOAT16 || dtype == HR_COMPLEX64 || dtype == HR_COMPLEX128;
  if (!is_real && dtype != HR_STRING) {
    if (scientific || shortest)
      return node->api->fail(node, HR_INVALID_ARGUMENT,
                             "scientific and shortest format not supported for datatype %s",
                             dtype_name(dtype));
    if (precision > -1)
      return node->api->fail(node, HR_INVALID_ARGUMENT, "precision not supported for datatype %s",
                             dtype_name(dtype));
  }
  auto* made = new Formats;
  std::string begin = "%" + fill;
  if (width > -1) begin += std::to_string(width);
  made->real = begin;
  if (precision > -1) made->real += "." + std::to_string(precision);
  made->real += shortest ? "g" : scientific ? "e" : "f";
  made->integer = begin + "lld";
  made->natural = begin + "llu";
  made->width = std::max<int64_t>(0, width);
  made->left = fill == "-";
  *state = made;
  return HR_OK;
}

template <class Number>
std::string printed(std::string* room, const std::string& format, Number number) {
  const int size = std::snprintf(room->data(), room->size(), format.c_str(), number);
  if (size < 0) throw Failure{HR_INVALID_ARGUMENT, "the number cannot be written"};
  if (size_t(size) >= room->size()) {
    room->resize(size_t(size) + 1);
    std::snprintf(room->data(), room->size(), format.c_str(), number);
  }
  return room->substr(0, size_t(size));
}

template <class T>
std::string as_text(const Formats& f, std::string* room, const T& value) {
  if constexpr (std::is_same_v<T, bool>) return value ? "true" : "false";
  else if constexpr (is_complex<T>)
    return "(" + printed(room, f.real, double(value.real())) + "," +
           printed(room, f.real, double(value.imag())) + ")";
  else if constexpr (!std::is_integral_v<T>)
    return printed(room, f.real, double(Compute<T>(value)));
  else if constexpr (std::is_signed_v<T>)
    return printed(room, f.integer, static_cast<long long>(value));
  else return printed(room, f.natural, static_cast<unsigned long long>(value));
}

template <class T>
hr_code compute_as_string(hr_ctx* ctx, void* state, void*, const hr_tensor* const* in,
                          hr_tensor* const* out, void*) {
  const auto& formats = *static_cast<const Formats*>(state);
  std::string room(512, '\0');
  return error_boundary(ctx, [&] {
    for (int64_t i = 0, n = hr_elements(in[0]); i < n; ++i) {
      poll_at(ctx, i);
      check(set_text(ctx, out[0], i, as_text<T>(formats, &room, read<T>(in[0])[i])));
    }
  });
}

hr_code compute_padded(hr_ctx* ctx, void* state, void*, const hr_tensor* const* in,
                       hr_tensor* const* out, void*) {
  const auto& formats = *static_cast<const Formats*>(state);
  for (int64_t i = 0, n = hr_elements(in[0]); i < n; ++i) {
    std::string text(text_at(in[0], i));
    const size_t width = size_t(formats.width);
    if (text.size() < width) text.insert(formats.left ? text.size() : 0, width - text.size(), ' ');
    if (hr_code code = set_text(ctx, out[0], i, text)) return code;
  }
  return HR_OK;
}

hr_code prepare_as_string(void*, hr_request* r) {
  HR_APPLY_RULE(unchanged, r);
  const hr_dtype dtype = r->inputs[0]->dtype;
  if (dtype == HR_STRING) r->compute = compute_padded;
  else if (dtype == HR_BOOL) r->compute = compute_as_string<bool>;
  else
    r->compute = with_type(dtype, Numbers{}, [](auto type) -> hr_compute {
      return compute_as_string<typename decltype(type)::type>;
    });
  return HR_OK;
}

// ---- StringToNumber -----------------------------------------------------------------------------

template <class T> bool parsed(std::string_view text, T* value) {
  if constexpr (std::is_integral_v<T>) return parsed_integer(text, value);
  else return parsed_float(text, value);
}

template <class T>
hr_code compute_to_number(hr_ctx* ctx, void*, void*, const hr_tensor* const* in,
                          hr_tensor* const* out, void*) {
  for (int64_t i = 0, n = hr_elements(in[0]); i < n; ++i) {
    poll_at(ctx, i);
    const std::string_view text = text_at(in[0], i);
    if (!parsed(text, write<T>(out[0]) + i))
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                         "StringToNumberOp could not correctly convert string: %.*s",
                         int(text.size()), text.data());
  }
  return HR_OK;
}

hr_code prepare_to_number(void*, hr_request* r) {
  HR_APPLY_RULE(unchanged, r);
  switch (r->outputs[0]->dtype) {
    case HR_FLOAT: r->compute = compute_to_number<float>; break;
    case HR_DOUBLE: r->compute = compute_to_number<double>; break;
    case HR_INT32: r->compute = compute_to_number<int32_t>; break;
    default: r->compute = compute_to_number<int64_t>;
  }
  return HR_OK;
}

}  // namespace

HR_KERNELS = {
    kernel("AsString", "T=" HR_NUMBERS "|bool|string", prepare_as_string)
        .with_state(create_as_string, [](void* state) { delete static_cast<Formats*>(state); }),
    kernel("StringToNumber", "out_type=float|double|int32|int64", prepare_to_number),
};

}  // namespace hr
