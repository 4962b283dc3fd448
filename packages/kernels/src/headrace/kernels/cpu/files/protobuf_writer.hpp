// Writes the fields of protobuf messages. Fields are written in the order of their
// numbers and, as proto3 wants it, without those that hold zero; `always` writes them all the same.
#ifndef HEADRACE_CPU_FILES_PROTOBUF_WRITER_HPP
#define HEADRACE_CPU_FILES_PROTOBUF_WRITER_HPP

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace hr::protobuf {

inline void varint(std::string* to, uint64_t value) {
  for (; value >= 128; value >>= 7) to->push_back(char(value | 128));
  to->push_back(char(value));
}

// Little-endian, whatever the machine is.
template <class T> void fixed(std::string* to, T bits) {
  for (size_t i = 0; i < sizeof bits; ++i) to->push_back(char(bits >> (8 * i)));
}
inline uint64_t bits_of(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
inline uint32_t bits_of(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

class Message {
 public:
  Message& number(uint32_t field, uint64_t value) {
    if (value) tag(field, 0), varint(&bytes_, value);
    return *this;
  }
  Message& always(uint32_t field, float value) {
    tag(field, 5), fixed(&bytes_, bits_of(value));
    return *this;
  }
  Message& real(uint32_t field, double value) {
    if (bits_of(value)) tag(field, 1), fixed(&bytes_, bits_of(value));
    return *this;
  }
  Message& real(uint32_t field, float value) {
    return bits_of(value) ? always(field, value) : *this;
  }
  Message& fixed32(uint32_t field, uint32_t value) {
    if (value) tag(field, 5), fixed(&bytes_, value);
    return *this;
  }
  Message& text(uint32_t field, std::string_view value) {
    return value.empty() ? *this : always(field, value);
  }
  Message& always(uint32_t field, std::string_view value) {
    tag(field, 2), varint(&bytes_, value.size()), bytes_.append(value);
    return *this;
  }
  Message& always(uint32_t field, const Message& value) {
    return always(field, std::string_view(value.bytes_));
  }
  Message& packed(uint32_t field, const std::vector<double>& values) {
    if (values.empty()) return *this;
    tag(field, 2), varint(&bytes_, 8 * values.size());
    for (double value : values) fixed(&bytes_, bits_of(value));
    return *this;
  }
  Message& append(const Message& other) {
    bytes_ += other.bytes_;
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void tag(uint32_t field, uint32_t kind) { varint(&bytes_, uint64_t(field) << 3 | kind); }
  std::string bytes_;
};

}  // namespace hr::protobuf

#endif
