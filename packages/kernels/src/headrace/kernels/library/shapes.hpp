// Compares, sets and prints shapes, and reads integers of shape-like inputs.
#ifndef HEADRACE_LIBRARY_SHAPES_HPP
#define HEADRACE_LIBRARY_SHAPES_HPP

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "headrace/kernel.h"

namespace hr {

inline void set_shape(hr_tensor* t, int32_t rank, const int64_t* dims) {
  t->rank = rank;
  for (int32_t i = 0; i < rank; ++i) t->dims[i] = dims[i];
}

inline void set_shape(hr_tensor* t, std::initializer_list<int64_t> dims) {
  set_shape(t, int32_t(dims.size()), dims.begin());
}

inline void copy_shape(const hr_tensor* from, hr_tensor* to) {
  set_shape(to, from->rank, from->dims);
}

inline bool same_shape(const hr_tensor* a, const hr_tensor* b) {
  return a->rank == b->rank && std::equal(a->dims, a->dims + a->rank, b->dims);
}

inline int64_t product(const int64_t* dims, int32_t begin, int32_t end) {
  int64_t n = 1;
  for (int32_t i = begin; i < end; ++i) n *= dims[i];
  return n;
}

// The product of sizes that came as values: false where one is negative or it passes 2^63.
template <class Sizes> bool checked_product(const Sizes& sizes, int64_t* result) {
  int64_t n = 1;
  bool empty = false, fits = true;
  for (const int64_t size : sizes) {
    if (size < 0) return false;
    empty |= size == 0;
    fits &= !__builtin_mul_overflow(n, size, &n);
  }
  *result = empty ? 0 : n;
  return empty || fits;
}

// "[2, 3]", for messages.
struct ShapeText {
  char text[24 * HR_MAX_RANK + 12];
  ShapeText(int32_t rank, const int64_t* dims) {
    char* to = text;
    *to++ = '[';
    // The shape of a sparse tensor, a value, may have more dimensions than a tensor.
    const int32_t shown = std::min<int32_t>(rank, HR_MAX_RANK);
    for (int32_t i = 0; i < shown; ++i)
      to += std::snprintf(to, 24, i ? ", %lld" : "%lld", (long long)dims[i]);
    if (shown < rank) to += std::snprintf(to, 8, ", ...");
    *to++ = ']';
    *to = 0;
  }
  explicit ShapeText(const hr_tensor* t) : ShapeText(t->rank, t->dims) {}
  operator const char*() const { return text; }
};

// Element i of an integer tensor of whatever width.
inline int64_t int_at(const hr_tensor* t, int64_t i) {
  switch (t->dtype) {
    case HR_INT32: return static_cast<const int32_t*>(t->data)[i];
    case HR_INT64: return static_cast<const int64_t*>(t->data)[i];
    case HR_INT16: return static_cast<const int16_t*>(t->data)[i];
    case HR_INT8: return static_cast<const int8_t*>(t->data)[i];
    case HR_UINT16: return static_cast<const uint16_t*>(t->data)[i];
    case HR_UINT8: return static_cast<const uint8_t*>(t->data)[i];
    default: return 0;
  }
}

// An axis counted from the front; -1 where it is out of range.
inline int64_t axis_of(int64_t axis, int64_t rank) {
  if (axis < 0) axis += rank;
  return axis >= 0 && axis < rank ? axis : -1;
}

template <class T> inline const T* read(const hr_tensor* t) {
  return static_cast<const T*>(t->data);
}
template <class T> inline T* write(const hr_tensor* t) { return static_cast<T*>(t->data); }

}  // namespace hr

#endif
