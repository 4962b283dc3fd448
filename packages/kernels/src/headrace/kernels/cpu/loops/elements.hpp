// Copies elements of any dtype: plain bytes, or strings, resources and variants, which are
// reference-counted.
#ifndef HEADRACE_CPU_LOOPS_ELEMENTS_HPP
#define HEADRACE_CPU_LOOPS_ELEMENTS_HPP

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "headrace/kernel.h"
#include "processor/parallel.hpp"

namespace hr {

inline bool is_plain(hr_dtype dtype) {
  return dtype != HR_STRING && dtype != HR_RESOURCE && dtype != HR_VARIANT;
}

// One element that is not plain; *to is valid (a fresh output is zeroed) and is replaced.
void copy_counted(hr_ctx* ctx, hr_dtype dtype, void* to, const void* from);

// What is copied or zeroed between two looks at the cancellation of the step.
constexpr size_t kBytesBetweenPolls = 16 << 20;

inline void copy_polled(hr_ctx* ctx, void* to, const void* from, size_t bytes) {
  for (; bytes > kBytesBetweenPolls; bytes -= kBytesBetweenPolls) {
    std::memcpy(to, from, kBytesBetweenPolls);
    poll(ctx);
    to = static_cast<char*>(to) + kBytesBetweenPolls;
    from = static_cast<const char*>(from) + kBytesBetweenPolls;
  }
  std::memcpy(to, from, bytes);
}

// A whole tensor of plain elements.
inline void zero_polled(hr_ctx* ctx, hr_tensor* tensor) {
  for (size_t at = 0, all = size_t(tensor->bytes); at < all; at += kBytesBetweenPolls) {
    poll(ctx);
    std::memset(static_cast<char*>(tensor->data) + at, 0, std::min(kBytesBetweenPolls, all - at));
  }
}

// n elements, stretch to stretch.
inline void copy_elements(hr_ctx* ctx, hr_dtype dtype, int64_t size, void* to, const void* from,
                          int64_t n) {
  if (is_plain(dtype)) {
    copy_polled(ctx, to, from, size_t(n * size));
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    poll_at(ctx, i);
    copy_counted(ctx, dtype, static_cast<char*>(to) + i * size,
                 static_cast<const char*>(from) + i * size);
  }
}

// The same element n times.
void fill_elements(hr_ctx* ctx, hr_dtype dtype, void* to, const void* from, int64_t n);

struct Bytes16 {
  uint64_t low, high;
};

template <class T> struct SizeOf {
  using type = T;
};

// Calls f(SizeOf<U>{}) with an unsigned U as wide as an element.
template <class F> auto with_size(int64_t size, F&& f) {
  switch (size) {
    case 1: return f(SizeOf<uint8_t>{});
    case 2: return f(SizeOf<uint16_t>{});
    case 4: return f(SizeOf<uint32_t>{});
    case 8: return f(SizeOf<uint64_t>{});
    default: return f(SizeOf<Bytes16>{});
  }
}

}  // namespace hr

#endif
