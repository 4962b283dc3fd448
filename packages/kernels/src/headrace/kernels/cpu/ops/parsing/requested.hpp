// The features that a parse op asks for, from the attributes of its node.
#pragma once

#include <string>
#include <vector>

#include "library/attributes.hpp"
#include "ops/parsing/batch.hpp"

namespace hr::parsing {

// Features of one map: the Features of an Example, the context of a SequenceExample, its lists.
struct Requested {
  std::vector<hr_dtype> sparse, dense, ragged, ragged_splits;
  struct Shape {
    Dims dims;  // without the first dimension where that is variable
    bool variable = false;
  };
  std::vector<Shape> shapes;  // of the dense ones
};

// The names of the attributes; null where an op has none.
struct AttributeNames {
  const char *sparse, *dense, *shapes, *ragged, *ragged_splits;
};

// An error of the node for shapes whose sizes are not known, where only the first may be variable.
hr_code read_requested(const hr_node* node, const AttributeNames& names, bool may_vary,
                       Requested* requested);

// Ends with an error of the node unless a list is as long as its keys.
hr_code check_lengths(const hr_node* node, const char* keys, size_t n, const char* list,
                      size_t length);

// Sets the shape, and the default value if it fits; throws Failure if not.
void set_dense(Column* column, const Requested& requested, size_t i, const hr_tensor* fill);

// The key in a scalar, or element i of a vector.
std::string key_in(const hr_tensor* keys, int64_t i);

}  // namespace hr::parsing
