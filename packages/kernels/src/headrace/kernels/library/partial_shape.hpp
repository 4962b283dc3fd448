// Shapes of which dimensions or the rank may be unknown.
#ifndef HEADRACE_LIBRARY_PARTIAL_SHAPE_HPP
#define HEADRACE_LIBRARY_PARTIAL_SHAPE_HPP

#include <cstdint>

#include "headrace/kernel.h"

namespace hr {

// A shape of which the rank (-1) or single dimensions (-1) may be unknown.
struct PartialShape {
  int32_t rank = -1;
  int64_t dims[HR_MAX_RANK];

  bool complete() const {
    for (int32_t i = 0; i < rank; ++i)
      if (dims[i] < 0) return false;
    return rank >= 0;
  }
  bool allows(const hr_tensor* t) const;
  // Narrows this shape by another; false where they contradict.
  bool merge(const PartialShape& other);
};

// "[2,?]" or "<unknown>", for messages.
struct PartialShapeText {
  char text[24 * HR_MAX_RANK + 12];
  explicit PartialShapeText(const PartialShape& shape);
  operator const char*() const { return text; }
};

// Reads an `element_shape` input: a vector of sizes, or the scalar -1 for an unknown rank.
hr_code read_partial_shape(hr_ctx* ctx, const hr_tensor* value, PartialShape* shape);
// The same in prepare: false where the value is not known or not complete.
bool known_complete_shape(const hr_tensor* value, PartialShape* shape);
PartialShape shape_of(const hr_tensor* t);

// The shape attribute of a node; of more than HR_MAX_RANK dimensions: an error of the node.
hr_code read_shape_attribute(hr_node* node, const char* key, PartialShape* shape);

}  // namespace hr

#endif
