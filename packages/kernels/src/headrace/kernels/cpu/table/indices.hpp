// Reads and checks indices, and names them in error messages.
#ifndef HEADRACE_CPU_TABLE_INDICES_HPP
#define HEADRACE_CPU_TABLE_INDICES_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "headrace/kernel.h"
#include "library/attributes.hpp"
#include "library/shapes.hpp"
#include "table/element_types.hpp"

namespace hr {

using IndexTypes = Types<int32_t, int64_t, int16_t, uint16_t>;

// "indices[0,3]" for element i of a tensor, for messages.
inline std::string element_name(const char* tensor, const hr_tensor* t, int64_t i) {
  std::string text;
  int32_t rank = t->rank;
  for (int32_t d = rank - 1; d >= 0; --d) {
    text = std::to_string(i % t->dims[d]) + (text.empty() ? "" : ",") + text;
    i /= t->dims[d];
  }
  return text.empty() ? std::string(tensor) : std::string(tensor) + "[" + text + "]";
}

inline hr_code index_error(hr_ctx* ctx, const hr_tensor* indices, int64_t i, int64_t limit) {
  return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "%s = %lld is not in [0, %lld)",
                     element_name("indices", indices, i).c_str(), (long long)int_at(indices, i),
                     (long long)limit);
}

// The first element outside [0, limit), or -1.
inline int64_t first_outside(const hr_tensor* indices, int64_t limit) {
  return with_type(indices->dtype, IndexTypes{},
                   [&](auto t) -> int64_t {
                     using I = typename decltype(t)::type;
                     const I* data = read<I>(indices);
                     const int64_t n = hr_elements(indices);
                     bool bad = false;
                     for (int64_t i = 0; i < n; ++i)
                       bad |= uint64_t(int64_t(data[i])) >= uint64_t(limit);
                     if (bad)
                       for (int64_t i = 0; i < n; ++i)
                         if (uint64_t(int64_t(data[i])) >= uint64_t(limit)) return i + 1;
                     return 0;
                   }) -
         1;
}

// Writes one element of an output of indices.
inline void put_index(hr_tensor* out, int64_t i, int64_t value) {
  switch (out->dtype) {
    case HR_INT32: write<int32_t>(out)[i] = int32_t(value); break;
    case HR_INT64: write<int64_t>(out)[i] = value; break;
    case HR_INT16: write<int16_t>(out)[i] = int16_t(value); break;
    default: break;
  }
}

// The indices as 64-bit integers.
inline std::vector<int64_t> to_int64(const hr_tensor* indices) {
  std::vector<int64_t> result(size_t(hr_elements(indices)));
  for (size_t i = 0; i < result.size(); ++i) result[i] = int_at(indices, int64_t(i));
  return result;
}

// Rows of indices [..., depth] as offsets, in slices, into the first `depth` dimensions of dims;
// -1 for a row that leads outside. first_bad gets the first such row, or -1.
inline std::vector<int64_t> slice_offsets(const hr_tensor* indices, const int64_t* dims,
                                          int64_t* first_bad) {
  const int64_t depth = indices->rank ? indices->dims[indices->rank - 1] : 1;
  const int64_t n = product(indices->dims, 0, indices->rank - 1);
  std::vector<int64_t> result(static_cast<size_t>(n));
  *first_bad = -1;
  for (int64_t i = 0; i < n; ++i) {
    int64_t at = 0;
    bool inside = true;
    for (int64_t d = 0; d < depth; ++d) {
      const int64_t x = int_at(indices, i * depth + d);
      inside = inside && x >= 0 && x < dims[d];
      at = at * dims[d] + x;
    }
    result[size_t(i)] = inside ? at : -1;
    if (!inside && *first_bad < 0) *first_bad = i;
  }
  return result;
}

// The error for a row that leads outside.
inline hr_code slice_error(hr_ctx* ctx, const hr_tensor* indices, int64_t row, int32_t rank,
                           const int64_t* dims) {
  const int64_t depth = indices->dims[indices->rank - 1];
  hr_tensor rows = *indices;
  rows.rank -= 1;
  int64_t values[HR_MAX_RANK];
  for (int64_t d = 0; d < depth && d < HR_MAX_RANK; ++d)
    values[d] = int_at(indices, row * depth + d);
  return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "%s = %s does not index into shape %s",
                     element_name("indices", &rows, row).c_str(),
                     (const char*)ShapeText(int32_t(depth), values),
                     (const char*)ShapeText(rank, dims));
}

// bad_indices_policy of an op that has one: rejects words that TensorFlow does not know.
inline hr_code check_bad_indices_policy(hr_request* r) {
  const auto policy = attr_text(r->node, "bad_indices_policy");
  for (const char* known : {"", "DEFAULT", "ERROR", "IGNORE"})
    if (policy == known) return HR_OK;
  return hr_request_fail(r, HR_INVALID_ARGUMENT, "Unknown bad indices handling attribute: %.*s",
                         int(policy.size()), policy.data());
}

}  // namespace hr

#endif
