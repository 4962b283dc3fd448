// Deflate with a hash table of earlier byte sequences and fixed Huffman codes. A block that would
// grow is stored uncompressed.
#include "files/deflate.hpp"

#include <algorithm>
#include <vector>

#include "files/checksums.hpp"

namespace hr {
namespace {

constexpr int kShortest = 4, kLongest = 258, kWindow = 32768;
constexpr int kHashBits = 15;

class Bits {
 public:
  // Numbers are written from their lowest bit on.
  void put(uint32_t value, int count) {
    held_ |= uint64_t(value) << filled_;
    for (filled_ += count; filled_ >= 8; filled_ -= 8, held_ >>= 8) bytes_.push_back(char(held_));
  }
  // Huffman codes are written from their highest bit on.
  void put_code(uint32_t code, int count) {
    uint32_t turned = 0;
    for (int i = 0; i < count; ++i) turned |= (code >> i & 1) << (count - 1 - i);
    put(turned, count);
  }
  std::string finish() {
    if (filled_) put(0, 8 - filled_);
    return std::move(bytes_);
  }

 private:
  std::string bytes_;
  uint64_t held_ = 0;
  int filled_ = 0;
};

// Fixed codes: RFC 1951, section 3.2.6.
void put_symbol(Bits* to, uint32_t symbol) {
  if (symbol < 144) to->put_code(0x30 + symbol, 8);
  else if (symbol < 256) to->put_code(0x190 + symbol - 144, 9);
  else if (symbol < 280) to->put_code(symbol - 256, 7);
  else to->put_code(0xc0 + symbol - 280, 8);
}

// Section 3.2.5: the more extra bits, the wider the group.
void put_length(Bits* to, int length) {
  if (length == kLongest) return put_symbol(to, 285);
  const int above = length - 3;
  int extra = 0;
  while (above >> extra >= 8) ++extra;
  put_symbol(to, uint32_t(257 + 4 * extra + (above >> extra)));
  to->put(uint32_t(above & ((1 << extra) - 1)), extra);
}

void put_distance(Bits* to, int distance) {
  const int above = distance - 1;
  int extra = 0;
  while (above >> extra >= 4) ++extra;
  to->put_code(uint32_t(2 * extra + (above >> extra)), 5);
  to->put(uint32_t(above & ((1 << extra) - 1)), extra);
}

std::string packed(std::string_view bytes) {
  Bits to;
  to.put(3, 3);  // the last block, of fixed codes
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  const int64_t n = int64_t(bytes.size());
  std::vector<int64_t> seen(size_t(1) << kHashBits, -kWindow - 1);
  auto hash = [&](int64_t i) {
    const uint32_t four = uint32_t(data[i]) | uint32_t(data[i + 1]) << 8 |
                          uint32_t(data[i + 2]) << 16 | uint32_t(data[i + 3]) << 24;
    return size_t(four * 2654435761u >> (32 - kHashBits));
  };
  for (int64_t i = 0; i < n;) {
    int length = 0;
    int64_t from = 0;
    if (i + kShortest <= n) {
      int64_t& last = seen[hash(i)];
      from = last;
      last = i;
      if (i - from <= kWindow) {
        const int most = int(std::min<int64_t>(kLongest, n - i));
        while (length < most && data[from + length] == data[i + length]) ++length;
      }
    }
    if (length < kShortest) {
      put_symbol(&to, data[i++]);
      continue;
    }
    put_length(&to, length);
    put_distance(&to, int(i - from));
    for (const int64_t end = i + length; ++i < end;)
      if (i + kShortest <= n) seen[hash(i)] = i;
  }
  put_symbol(&to, 256);
  return to.finish();
}

std::string stored(std::string_view bytes) {
  std::string created;
  do {
    const size_t n = std::min<size_t>(65535, bytes.size());
    created.push_back(char(n == bytes.size()));
    for (size_t part : {n, ~n}) created.push_back(char(part)), created.push_back(char(part >> 8));
    created.append(bytes.substr(0, n));
    bytes.remove_prefix(n);
  } while (!bytes.empty());
  return created;
}

std::string body_of(std::string_view bytes) {
  std::string body = packed(bytes);
  return body.size() > bytes.size() + 5 * (bytes.size() / 65535 + 1) ? stored(bytes) : body;
}

}  // namespace

std::string zlib_compressed(std::string_view bytes) {
  std::string created = "\x78\x01" + body_of(bytes);
  const uint32_t check = adler32(bytes);
  for (int shift = 24; shift >= 0; shift -= 8) created.push_back(char(check >> shift));
  return created;
}

std::string gzip_compressed(std::string_view bytes) {
  const char head[10] = {'\x1f', '\x8b', 8, 0, 0, 0, 0, 0, 0, '\xff'};
  std::string created = std::string(head, sizeof head) + body_of(bytes);
  for (uint32_t number : {crc32(bytes), uint32_t(bytes.size())})
    for (int shift = 0; shift < 32; shift += 8) created.push_back(char(number >> shift));
  return created;
}

}  // namespace hr
