// value += delta and value -= delta for AssignAdd and AssignSub, in every numeric dtype; quotients
// for accumulators.
#pragma once
#include <complex>
#include <cstring>

#include "headrace/kernel.h"

namespace headrace {

inline float bfloat16_to_float(uint16_t bits) {
  uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float out;
  std::memcpy(&out, &wide, 4);
  return out;
}
inline uint16_t float_to_bfloat16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  if (value != value) return 0x7fc0;
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);  // to nearest even
}

template <typename T>
void add_elements(void* value, const void* delta, int64_t n, int sign) {
  T* v = static_cast<T*>(value);
  const T* d = static_cast<const T*>(delta);
  if (sign > 0)
    for (int64_t i = 0; i < n; ++i) v[i] = static_cast<T>(v[i] + d[i]);
  else
    for (int64_t i = 0; i < n; ++i) v[i] = static_cast<T>(v[i] - d[i]);
}

inline int slot_add(hr_tensor* value, const hr_tensor* delta, int sign) {
  const int64_t n = hr_elements(value);
  switch (value->dtype) {
    case HR_FLOAT: add_elements<float>(value->data, delta->data, n, sign); return 1;
    case HR_DOUBLE: add_elements<double>(value->data, delta->data, n, sign); return 1;
    // Unsigned, so that overflow wraps.
    case HR_INT32:
    case HR_UINT32: add_elements<uint32_t>(value->data, delta->data, n, sign); return 1;
    case HR_INT64:
    case HR_UINT64: add_elements<uint64_t>(value->data, delta->data, n, sign); return 1;
    case HR_INT16:
    case HR_UINT16: add_elements<uint16_t>(value->data, delta->data, n, sign); return 1;
    case HR_INT8:
    case HR_UINT8: add_elements<uint8_t>(value->data, delta->data, n, sign); return 1;
    case HR_COMPLEX64:
      add_elements<std::complex<float>>(value->data, delta->data, n, sign);
      return 1;
    case HR_COMPLEX128:
      add_elements<std::complex<double>>(value->data, delta->data, n, sign);
      return 1;
    case HR_HALF: add_elements<_Float16>(value->data, delta->data, n, sign); return 1;
    case HR_BFLOAT16: {
      uint16_t* v = static_cast<uint16_t*>(value->data);
      const uint16_t* d = static_cast<const uint16_t*>(delta->data);
      for (int64_t i = 0; i < n; ++i)
        v[i] = float_to_bfloat16(bfloat16_to_float(v[i]) + sign * bfloat16_to_float(d[i]));
      return 1;
    }
    default: return 0;
  }
}

template <typename T>
void divide_elements(void* value, int64_t n, T divisor) {
  T* v = static_cast<T*>(value);
  for (int64_t i = 0; i < n; ++i) v[i] = static_cast<T>(v[i] / divisor);
}

// value /= divisor, n elements from `value` on; the dtype is float, double or half.
inline void slot_divide(hr_dtype dtype, void* value, int64_t n, int64_t divisor) {
  switch (dtype) {
    case HR_FLOAT: return divide_elements<float>(value, n, static_cast<float>(divisor));
    case HR_DOUBLE: return divide_elements<double>(value, n, static_cast<double>(divisor));
    default: return divide_elements<_Float16>(value, n, static_cast<_Float16>(divisor));
  }
}

}  // namespace headrace
