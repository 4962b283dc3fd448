#include "files/inflate.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "files/checksums.hpp"

namespace hr {
namespace {

constexpr const char* kCutOff = "its compressed data is cut off";
constexpr const char* kBadCodes = "its compressed data has impossible codes";
constexpr const char* kUnknownCode = "its compressed data has an unknown code";

// The bits of a stream, least significant first.
class BitSource {
 public:
  explicit BitSource(std::unique_ptr<ByteSource> from) : from_(std::move(from)) {}

  // Makes at least 48 bits available, or all that are left; behind the end are zeros.
  void refill() {
    if (end_ - at_ >= 8) {
      uint64_t word = 0;
      for (int i = 7; i >= 0; --i) word = word << 8 | buffer_[at_ + size_t(i)];
      held_ |= word << filled_;
      at_ += size_t(63 - filled_) >> 3;
      filled_ |= 56;
      return;
    }
    while (filled_ <= 48 && more()) {
      held_ |= uint64_t(buffer_[at_++]) << filled_;
      filled_ += 8;
    }
  }
  uint32_t peek(int n) const { return uint32_t(held_) & ((1u << n) - 1); }
  void drop(int n) {
    if (n > filled_) throw CorruptStream{kCutOff};
    held_ >>= n;
    filled_ -= n;
  }
  uint32_t take(int n) {  // of those available
    const uint32_t value = peek(n);
    drop(n);
    return value;
  }
  uint32_t bits(int n) {
    refill();
    return take(n);
  }
  void to_byte() { drop(filled_ & 7); }
  // Bytes, at a byte's begin.
  size_t bytes(char* to, size_t n) {
    size_t done = 0;
    for (; done < n && filled_; ++done) to[done] = char(take(8));
    if (filled_) return done;
    held_ = 0;  // a refill may have left bits there that are still in the buffer
    while (done < n && more()) {
      const size_t some = std::min(n - done, end_ - at_);
      std::memcpy(to + done, buffer_ + at_, some);
      at_ += some;
      done += some;
    }
    return done;
  }
  bool at_end() { return filled_ == 0 && !more(); }

 private:
  std::unique_ptr<ByteSource> from_;
  unsigned char buffer_[1 << 16];
  size_t at_ = 0, end_ = 0;
  uint64_t held_ = 0;
  int filled_ = 0;

  bool more() {
    if (at_ < end_) return true;
    at_ = 0;
    end_ = from_->read(reinterpret_cast<char*>(buffer_), sizeof buffer_);
    return end_ > 0;
  }
};

// A Huffman code. Codes of up to kFast bits are found by a table, longer ones bit by bit.
class Codes {
 public:
  void set(const uint8_t* lengths, int n, bool may_lack) {
    std::fill(std::begin(count_), std::end(count_), 0);
    for (int i = 0; i < n; ++i) ++count_[lengths[i]];
    int left = 1;  // codes of this length that are not given away
    for (int length = 1; length < 16; ++length) {
      left = 2 * left - count_[length];
      if (left < 0) throw CorruptStream{kBadCodes};
    }
    if (left > 0 && !(may_lack && n - count_[0] <= 1)) throw CorruptStream{kBadCodes};
    int next[16] = {}, code[16] = {};
    for (int length = 1; length < 15; ++length) {
      next[length + 1] = next[length] + count_[length];
      code[length + 1] = 2 * (code[length] + count_[length]);
    }
    std::fill(std::begin(fast_), std::end(fast_), uint16_t(0));
    for (int i = 0; i < n; ++i) {
      const int length = lengths[i];
      if (!length) continue;
      symbol_[next[length]++] = uint16_t(i);
      if (length > kFast) continue;
      uint32_t reversed = 0;
      for (int bit = 0, c = code[length]; bit < length; ++bit, c >>= 1)
        reversed = reversed << 1 | uint32_t(c & 1);
      for (uint32_t at = reversed; at < 1u << kFast; at += 1u << length)
        fast_[at] = uint16_t(i << 4 | length);
      ++code[length];
    }
  }
  int read(BitSource* from) const {  // at most 15 of the bits available
    const uint16_t entry = fast_[from->peek(kFast)];
    if (entry) {
      from->drop(entry & 15);
      return entry >> 4;
    }
    int code = 0, first = 0, index = 0;
    const uint32_t bits = from->peek(15);
    for (int length = 1; length < 16; ++length) {
      code |= int(bits >> (length - 1) & 1);
      if (code - count_[length] < first) {
        from->drop(length);
        return symbol_[index + code - first];
      }
      index += count_[length];
      first = 2 * (first + count_[length]);
      code *= 2;
    }
    from->drop(15);  // the data may end here
    throw CorruptStream{kUnknownCode};
  }

