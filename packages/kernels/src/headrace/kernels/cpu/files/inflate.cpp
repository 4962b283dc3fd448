// Huffman codes are decoded bit by bit from the number of codes of each length: little code, and
// fast enough for the images that a program reads.
#include "files/inflate.hpp"

#include <cstdint>

#include "files/deflate.hpp"

namespace hr {
namespace {

struct Corruption {
  const char* what;
};

class Source {
 public:
  explicit Source(std::string_view bytes) : bytes_(bytes) {}
  uint32_t bits(int n) {
    while (filled_ < n) {
      if (at_ == bytes_.size()) throw Corruption{"its compressed data is cut off"};
      held_ |= uint32_t(uint8_t(bytes_[at_++])) << filled_;
      filled_ += 8;
    }
    const uint32_t value = held_ & ((1u << n) - 1);
    held_ >>= n;
    filled_ -= n;
    return value;
  }
  void to_byte() { held_ = 0, filled_ = 0; }
  std::string_view take(size_t n) {
    if (n > bytes_.size() - at_) throw Corruption{"its compressed data is cut off"};
    at_ += n;
    return bytes_.substr(at_ - n, n);
  }

 private:
  std::string_view bytes_;
  size_t at_ = 0;
  uint32_t held_ = 0;
  int filled_ = 0;
};

class Codes {
 public:
  Codes(const uint8_t* lengths, int n, bool may_lack) {
    for (int i = 0; i < n; ++i) ++count_[lengths[i]];
    int left = 1;  // codes of this length that are not given away
    for (int length = 1; length < 16; ++length) {
      left = 2 * left - count_[length];
      if (left < 0) throw Corruption{"its compressed data has impossible codes"};
    }
    if (left > 0 && !(may_lack && n - count_[0] <= 1))
      throw Corruption{"its compressed data has impossible codes"};
    int next[16] = {};
    for (int length = 1; length < 15; ++length) next[length + 1] = next[length] + count_[length];
    for (int i = 0; i < n; ++i)
      if (lengths[i]) symbol_[next[lengths[i]]++] = uint16_t(i);
  }
  int read(Source* from) const {
    int code = 0, first = 0, index = 0;
    for (int length = 1; length < 16; ++length) {
      code |= int(from->bits(1));
      if (code - count_[length] < first) return symbol_[index + code - first];
      index += count_[length];
      first = 2 * (first + count_[length]);
      code *= 2;
    }
    throw Corruption{"its compressed data has an unknown code"};
  }

 private:
  int count_[16] = {};
  uint16_t symbol_[288] = {};
};

void append(std::string* to, std::string_view bytes, size_t most) {
  if (bytes.size() > most - to->size()) throw Corruption{"it holds more data than its size says"};
  to->append(bytes);
}

// Section 3.2.5, the other way round.
void inflate_codes(Source* from, const Codes& literals, const Codes& distances, size_t most,
                   std::string* to) {
  for (;;) {
    const int symbol = literals.read(from);
    if (symbol == 256) return;
    if (symbol < 256) {
      const char byte = char(symbol);
      append(to, {&byte, 1}, most);
      continue;
    }
    if (symbol > 285) throw Corruption{"its compressed data has an unknown code"};
    const int wide = symbol < 265 || symbol == 285 ? 0 : (symbol - 261) / 4;
    int length = symbol - 254;
    if (wide) length = 3 + ((4 + (symbol - 265) % 4) << wide);
    if (symbol == 285) length = 258;
    length += int(from->bits(wide));
    const int group = distances.read(from);
    if (group > 29) throw Corruption{"its compressed data has an unknown code"};
    const int extra = group < 4 ? 0 : group / 2 - 1;
    size_t distance = size_t(group < 4 ? group : (2 + group % 2) << extra) + 1;
    distance += from->bits(extra);
    if (distance > to->size()) throw Corruption{"its compressed data points before its begin"};
    if (size_t(length) > most - to->size())
      throw Corruption{"it holds more data than its size says"};
    for (int i = 0; i < length; ++i) to->push_back((*to)[to->size() - distance]);
  }
}

void inflate_fixed(Source* from, size_t most, std::string* to) {
  uint8_t lengths[288];
  for (int i = 0; i < 288; ++i) lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
  const Codes literals(lengths, 288, false);
  for (int i = 0; i < 32; ++i) lengths[i] = 5;
  inflate_codes(from, literals, Codes(lengths, 32, false), most, to);
}

void inflate_dynamic(Source* from, size_t most, std::string* to) {
  static constexpr uint8_t kOrder[] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                       11, 4,  12, 3, 13, 2, 14, 1, 15};
  const int n_literals = 257 + int(from->bits(5)), n_distances = 1 + int(from->bits(5));
  const int n_lengths = 4 + int(from->bits(4));
  if (n_literals > 286 || n_distances > 30)
    throw Corruption{"its compressed data has impossible codes"};
  uint8_t lengths[320] = {};
  for (int i = 0; i < n_lengths; ++i) lengths[kOrder[i]] = uint8_t(from->bits(3));
  const Codes of_lengths(lengths, 19, false);
  const int n = n_literals + n_distances;
  for (int i = 0; i < n;) {
    const int symbol = of_lengths.read(from);
    if (symbol < 16) {
      lengths[i++] = uint8_t(symbol);
      continue;
    }
    if (symbol == 16 && i == 0) throw Corruption{"its compressed data has impossible codes"};
    const uint8_t again = symbol == 16 ? lengths[i - 1] : 0;
    int times = symbol == 18 ? 11 + int(from->bits(7)) : 3 + int(from->bits(symbol == 16 ? 2 : 3));
    if (times > n - i) throw Corruption{"its compressed data has impossible codes"};
    while (times-- > 0) lengths[i++] = again;
  }
  const Codes literals(lengths, n_literals, true);
  inflate_codes(from, literals, Codes(lengths + n_literals, n_distances, true), most, to);
}

void inflate(Source* from, size_t most, std::string* to) {
  const uint32_t method = from->bits(8), flags = from->bits(8);
  if ((method & 15) != 8 || (method << 8 | flags) % 31 || flags & 32)
    throw Corruption{"its data is not a zlib stream"};
  for (bool last = false; !last;) {
    last = from->bits(1);
    switch (from->bits(2)) {
      case 0: {
        from->to_byte();
        const uint32_t size = from->bits(16);
        if (from->bits(16) != (~size & 0xffff))
          throw Corruption{"its compressed data has a corrupted block"};
        append(to, from->take(size), most);
        break;
      }
      case 1: inflate_fixed(from, most, to); break;
      case 2: inflate_dynamic(from, most, to); break;
      default: throw Corruption{"its compressed data has an unknown kind of block"};
    }
  }
  if (to->size() != most) throw Corruption{"it holds less data than its size says"};
  from->to_byte();
  uint32_t check = 0;
  for (char byte : from->take(4)) check = check << 8 | uint8_t(byte);
  if (check != adler32(*to)) throw Corruption{"the checksum of its data is wrong"};
}

}  // namespace

const char* zlib_unpacked(std::string_view stream, size_t size, std::string* bytes) {
  bytes->clear();
  // No code makes more than 258 bytes of two bits: a size beyond that takes no memory.
  if (size / 1032 > stream.size()) return "it holds less data than its size says";
  bytes->reserve(size);
  try {
    Source from(stream);
    inflate(&from, size, bytes);
    return nullptr;
  } catch (const Corruption& corruption) { return corruption.what; }
}

}  // namespace hr
