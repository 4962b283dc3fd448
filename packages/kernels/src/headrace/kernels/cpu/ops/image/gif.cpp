// After the GIF89a specification. Pictures are drawn as TensorFlow draws them: what a picture
// leaves out shows the one before it, whatever its disposal method, and the canvas is as large as
// the largest picture.
#include "ops/image/gif.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "files/disk.hpp"

namespace hr::gif {
namespace {

constexpr int64_t kMostPixels = int64_t(1) << 29;
constexpr int kMostBits = 12, kMostCodes = 1 << kMostBits;

// The part of the file that is read is damaged or missing.
struct Damage {
  const char* what;
};

class Bytes {
 public:
  explicit Bytes(std::string_view left) : left_(left) {}
  std::string_view take(size_t n) {
    if (n > left_.size()) throw Damage{"the data ends too soon"};
    const std::string_view taken = left_.substr(0, n);
    left_.remove_prefix(n);
    return taken;
  }
  int byte() { return uint8_t(take(1)[0]); }
  int64_t number() {
    const std::string_view two = take(2);
    return uint8_t(two[0]) | uint8_t(two[1]) << 8;
  }
  // The colours that a packed field of flags announces.
  std::string_view colours(int flags) {
    return flags & 0x80 ? take(size_t(3) << ((flags & 7) + 1)) : std::string_view();
  }
  std::string_view block() { return take(size_t(byte())); }
  void skip_blocks() {
    while (!block().empty()) {}
  }

 private:
  std::string_view left_;
};

// The codes of a picture's data, from blocks of at most 255 bytes.
class Codes {
 public:
  explicit Codes(Bytes* bytes) : bytes_(bytes) {}
  int next(int bits) {
    while (held_ < bits) {
      if (block_.empty() && (block_ = bytes_->block()).empty())
        throw Damage{"the data of a picture ends too soon"};
      value_ |= uint32_t(uint8_t(block_[0])) << held_;
      block_.remove_prefix(1);
      held_ += 8;
    }
    const int code = int(value_ & ((1u << bits) - 1));
    value_ >>= bits;
    held_ -= bits;
    return code;
  }

 private:
  Bytes* bytes_;
  std::string_view block_;
  uint32_t value_ = 0;
  int held_ = 0;
};

// Unpacks the indices of a picture. Codes that damaged files refer to without having them are read
// as giflib, TensorFlow's library, reads them.
// Source: Welch 1984, with GIF's codes of growing width.
class Unpacker {
 public:
  explicit Unpacker(Bytes* bytes) : bytes_(bytes), codes_(bytes), least_(bytes->byte()) {
    if (least_ > 8) throw Damage{"the data of a picture has an unknown width"};
    clear_ = 1 << least_;
    start();
  }

  // Reads n indices and the end of the data.
  std::vector<uint8_t> read(size_t n) {
    while (indices_.size() < n) {
      const int code = codes_.next(bits_);
      if (code == clear_) start();
      else if (code == clear_ + 1) throw Damage{"Image EOF detected before image complete"};
      else add(code, n);
    }
    bytes_->skip_blocks();
    return std::move(indices_);
  }

 private:
  static constexpr uint16_t kNone = 0xffff;
  // The last index of a code that is not in the table and not the next one either.
  static constexpr uint8_t kUnknown = 2;

  void start() {
    bits_ = least_ + 1;
    next_ = clear_ + 2;
    before_ = kNone;
    std::fill_n(prefix_, kMostCodes, kNone);
  }

  void add(int code, size_t n) {
    const bool known = code < clear_ || prefix_[code] != kNone;
    int length = 0, at = known ? code : before_;
    while (at > clear_ && at < kMostCodes && length < kMostCodes) {
      word_[length++] = last_[at];
      at = prefix_[at];
    }
    if (at >= kMostCodes || length == kMostCodes)
      throw Damage{"Image is defective, decoding aborted"};
    word_[length++] = uint8_t(at);
    const uint8_t first = known || code == next_ ? uint8_t(at) : kUnknown;
    for (int i = length; i-- > 0 && indices_.size() < n;) indices_.push_back(word_[i]);
    if (!known && indices_.size() < n) indices_.push_back(first);
    if (before_ != kNone && next_ < kMostCodes) {
      prefix_[next_] = uint16_t(before_);
      last_[next_++] = first;
    }
    if (next_ >= 1 << bits_ && bits_ < kMostBits) ++bits_;
    before_ = code;
  }

