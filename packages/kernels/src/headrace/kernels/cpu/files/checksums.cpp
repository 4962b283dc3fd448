#include "files/checksums.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace hr {
namespace {

// Table k advances the checksum of a byte by k further bytes.
using Tables = std::array<std::array<uint32_t, 256>, 8>;

constexpr Tables make_tables() {
  Tables tables{};
  for (uint32_t n = 0; n < 256; ++n) {
    uint32_t c = n;
    for (int k = 0; k < 8; ++k) c = c & 1 ? 0xedb88320u ^ (c >> 1) : c >> 1;
    tables[0][n] = c;
  }
  for (size_t k = 1; k < 8; ++k)
    for (size_t n = 0; n < 256; ++n)
      tables[k][n] = tables[0][tables[k - 1][n] & 255] ^ (tables[k - 1][n] >> 8);
  return tables;
}

constexpr Tables kTables = make_tables();

uint32_t word_at(const unsigned char* data) {  // little-endian
  return uint32_t(data[0]) | uint32_t(data[1]) << 8 | uint32_t(data[2]) << 16 |
         uint32_t(data[3]) << 24;
}

}  // namespace

uint32_t adler32(std::string_view bytes, uint32_t before) {
  uint32_t a = before & 0xffff, b = before >> 16;
  for (size_t i = 0; i < bytes.size();) {
    // So many sums still fit 32 bits.
    for (const size_t end = std::min(bytes.size(), i + 5552); i < end; ++i)
      a += uint8_t(bytes[i]), b += a;
    a %= 65521, b %= 65521;
  }
  return b << 16 | a;
}

uint32_t crc32(std::string_view bytes, uint32_t before) {
  uint32_t crc = ~before;
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  size_t left = bytes.size();
  for (; left >= 8; data += 8, left -= 8) {
    const uint32_t low = crc ^ word_at(data), high = word_at(data + 4);
    crc = kTables[7][low & 255] ^ kTables[6][low >> 8 & 255] ^ kTables[5][low >> 16 & 255] ^
          kTables[4][low >> 24] ^ kTables[3][high & 255] ^ kTables[2][high >> 8 & 255] ^
          kTables[1][high >> 16 & 255] ^ kTables[0][high >> 24];
  }
  for (; left; ++data, --left) crc = kTables[0][(crc ^ *data) & 255] ^ (crc >> 8);
  return ~crc;
}

}  // namespace hr
