// The catalogue's names of element types: "float", "int32", ...
#pragma once
#include <string>

#include "headrace/kernel.h"

namespace headrace {

inline const char* dtype_name(hr_dtype dtype) {
  static const char* const names[] = {
      "invalid",  "float",     "double",  "int32",       "uint8",        "int16",  "int8",
      "string",   "complex64", "int64",   "bool",        "qint8",        "quint8", "qint32",
      "bfloat16", "qint16",    "quint16", "uint16",      "complex128",   "half",   "resource",
      "variant",  "uint32",    "uint64",  "float8_e5m2", "float8_e4m3fn"};
  const hr_dtype plain = dtype >= HR_REF ? dtype - HR_REF : dtype;
  return plain > 0 && plain <= HR_FLOAT8_E4M3FN ? names[plain] : "invalid";
}

// HR_INVALID: no type has that name.
inline hr_dtype dtype_of_name(const std::string& name) {
  for (hr_dtype dtype = HR_FLOAT; dtype <= HR_FLOAT8_E4M3FN; ++dtype)
    if (name == dtype_name(dtype)) return dtype;
  return HR_INVALID;
}

}  // namespace headrace
