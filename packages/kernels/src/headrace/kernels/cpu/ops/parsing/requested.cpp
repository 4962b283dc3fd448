#include "ops/parsing/requested.hpp"

#include "library/dtype_names.hpp"
#include "library/shapes.hpp"
#include "library/text.hpp"

namespace hr::parsing {
namespace {

std::vector<hr_dtype> types_of(const hr_node* node, const char* key) {
  const hr_dtype* types = nullptr;
  size_t n = 0;
  if (!key || node->api->attr_types(node, key, &types, &n) != HR_OK) return {};
  return {types, types + n};
}

}  // namespace

hr_code read_requested(const hr_node* node, const AttributeNames& names, bool may_vary,
                       Requested* requested) {
  requested->sparse = types_of(node, names.sparse);
  requested->dense = types_of(node, names.dense);
  requested->ragged = types_of(node, names.ragged);
  requested->ragged_splits = types_of(node, names.ragged_splits);
  const int32_t* ranks = nullptr;
  const int64_t* const* dims = nullptr;
  size_t n = 0;
  if (node->api->attr_shapes(node, names.shapes, &ranks, &dims, &n) != HR_OK) n = 0;
  for (size_t i = 0; i < n; ++i) {
    Requested::Shape shape;
    bool known = ranks[i] >= 0;
    for (int32_t d = 0; d < ranks[i]; ++d) {
      if (d == 0 && dims[i][d] < 0 && may_vary) {
        shape.variable = true;
        continue;
      }
      known = known && dims[i][d] >= 0;
      shape.dims.push_back(dims[i][d]);
    }
    int64_t size;
    if (!known || !checked_product(shape.dims, &size) || size > INT64_MAX / 64)
      return node->api->fail(node, HR_INVALID_ARGUMENT,
                             "%s[%zu] has unknown rank or unknown inner dimensions: %s",
                             names.shapes, i, ranks[i] < 0 ? "?" : dims_text(shape.dims).c_str());
    requested->shapes.push_back(shape);
  }
  return HR_OK;
}

hr_code check_lengths(const hr_node* node, const char* keys, size_t n, const char* list,
                      size_t length) {
  if (n == length) return HR_OK;
  return node->api->fail(node, HR_INVALID_ARGUMENT, "len(%s) != len(%s): %zu and %zu", keys, list,
                         n, length);
}

void set_dense(Column* column, const Requested& requested, size_t i, const hr_tensor* fill) {
  const Requested::Shape& shape = requested.shapes[i];
  column->dims = shape.dims;
  column->variable = shape.variable;
  column->default_value = fill;
  const std::string number = "[" + std::to_string(i) + "]";
  if (fill->dtype != column->dtype)
    throw Failure{HR_INVALID_ARGUMENT,
                  "dense_defaults" + number + ".dtype() == " + dtype_name(fill->dtype) +
                      " != dense_types_" + number + " == " + dtype_name(column->dtype)};
  const int64_t n = hr_elements(fill);
  const Dims has(fill->dims, fill->dims + fill->rank);
  if (shape.variable && n != 1)
    throw Failure{HR_INVALID_ARGUMENT,
                  "dense_shape" + number + " is a variable length shape: " +
                      dims_text(shape.dims, true) + ", therefore def_value" + number +
                      " must contain a single element (the padding element).  But its shape is: " +
                      dims_text(has)};
  if (!shape.variable && n && has != shape.dims)
    throw Failure{HR_INVALID_ARGUMENT, "def_value" + number + ".shape() == " + dims_text(has) +
                                           " is not compatible with dense_shapes_" + number +
                                           " == " + dims_text(shape.dims)};
}

std::string key_in(const hr_tensor* keys, int64_t i) { return std::string(text_at(keys, i)); }

}  // namespace hr::parsing
