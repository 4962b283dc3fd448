// Parses the number of a TensorProto with one element; tensor_number_python.py does it in Python.
#pragma once

#include <cmath>

#include "wire_format.hpp"

namespace headrace_board {

struct Number {
  bool found = false;
  double value = 0;
  uint32_t rank = 0;
  bool wide = false;  // its dtype needs 64 bits
};

inline double half_to_double(uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const double fraction = bits & 1023;
  double value;
  if (exponent == 31) {
    value = fraction != 0 ? std::nan("") : INFINITY;
  } else if (exponent == 0) {
    value = std::ldexp(fraction, -24);
  } else {
    value = std::ldexp(fraction + 1024, exponent - 25);
  }
  return bits & 0x8000 ? -value : value;
}

inline double bfloat16_to_double(uint16_t bits) {
  const uint32_t wide = uint32_t(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

struct NumericType {
  uint32_t bytes;  // of an element; 0: not numeric
  uint32_t list;   // field of its list
  bool wide;
};

inline NumericType numeric_type(int32_t dtype) {
  switch (dtype) {
    case 1: return {4, 5, false};    // float
    case 2: return {8, 6, true};     // double
    case 3: return {4, 7, true};     // int32
    case 4: return {1, 7, false};    // uint8
    case 5: return {2, 7, false};    // int16
    case 6: return {1, 7, false};    // int8
    case 9: return {8, 10, true};    // int64
    case 10: return {1, 11, false};  // bool
    case 14: return {2, 13, false};  // bfloat16
    case 17: return {2, 7, false};   // uint16
    case 19: return {2, 13, false};  // half
    case 22: return {4, 16, true};   // uint32
    case 23: return {8, 17, true};   // uint64
    default: return {0, 0, false};
  }
}

inline double number_of_content(int32_t dtype, const uint8_t* at) {
  switch (dtype) {
    case 1: return load<float>(at);
    case 2: return load<double>(at);
    case 3: return load<int32_t>(at);
    case 4: return *at;
    case 5: return load<int16_t>(at);
    case 6: return load<int8_t>(at);
    case 9: return double(load<int64_t>(at));
    case 10: return *at != 0;
    case 14: return bfloat16_to_double(load<uint16_t>(at));
    case 17: return load<uint16_t>(at);
    case 19: return half_to_double(load<uint16_t>(at));
    case 22: return load<uint32_t>(at);
    default: return double(load<uint64_t>(at));
  }
}

inline double number_of_list(int32_t dtype, uint64_t bits) {
  const uint8_t* raw = reinterpret_cast<const uint8_t*>(&bits);
  switch (dtype) {
    case 1: return load<float>(raw);
    case 2: return load<double>(raw);
    case 9: return double(int64_t(bits));
    case 10: return bits != 0;
    case 14: return bfloat16_to_double(uint16_t(bits));
    case 19: return half_to_double(uint16_t(bits));
    case 22: return uint32_t(bits);
    case 23: return double(bits);
    default: return int32_t(uint32_t(bits));
  }
}

inline uint32_t rank_of_shape(Bytes shape, bool& one) {
  uint32_t rank = 0;
  one = true;
  Field field, inner;
  for (Fields fields(shape); fields.next(field);) {
    if (field.number == 2 && field.wire == 2) {
      int64_t size = 0;
      for (Fields dim(field.bytes); dim.next(inner);)
        if (inner.number == 1 && inner.wire == 0) size = int64_t(inner.value);
      ++rank;
      one = one && size == 1;
    } else if (field.number == 3 && field.wire == 0 && field.value) {
      one = false;
    }
  }
  return rank;
}

inline Number walk_number(Bytes tensor) {
  int32_t dtype = 0;
  uint32_t rank = 0;
  bool one = true;
  Bytes content;
  bool listed[18] = {};
  uint64_t first[18] = {};
  Field field;
  for (Fields fields(tensor); fields.next(field);) {
    const uint32_t n = field.number;
    if (n == 1 && field.wire == 0) {
      dtype = int32_t(uint32_t(field.value));
    } else if (n == 2 && field.wire == 2) {
      rank = rank_of_shape(field.bytes, one);
    } else if (n == 4 && field.wire == 2) {
      content = field.bytes;
    } else if ((n == 5 || n == 6) && !listed[n]) {
      const size_t size = n == 5 ? 4 : 8;
      const bool single = field.wire == (n == 5 ? 5u : 1u);
      if ((field.wire == 2 && field.bytes.size() >= size) || single) {
        std::memcpy(&first[n], field.bytes.begin, size);
        listed[n] = true;
      }
    } else if ((n == 7 || n == 10 || n == 11 || n == 13 || n == 16 || n == 17) && !listed[n]) {
      if (field.wire == 2 && field.bytes.size() > 0) {
        const uint8_t* at = field.bytes.begin;
        first[n] = read_varint(at, field.bytes.end);
        listed[n] = true;
      } else if (field.wire == 0) {
        first[n] = field.value;
        listed[n] = true;
      }
    }
  }
  Number number;
  const NumericType type = numeric_type(dtype);
  if (!type.bytes || !one) return number;
  number.rank = rank;
  number.wide = type.wide;
  if (content.size()) {
    if (content.size() != type.bytes) return number;
    number.value = number_of_content(dtype, content.begin);
  } else {
    number.value = number_of_list(dtype, first[type.list]);
  }
  number.found = true;
  return number;
}

// Returns found = false if the bytes are not a tensor with exactly one element.
inline Number tensor_number(Bytes tensor) {
  try {
    return walk_number(tensor);
  } catch (const Malformed&) { return {}; }
}

}  // namespace headrace_board