  Bytes* bytes_;
  Codes codes_;
  const int least_;
  int clear_, bits_, next_, before_;
  // A code's string is that of its prefix and one index more.
  uint16_t prefix_[kMostCodes];
  uint8_t last_[kMostCodes], word_[kMostCodes + 1];
  std::vector<uint8_t> indices_;
};

// Rows of an interlaced picture come in four passes.
std::vector<uint8_t> in_order(const std::vector<uint8_t>& rows, int64_t width, int64_t height) {
  static constexpr int64_t kFirst[] = {0, 4, 2, 1}, kStep[] = {8, 8, 4, 2};
  std::vector<uint8_t> sorted(rows.size());
  const uint8_t* from = rows.data();
  for (int pass = 0; pass < 4; ++pass)
    for (int64_t y = kFirst[pass]; y < height; y += kStep[pass], from += width)
      std::copy_n(from, width, sorted.data() + y * width);
  return sorted;
}

// The transparent index of a graphic control extension, or -1.
int transparent_of(std::string_view control) {
  return control.size() == 4 && control[0] & 1 ? uint8_t(control[3]) : -1;
}

void read_pictures(Bytes* bytes, File* file, const std::function<void()>& poll) {
  if (bytes->take(6).substr(0, 3) != "GIF") throw Damage{"it has no signature"};
  bytes->take(4);  // the size of the screen, which does not limit the pictures
  const int screen = bytes->byte();
  bytes->take(2);
  const std::string_view colours = bytes->colours(screen);
  int transparent = -1;
  bool controlled = false;
  for (;;) {
    const int kind = bytes->byte();
    if (kind == ';') return;
    if (kind == '!') {
      const bool control = bytes->byte() == 0xf9;
      const std::string_view first = bytes->block();
      if (control && !controlled) transparent = transparent_of(first), controlled = true;
      if (!first.empty()) bytes->skip_blocks();
      continue;
    }
    if (kind != ',') throw Damage{"Wrong record type detected"};
    poll();
    Picture p{};
    p.left = bytes->number();
    p.top = bytes->number();
    p.width = bytes->number();
    p.height = bytes->number();
    const int flags = bytes->byte();
    p.colours = bytes->colours(flags);
    if (p.colours.empty()) p.colours = colours;
    p.transparent = transparent;
    if (!p.width || !p.height) throw Damage{"a picture is empty"};
    if (p.width * p.height > kMostPixels) throw Damage{"a picture is too large"};
    p.indices = Unpacker(bytes).read(size_t(p.width * p.height));
    if (flags & 0x40) p.indices = in_order(p.indices, p.width, p.height);
    file->width = std::max(file->width, p.width);
    file->height = std::max(file->height, p.height);
    file->pictures.push_back(std::move(p));
    transparent = -1;
    controlled = false;
  }
}

[[noreturn]] void fail(const std::string& what) { throw Failure{HR_INVALID_ARGUMENT, what}; }

}  // namespace

File read(std::string_view contents, const std::function<void()>& poll) {
  File file;
  Bytes bytes(contents);
  const char* what = "gif file does not contain any image";
  try {
    read_pictures(&bytes, &file, poll);
  } catch (const Damage& damage) { what = damage.what; }
  if (file.pictures.empty())
    fail("Invalid GIF data (size " + std::to_string(contents.size()) + "), " + what);
  return file;
}

void draw(const File& file, int64_t n, uint8_t* to, const std::function<void()>& poll) {
  const int64_t row = file.width * 3, canvas = file.height * row;
  for (int64_t k = 0; k < n; ++k, to += canvas) {
    poll();
    const Picture& p = file.pictures[size_t(k)];
    if (p.colours.empty()) fail("missing color map for frame " + std::to_string(k));
    if (k) std::memcpy(to, to - canvas, size_t(canvas));
    else std::memset(to, 0, size_t(canvas));
    const int known = int(p.colours.size() / 3);
    const int64_t right = std::min(p.left + p.width, file.width);
    const int64_t bottom = std::min(p.top + p.height, file.height);
    for (int64_t y = p.top; y < bottom; ++y) {
      const uint8_t* index = p.indices.data() + (y - p.top) * p.width;
      uint8_t* pixel = to + y * row + p.left * 3;
      for (int64_t x = p.left; x < right; ++x, ++index, pixel += 3) {
        if (*index == p.transparent) continue;
        if (*index >= known)
          fail("found color index " + std::to_string(*index) + " outside of color map range " +
               std::to_string(known));
        std::memcpy(pixel, p.colours.data() + 3 * *index, 3);
      }
    }
  }
}

}  // namespace hr::gif
