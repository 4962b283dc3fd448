// A tensor as the payload of a frame: dtype, rank and dims, then the elements. A string tensor has
// the sizes of its strings, then their bytes. A tensor in shared memory has the number of its block
// instead of elements.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>

#include "native/memory.hpp"

namespace headrace::distributed {

struct TensorPrefix {
  int32_t dtype;
  int32_t rank;
};

inline size_t prefix_size(int32_t rank) { return sizeof(TensorPrefix) + 8 * size_t(rank); }

inline void append_prefix(std::string& out, const hr_tensor& t) {
  const TensorPrefix prefix{t.dtype, t.rank};
  out.append(reinterpret_cast<const char*>(&prefix), sizeof prefix);
  out.append(reinterpret_cast<const char*>(t.dims), 8 * size_t(t.rank));
}

inline size_t string_payload_size(const hr_tensor& t) {
  auto* strings = static_cast<const hr_string*>(t.data);
  size_t size = 0;
  for (int64_t i = 0, n = hr_elements(&t); i < n; ++i) size += 8 + strings[i].size;
  return size;
}

inline void append_strings(std::string& out, const hr_tensor& t) {
  auto* strings = static_cast<const hr_string*>(t.data);
  const int64_t n = hr_elements(&t);
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t size = strings[i].size;
    out.append(reinterpret_cast<const char*>(&size), 8);
  }
  for (int64_t i = 0; i < n; ++i)
    if (strings[i].size) out.append(strings[i].data, strings[i].size);
}

// Handles of resources and variants mean nothing in another task.
inline bool is_sendable(hr_dtype dtype) {
  return dtype > HR_INVALID && dtype < 32 && dtype != HR_RESOURCE && dtype != HR_VARIANT &&
         hr_dtype_size(dtype) > 0;
}

// Reads a prefix, whose rank was checked. Null: read, and `bytes` is the size of the elements (of a
// string tensor: their number); otherwise what is wrong.
inline const char* read_prefix(const char* data, hr_tensor* t, int64_t* bytes) {
  TensorPrefix prefix;
  std::memcpy(&prefix, data, sizeof prefix);
  *t = hr_tensor{};
  if (!is_sendable(prefix.dtype)) return "a tensor of unknown dtype";
  if (prefix.rank < 0 || prefix.rank > HR_MAX_RANK) return "a tensor of invalid rank";
  t->dtype = prefix.dtype;
  t->rank = prefix.rank;
  int64_t elements = 1;
  std::memcpy(t->dims, data + sizeof prefix, 8 * size_t(prefix.rank));
  for (int32_t i = 0; i < prefix.rank; ++i)
    if (t->dims[i] < 0 || __builtin_mul_overflow(elements, t->dims[i], &elements))
      return "a tensor of invalid shape";
  const int64_t size = t->dtype == HR_STRING ? 1 : hr_dtype_size(t->dtype);
  if (__builtin_mul_overflow(elements, size, bytes)) return "a tensor of invalid shape";
  return nullptr;
}

// Null: the sizes of n strings are those of the bytes.
inline const char* check_strings(const char* data, size_t size, int64_t n) {
  if (uint64_t(n) > size / 8) return "a string tensor that is too short";
  size_t left = size - 8 * size_t(n);
  for (int64_t i = 0; i < n; ++i) {
    uint64_t length;
    std::memcpy(&length, data + 8 * i, 8);
    if (length > left) return "a string tensor that is too short";
    left -= length;
  }
  return left ? "a string tensor that is too long" : nullptr;
}

// Reads checked strings. False: no memory.
inline bool read_strings(const char* data, const hr_tensor& shape, const Memory* memory,
                         Value* value) {
  if (!value->allocate(shape, memory)) return false;
  const int64_t n = hr_elements(&shape);
  auto* strings = static_cast<hr_string*>(value->tensor.data);
  const char* at = data + 8 * n;
  for (int64_t i = 0; i < n; ++i) {
    uint64_t length;
    std::memcpy(&length, data + 8 * i, 8);
    if (memory->set_string(&strings[i], at, length) != HR_OK) {
      value->reset();
      return false;
    }
    at += length;
  }
  return true;
}

}  // namespace headrace::distributed