 private:
  static constexpr int kFast = 10;
  int count_[16] = {};
  uint16_t symbol_[288] = {};
  uint16_t fast_[1 << kFast] = {};  // symbol << 4 | length; 0: a longer code, or none
};

}  // namespace

class InflateSource::Decoder {
 public:
  Decoder(std::unique_ptr<ByteSource> from, Wrapper wrapper)
      : in_(std::move(from)), wrapper_(wrapper), window_(kWindow + kAhead + kMost) {}

  size_t read(char* to, size_t n) {
    while (given_ == end_) {
      if (state_ == State::kEnd) return 0;
      advance();
    }
    n = std::min(n, end_ - given_);
    std::memcpy(to, window_.data() + given_, n);
    given_ += n;
    return n;
  }

 private:
  // A match reaches at most kWindow back and makes at most kMost bytes.
  static constexpr size_t kWindow = 1 << 15, kAhead = 1 << 16, kMost = 258;
  enum class State { kHeader, kBlock, kStored, kCodes, kTrailer, kEnd };

  BitSource in_;
  Wrapper wrapper_;
  State state_ = State::kHeader;
  bool last_ = false;    // block of the stream
  uint32_t stored_ = 0;  // bytes left of a stored block
  Codes literals_, distances_;
  std::vector<char> window_;
  size_t given_ = 0, end_ = 0, begin_ = 0;  // begin_: of this member's bytes
  uint32_t check_ = 0;
  uint64_t size_ = 0;
  bool any_ = false;  // a member was read

  void advance() {
    if (end_ >= kWindow + kAhead) {
      std::memmove(window_.data(), window_.data() + end_ - kWindow, kWindow);
      begin_ -= std::min(begin_, end_ - kWindow);
      given_ = end_ = kWindow;
    }
    const size_t before = end_;
    switch (state_) {
      case State::kHeader: header(); break;
      case State::kBlock: block(); break;
      case State::kStored: copy_stored(); break;
      case State::kCodes: decode(); break;
      case State::kTrailer: trailer(); break;
      case State::kEnd: break;
    }
    const std::string_view made(window_.data() + before, end_ - before);
    size_ += made.size();
    check_ = wrapper_ == kZlib ? adler32(made, check_) : crc32(made, check_);
  }

  void header() {
    if (wrapper_ == kGzip && any_ && in_.at_end()) {
      state_ = State::kEnd;
      return;
    }
    const uint32_t first = in_.bits(8), second = in_.bits(8);
    if (wrapper_ == kZlib) {
      if ((first & 15) != 8 || (first << 8 | second) % 31 || second & 32)
        throw CorruptStream{"its data is not a zlib stream"};
    } else {
      if (first != 0x1f || second != 0x8b || in_.bits(8) != 8)
        throw CorruptStream{"its data is not a gzip stream"};
      gzip_header();
    }
    any_ = true;
    last_ = false;
    begin_ = end_;
    size_ = 0;
    check_ = wrapper_ == kZlib ? 1 : 0;
    state_ = State::kBlock;
  }

  void gzip_header() {
    const uint32_t flags = in_.bits(8);
    for (int i = 0; i < 6; ++i) in_.bits(8);  // time, extra flags, system
    if (flags & 4)
      for (uint32_t n = in_.bits(16); n; --n) in_.bits(8);
    for (const uint32_t text : {8u, 16u})  // name, comment
      if (flags & text)
        while (in_.bits(8)) {}
    if (flags & 2) in_.bits(16);
  }

  void block() {
    if (last_) {
      in_.to_byte();
      state_ = State::kTrailer;
      return;
    }
    last_ = in_.bits(1);
    switch (in_.bits(2)) {
      case 0: {
        in_.to_byte();
        stored_ = in_.bits(16);
        if (in_.bits(16) != (~stored_ & 0xffff))
          throw CorruptStream{"its compressed data has a corrupted block"};
        state_ = State::kStored;
        return;
      }
      case 1: fixed_codes(); break;
      case 2: dynamic_codes(); break;
      default: throw CorruptStream{"its compressed data has an unknown kind of block"};
    }
    state_ = State::kCodes;
  }

  void copy_stored() {
    const size_t n = std::min<size_t>(stored_, window_.size() - end_);
    if (in_.bytes(window_.data() + end_, n) != n) throw CorruptStream{kCutOff};
    end_ += n;
    stored_ -= uint32_t(n);
    if (!stored_) state_ = State::kBlock;
  }

  void fixed_codes() {
    uint8_t lengths[288];
    for (int i = 0; i < 288; ++i) lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
    literals_.set(lengths, 288, false);
    for (int i = 0; i < 32; ++i) lengths[i] = 5;
    distances_.set(lengths, 32, false);
  }

