// The catalogue's names of element types, for messages.
#ifndef HEADRACE_LIBRARY_DTYPE_NAMES_HPP
#define HEADRACE_LIBRARY_DTYPE_NAMES_HPP

#include "headrace/kernel.h"

namespace hr {

inline const char* dtype_name(hr_dtype dtype) {
  switch (dtype >= HR_REF ? dtype - HR_REF : dtype) {
    case HR_FLOAT: return "float";
    case HR_DOUBLE: return "double";
    case HR_INT32: return "int32";
    case HR_UINT8: return "uint8";
    case HR_INT16: return "int16";
    case HR_INT8: return "int8";
    case HR_STRING: return "string";
    case HR_COMPLEX64: return "complex64";
    case HR_INT64: return "int64";
    case HR_BOOL: return "bool";
    case HR_QINT8: return "qint8";
    case HR_QUINT8: return "quint8";
    case HR_QINT32: return "qint32";
    case HR_BFLOAT16: return "bfloat16";
    case HR_QINT16: return "qint16";
    case HR_QUINT16: return "quint16";
    case HR_UINT16: return "uint16";
    case HR_COMPLEX128: return "complex128";
    case HR_HALF: return "half";
    case HR_RESOURCE: return "resource";
    case HR_VARIANT: return "variant";
    case HR_UINT32: return "uint32";
    case HR_UINT64: return "uint64";
    case HR_FLOAT8_E5M2: return "float8_e5m2";
    case HR_FLOAT8_E4M3FN: return "float8_e4m3fn";
    default: return "an unknown dtype";
  }
}

}  // namespace hr

#endif
