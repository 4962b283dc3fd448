// Writes PNG files.
#include "files/png.hpp"

#include <cstring>

#include "files/checksums.hpp"
#include "files/deflate.hpp"

namespace hr {

namespace {

void put32(std::string* to, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) to->push_back(char(value >> shift));
}

void put_chunk(std::string* to, const char* name, std::string_view data) {
  put32(to, uint32_t(data.size()));
  const size_t begin = to->size();
  to->append(name, 4).append(data);
  put32(to, crc32(std::string_view(*to).substr(begin)));
}

// The rows, each behind the number of its filter. Filter 2 keeps what changed against the row
// above, which is little in a smooth picture; in noise nothing helps.
std::string filtered(const uint8_t* octets, int64_t rows, int64_t bytes) {
  std::string created;
  created.reserve(size_t(rows * (bytes + 1)));
  for (int64_t y = 0; y < rows; ++y) {
    const uint8_t* row = octets + y * bytes;
    const uint8_t* above = y ? row - bytes : nullptr;
    int64_t plain = 0, changed = 0;
    for (int64_t i = 0; above && i < bytes; ++i) {
      plain += row[i] < 128 ? row[i] : 256 - row[i];
      const uint8_t change = uint8_t(row[i] - above[i]);
      changed += change < 128 ? change : 256 - change;
    }
    const bool up = above && changed < plain;
    created.push_back(up ? 2 : 0);
    for (int64_t i = 0; i < bytes; ++i) created.push_back(char(up ? row[i] - above[i] : row[i]));
  }
  return created;
}

}  // namespace

std::string png(const void* pixels, int64_t height, int64_t width, int64_t channels, int depth) {
  static constexpr char kColour[] = {0, 0, 4, 2, 6};
  const int64_t bytes = width * channels * depth;
  const uint8_t* octets = static_cast<const uint8_t*>(pixels);
  std::string turned;
  if (depth == 2) {  // the file has the high byte first
    turned.reserve(size_t(height * bytes));
    for (int64_t i = 0; i < height * bytes; i += 2) {
      uint16_t value;
      std::memcpy(&value, octets + i, 2);
      turned.push_back(char(value >> 8)), turned.push_back(char(value));
    }
    octets = reinterpret_cast<const uint8_t*>(turned.data());
  }
  std::string header, created("\x89PNG\r\n\x1a\n", 8);
  put32(&header, uint32_t(width));
  put32(&header, uint32_t(height));
  header.push_back(char(8 * depth));
  header.push_back(kColour[channels]);
  header.append(3, '\0');
  put_chunk(&created, "IHDR", header);
  put_chunk(&created, "IDAT", zlib_compressed(filtered(octets, height, bytes)));
  put_chunk(&created, "IEND", "");
  return created;
}

}  // namespace hr
