// Reads protobuf's wire format from bytes that nobody has checked.
#pragma once
#include <cstdint>
#include <cstring>
#include <string_view>

namespace headrace {

// A cursor over one message. Every read is bounded; the first bad byte sets `problem` and ends
// all loops over fields. Views point into the bytes.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : WireReader(bytes, bytes.data()) {}
  // `origin`: where offsets in errors are counted from.
  WireReader(std::string_view bytes, const char* origin)
      : at_(bytes.data()), end_(bytes.data() + bytes.size()), origin_(origin) {}

  // Moves to the next field; false at the end or at a problem.
  bool next() {
    if (problem_ || at_ == end_) return false;
    field_at_ = at_;
    uint64_t tag = varint();
    if (problem_) return false;
    if (tag >> 35 || tag >> 3 == 0) return fail("a field number out of range");
    field_ = static_cast<uint32_t>(tag >> 3);
    wire_ = static_cast<uint32_t>(tag & 7);
    return true;
  }

  uint32_t field() const { return field_; }
  uint32_t wire() const { return wire_; }
  const char* problem() const { return problem_; }
  int64_t offset() const { return problem_at_ - origin_; }

  uint64_t as_varint() {
    if (wire_ != 0) return fail("a field of the wrong wire type"), 0;
    return varint();
  }
  uint32_t as_fixed32() {
    if (wire_ != 5) return fail("a field of the wrong wire type"), 0;
    return fixed<uint32_t>();
  }
  uint64_t as_fixed64() {
    if (wire_ != 1) return fail("a field of the wrong wire type"), 0;
    return fixed<uint64_t>();
  }
  std::string_view as_bytes() {
    if (wire_ != 2) return fail("a field of the wrong wire type"), std::string_view();
    uint64_t size = varint();
    if (problem_) return {};
    if (size > static_cast<uint64_t>(end_ - at_)) {
      at_ = field_at_;
      return fail("a length beyond the end"), std::string_view();
    }
    std::string_view bytes(at_, size);
    at_ += size;
    return bytes;
  }
  void skip() {
    switch (wire_) {
      case 0: varint(); return;
      case 1: fixed<uint64_t>(); return;
      case 2: as_bytes(); return;
      case 3: skip_group(); return;
      case 5: fixed<uint32_t>(); return;
      default: fail("an unknown wire type");
    }
  }
  bool fail(const char* problem) {
    if (!problem_) {
      problem_ = problem;
      problem_at_ = at_;
    }
    return false;
  }
  // For values inside a packed field.
  bool done() const { return problem_ || at_ == end_; }
  uint64_t varint() {
    uint64_t value = 0;
    const char* start = at_;
    for (int shift = 0; shift < 70; shift += 7) {
      if (at_ == end_) return at_ = start, fail("a number cut short"), 0;
      uint64_t byte = static_cast<unsigned char>(*at_++);
      value |= (byte & 0x7f) << (shift < 64 ? shift : 63);
      if (byte < 0x80) return value;
    }
    return at_ = start, fail("a number of more than ten bytes"), 0;
  }
  template <typename T>
  T fixed() {
    if (static_cast<uint64_t>(end_ - at_) < sizeof(T)) return fail("a number cut short"), T();
    T value;
    std::memcpy(&value, at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }

 private:
  void skip_group() {  // obsolete, but other writers' unknown fields may hold them
    int depth = 1;
    while (depth && !problem_) {
      if (!next()) {
        fail("a group without an end");
        return;
      }
      if (wire_ == 3) {
        if (++depth > 100) fail("groups nested too deep");
      } else if (wire_ == 4) {
        --depth;
      } else {
        skip();
      }
    }
  }

  const char* at_;
  const char* end_;
  const char* origin_;
  const char* field_at_ = nullptr;
  const char* problem_ = nullptr;
  const char* problem_at_ = nullptr;
  uint32_t field_ = 0, wire_ = 0;
};

}  // namespace headrace
