// Iterates over the fields of a message in protobuf's wire format. hr_wire_next of headrace/wire.h
// says what is malformed; this form of it is faster for short fields, and leaves groups to it.
#pragma once

#include <cstdint>
#include <cstring>

#include "headrace/wire.h"

namespace headrace_board {

struct Malformed {};

// Bytes of a record, not owned.
struct Bytes {
  const uint8_t* begin = nullptr;
  const uint8_t* end = nullptr;
  size_t size() const { return size_t(end - begin); }
};

struct Field {
  uint32_t number = 0;
  uint32_t wire = 0;
  uint64_t value = 0;  // of wire type 0
  Bytes bytes;         // of the others
};

inline uint64_t read_varint(const uint8_t*& at, const uint8_t* end) {
  uint64_t value = 0;
  for (unsigned shift = 0;; shift += 7) {
    if (at >= end || shift > 63) throw Malformed();
    const uint8_t byte = *at++;
    value |= uint64_t(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
}

// Iterates over the fields of one message.
class Fields {
 public:
  explicit Fields(Bytes message) : at_(message.begin), end_(message.end) {}

  bool next(Field& out) {
    if (at_ >= end_) return false;
    const uint8_t* const begin = at_;
    const uint64_t key = *at_ < 0x80 ? *at_++ : read_varint(at_, end_);
    if (key >> 35 || key < 8) throw Malformed();
    out.number = uint32_t(key >> 3);
    out.wire = uint32_t(key & 7);
    uint64_t size;
    switch (out.wire) {
      case 0: out.value = read_varint(at_, end_); return true;
      case 1: size = 8; break;
      case 2: size = read_varint(at_, end_); break;
      case 5: size = 4; break;
      default: return group(begin, out);
    }
    if (size > uint64_t(end_ - at_)) throw Malformed();
    out.bytes = {at_, at_ + size};
    at_ += size;
    return true;
  }

 private:
  bool group(const uint8_t* begin, Field& out) {
    hr_wire_field field;
    uint64_t position = 0;
    if (hr_wire_next(begin, uint64_t(end_ - begin), &position, &field) < 0) throw Malformed();
    out.bytes = {field.data, field.data + field.size};
    at_ = begin + position;
    return true;
  }
  const uint8_t* at_;
  const uint8_t* end_;
};

template <typename T>
T load(const uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

}  // namespace headrace_board
