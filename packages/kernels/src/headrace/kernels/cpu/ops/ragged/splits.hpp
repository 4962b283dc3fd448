// Row splits of ragged tensors, and copies of their values.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "files/disk.hpp"
#include "library/shapes.hpp"
#include "library/text.hpp"

namespace hr::ragged {

[[noreturn]] inline void invalid(const std::string& text) {
  throw Failure{HR_INVALID_ARGUMENT, text};
}

inline int64_t number_at(const hr_tensor* t, int64_t i) {
  return t->dtype == HR_INT32 ? read<int32_t>(t)[i] : read<int64_t>(t)[i];
}
inline void put_number(hr_tensor* t, int64_t i, int64_t value) {
  if (t->dtype == HR_INT32) write<int32_t>(t)[i] = int32_t(value);
  else write<int64_t>(t)[i] = value;
}

// The arguments of a node, which may be lists.
struct Range {
  int32_t first = 0, count = 0;
  Range(const hr_node* node, int32_t argument) {
    node->api->input_range(node, argument, &first, &count);
  }
};

// Throws unless they begin at 0, ascend, and end at `size` (negative: anywhere).
inline std::vector<int64_t> checked_splits(const hr_tensor* t, int64_t size) {
  if (t->rank != 1) invalid("Ragged splits must be a vector.");
  const int64_t n = t->dims[0];
  if (n == 0) invalid("Ragged splits may not be empty.");
  std::vector<int64_t> splits;
  splits.reserve(size_t(n));
  for (int64_t i = 0; i < n; ++i) splits.push_back(number_at(t, i));
  if (splits[0] != 0) invalid("First value of ragged splits must be 0.");
  for (size_t i = 1; i < splits.size(); ++i)
    if (splits[i] < splits[i - 1]) invalid("Ragged splits must not descend.");
  if (size >= 0 && splits.back() != size)
    invalid("Last value of ragged splits must be the number of values.");
  return splits;
}

// The splits of all ragged dimensions, from the outermost on.
inline std::vector<std::vector<int64_t>> nested_splits(const hr_tensor* const* in, Range at,
                                                       const hr_tensor* values) {
  if (values->rank < 1) invalid("the values must have at least one dimension");
  std::vector<std::vector<int64_t>> nested;
  for (int32_t k = 0; k < at.count; ++k) {
    const bool last = k + 1 == at.count;
    const hr_tensor* inner = last ? values : in[at.first + k + 1];
    nested.push_back(checked_splits(in[at.first + k], last ? inner->dims[0] : inner->dims[0] - 1));
  }
  return nested;
}

// Copies n elements of one type.
inline void copy_values(hr_ctx* ctx, const hr_tensor* from, int64_t i, hr_tensor* to, int64_t j,
                        int64_t n) {
  if (from->dtype == HR_STRING) {
    for (int64_t k = 0; k < n; ++k) check(set_text(ctx, to, j + k, text_at(from, i + k)));
    return;
  }
  const int64_t size = hr_dtype_size(from->dtype);
  std::memcpy(write<char>(to) + j * size, read<char>(from) + i * size, size_t(n * size));
}

inline int64_t row_size(const hr_tensor* values) {
  int64_t size = 1;
  for (int32_t d = 1; d < values->rank; ++d) size *= values->dims[d];
  return size;
}

inline hr_code prepare_of_data(void*, hr_request* r) {
  r->shape_depends_on_data = 1;
  return HR_OK;
}

inline hr_code create_with_node(hr_node* node, void** state) {
  *state = node;
  return HR_OK;
}

using Body = void (*)(hr_ctx* ctx, const hr_node* node, const hr_tensor* const* in,
                      hr_tensor* const* out);

template <Body body>
hr_code compute(hr_ctx* ctx, void* state, void*, const hr_tensor* const* in, hr_tensor* const* out,
                void*) {
  return error_boundary(ctx, [&] { body(ctx, static_cast<const hr_node*>(state), in, out); });
}

}  // namespace hr::ragged
