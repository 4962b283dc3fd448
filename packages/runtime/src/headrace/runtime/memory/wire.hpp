// The fields of protobuf messages for C++: headrace/wire.h with string views and sticky errors.
#pragma once
#include <cstdint>
#include <cstring>
#include <string_view>

#include "headrace/wire.h"

namespace headrace {

// A cursor over one message. The first malformed field sets `problem` and ends all loops over
// fields. Views point into the bytes.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : WireReader(bytes, bytes.data()) {}
  // `origin`: where offsets in errors are counted from.
  WireReader(std::string_view bytes, const char* origin) : bytes_(bytes), origin_(origin) {}

  // Moves to the next field; false at the end or at a problem.
  bool next() {
    if (problem_) return false;
    const int found = hr_wire_next(data(), bytes_.size(), &at_, &field_);
    return found < 0 ? fail(field_.problem, field_.problem_at) : found > 0;
  }

  uint32_t field() const { return field_.number; }
  uint32_t wire() const { return field_.wire; }
  const char* problem() const { return problem_; }
  int64_t offset() const { return bytes_.data() + problem_at_ - origin_; }

  // The value of a field of any number type.
  uint64_t number() const { return field_.value; }
  uint64_t as_varint() { return expect(HR_WIRE_VARINT) ? field_.value : 0; }
  uint32_t as_fixed32() {
    return expect(HR_WIRE_FIXED32) ? static_cast<uint32_t>(field_.value) : 0;
  }
  std::string_view as_bytes() {
    if (!expect(HR_WIRE_BYTES)) return {};
    return {reinterpret_cast<const char*>(field_.data), field_.size};
  }
  bool fail(const char* problem) { return fail(problem, field_.content); }

 private:
  bool fail(const char* problem, uint64_t at) {
    if (problem_) return false;
    problem_ = problem;
    problem_at_ = at;
    return false;
  }
  const uint8_t* data() const { return reinterpret_cast<const uint8_t*>(bytes_.data()); }
  bool expect(uint32_t wire) {
    return field_.wire == wire || fail("a field of the wrong wire type");
  }

  std::string_view bytes_;
  const char* origin_;
  uint64_t at_ = 0, problem_at_ = 0;
  const char* problem_ = nullptr;
  hr_wire_field field_{};
};

// The numbers of a packed field, which stand side by side without tags.
class PackedReader {
 public:
  explicit PackedReader(std::string_view bytes) : bytes_(bytes) {}

  bool done() const { return problem_ || at_ == bytes_.size(); }
  const char* problem() const { return problem_; }
  uint64_t varint() {
    hr_wire_field field;
    uint64_t value = 0;
    const auto* data = reinterpret_cast<const uint8_t*>(bytes_.data());
    if (hr_wire_number(data, bytes_.size(), &at_, &field, &value) < 0) problem_ = field.problem;
    return value;
  }
  template <typename T>
  T fixed() {
    T value{};
    if (bytes_.size() - at_ < sizeof(T)) {
      problem_ = "a number cut short";
      return value;
    }
    std::memcpy(&value, bytes_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }
  // The next number of a packed field of that wire type.
  uint64_t number(uint32_t wire) {
    if (wire == HR_WIRE_VARINT) return varint();
    return wire == HR_WIRE_FIXED64 ? fixed<uint64_t>() : fixed<uint32_t>();
  }

 private:
  std::string_view bytes_;
  uint64_t at_ = 0;
  const char* problem_ = nullptr;
};

// Calls take(number) for each value of a repeated number field, packed or not; false where the
// field is malformed.
template <typename Take>
bool each_number(WireReader& reader, uint32_t wire, Take take) {
  if (reader.wire() == wire) {
    take(reader.number());
    return true;
  }
  PackedReader packed(reader.as_bytes());
  while (!packed.done()) {
    const uint64_t number = packed.number(wire);
    if (packed.problem()) return reader.fail(packed.problem());
    take(number);
  }
  return !reader.problem();
}

}  // namespace headrace