  void dynamic_codes() {
    static constexpr uint8_t kOrder[] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                         11, 4,  12, 3, 13, 2, 14, 1, 15};
    const int n_literals = 257 + int(in_.bits(5)), n_distances = 1 + int(in_.bits(5));
    const int n_lengths = 4 + int(in_.bits(4));
    if (n_literals > 286 || n_distances > 30) throw CorruptStream{kBadCodes};
    uint8_t lengths[320] = {};
    for (int i = 0; i < n_lengths; ++i) lengths[kOrder[i]] = uint8_t(in_.bits(3));
    Codes of_lengths;
    of_lengths.set(lengths, 19, false);
    std::fill(std::begin(lengths), std::end(lengths), uint8_t(0));
    const int n = n_literals + n_distances;
    for (int i = 0; i < n;) {
      in_.refill();
      const int symbol = of_lengths.read(&in_);
      if (symbol < 16) {
        lengths[i++] = uint8_t(symbol);
        continue;
      }
      if (symbol == 16 && i == 0) throw CorruptStream{kBadCodes};
      const uint8_t again = symbol == 16 ? lengths[i - 1] : 0;
      int times = symbol == 18 ? 11 + int(in_.take(7)) : 3 + int(in_.take(symbol == 16 ? 2 : 3));
      if (times > n - i) throw CorruptStream{kBadCodes};
      while (times-- > 0) lengths[i++] = again;
    }
    literals_.set(lengths, n_literals, true);
    distances_.set(lengths + n_literals, n_distances, true);
  }

  // Section 3.2.5, the other way round: until the window is full or the block ends.
  void decode() {
    char* const window = window_.data();
    size_t end = end_;
    while (end < kWindow + kAhead) {
      in_.refill();  // 48 bits: the most that a length and a distance take
      const int symbol = literals_.read(&in_);
      if (symbol < 256) {
        window[end++] = char(symbol);
        continue;
      }
      if (symbol == 256) {
        state_ = State::kBlock;
        break;
      }
      if (symbol > 285) throw CorruptStream{kUnknownCode};
      const int wide = symbol < 265 || symbol == 285 ? 0 : (symbol - 261) / 4;
      int length = symbol - 254;
      if (wide) length = 3 + ((4 + (symbol - 265) % 4) << wide);
      if (symbol == 285) length = 258;
      length += int(in_.take(wide));
      const int group = distances_.read(&in_);
      if (group > 29) throw CorruptStream{kUnknownCode};
      const int extra = group < 4 ? 0 : group / 2 - 1;
      size_t distance = size_t(group < 4 ? group : (2 + group % 2) << extra) + 1;
      distance += in_.take(extra);
      if (distance > end - begin_)
        throw CorruptStream{"its compressed data points before its begin"};
      if (distance >= size_t(length)) {
        std::memcpy(window + end, window + end - distance, size_t(length));
      } else {
        for (int i = 0; i < length; ++i)
          window[end + size_t(i)] = window[end + size_t(i) - distance];
      }
      end += size_t(length);
    }
    end_ = end;
  }

  void trailer() {
    char bytes[8];
    const size_t n = wrapper_ == kZlib ? 4 : 8;
    if (in_.bytes(bytes, n) != n) throw CorruptStream{kCutOff};
    uint32_t check = 0, size = 0;
    for (int i = 0; i < 4; ++i) {
      check |= uint32_t(uint8_t(bytes[i])) << (wrapper_ == kZlib ? 24 - 8 * i : 8 * i);
      if (n == 8) size |= uint32_t(uint8_t(bytes[4 + i])) << (8 * i);
    }
    if (check != check_ || (n == 8 && size != uint32_t(size_)))
      throw CorruptStream{"the checksum of its data is wrong"};
    state_ = wrapper_ == kZlib ? State::kEnd : State::kHeader;
  }
};

InflateSource::InflateSource(std::unique_ptr<ByteSource> from, Wrapper wrapper)
    : decoder_(std::make_unique<Decoder>(std::move(from), wrapper)) {}
InflateSource::~InflateSource() = default;
size_t InflateSource::read(char* to, size_t n) { return decoder_->read(to, n); }

const char* zlib_unpacked(std::string_view stream, size_t size, std::string* bytes) {
  bytes->clear();
  // No code makes more than 258 bytes of two bits: a size beyond that takes no memory.
  if (size / 1032 > stream.size()) return "it holds less data than its size says";
  bytes->resize(size);
  try {
    InflateSource source(std::make_unique<MemorySource>(stream), InflateSource::kZlib);
    for (size_t done = 0; done < size;) {
      const size_t got = source.read(bytes->data() + done, size - done);
      if (got == 0) return "it holds less data than its size says";
      done += got;
    }
    char more;
    return source.read(&more, 1) ? "it holds more data than its size says" : nullptr;
  } catch (const CorruptStream& corruption) { return corruption.what; }
}

}  // namespace hr
