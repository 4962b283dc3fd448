#include "library/partial_shape.hpp"

#include <algorithm>
#include <cstdio>

#include "library/shapes.hpp"

namespace hr {

bool PartialShape::allows(const hr_tensor* t) const {
  if (rank < 0) return true;
  if (rank != t->rank) return false;
  for (int32_t i = 0; i < rank; ++i)
    if (dims[i] >= 0 && dims[i] != t->dims[i]) return false;
  return true;
}

bool PartialShape::merge(const PartialShape& other) {
  if (other.rank < 0) return true;
  if (rank < 0) {
    *this = other;
    return true;
  }
  if (rank != other.rank) return false;
  for (int32_t i = 0; i < rank; ++i) {
    if (dims[i] >= 0 && other.dims[i] >= 0 && dims[i] != other.dims[i]) return false;
    if (dims[i] < 0) dims[i] = other.dims[i];
  }
  return true;
}

PartialShapeText::PartialShapeText(const PartialShape& shape) {
  if (shape.rank < 0) {
    std::snprintf(text, sizeof text, "<unknown>");
    return;
  }
  char* to = text;
  *to++ = '[';
  for (int32_t i = 0; i < shape.rank; ++i) {
    if (i) *to++ = ',';
    to += shape.dims[i] < 0 ? std::snprintf(to, 24, "?")
                            : std::snprintf(to, 24, "%lld", (long long)shape.dims[i]);
  }
  *to++ = ']';
  *to = 0;
}

PartialShape shape_of(const hr_tensor* t) {
  PartialShape shape;
  shape.rank = t->rank;
  std::copy(t->dims, t->dims + t->rank, shape.dims);
  return shape;
}

hr_code read_partial_shape(hr_ctx* ctx, const hr_tensor* value, PartialShape* shape) {
  shape->rank = -1;
  if (value->rank == 0) {
    if (int_at(value, 0) == -1) return HR_OK;
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "The only valid scalar shape tensor is the fully unknown shape specified "
                       "as -1.");
  }
  const int64_t rank = hr_elements(value);
  if (value->rank != 1 || rank > HR_MAX_RANK)
    return hr_ctx_fail(ctx, HR_UNIMPLEMENTED,
                       "element_shape must be a vector of at most %d dimensions, its shape is %s",
                       HR_MAX_RANK, (const char*)ShapeText(value));
  for (int64_t i = 0; i < rank; ++i) {
    shape->dims[i] = int_at(value, i);
    if (shape->dims[i] < -1)
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "Dimension %lld must be >= -1", (long long)i);
  }
  shape->rank = int32_t(rank);
  return HR_OK;
}

bool known_complete_shape(const hr_tensor* value, PartialShape* shape) {
  if (!value->data || value->rank != 1 || hr_elements(value) > HR_MAX_RANK) return false;
  shape->rank = int32_t(hr_elements(value));
  for (int32_t i = 0; i < shape->rank; ++i) shape->dims[i] = int_at(value, i);
  return shape->complete();
}

hr_code read_shape_attribute(hr_node* node, const char* key, PartialShape* shape) {
  const int64_t* dims = nullptr;
  int32_t rank = -1;
  shape->rank = -1;
  if (node->api->attr_shape(node, key, &rank, &dims) != HR_OK || rank < 0) return HR_OK;
  if (rank > HR_MAX_RANK)
    return node->api->fail(node, HR_UNIMPLEMENTED, "%s has %d dimensions; tensors have at most %d",
                           key, rank, HR_MAX_RANK);
  shape->rank = rank;
  std::copy(dims, dims + rank, shape->dims);
  return HR_OK;
}

}  // namespace hr
