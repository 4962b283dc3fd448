// PNG files of all colour types and bit depths, interlaced or not.
#include "ops/image/decode_png.hpp"

#include <cstdlib>
#include <cstring>
#include <vector>

#include "files/checksums.hpp"
#include "files/disk.hpp"
#include "files/inflate.hpp"

namespace hr {
namespace {

enum Colour { kGrey = 0, kRgb = 2, kPalette = 3, kGreyAlpha = 4, kRgba = 6 };

struct Corruption {
  const char* what;
};

struct Pixel {
  uint32_t red, green, blue, alpha;
};

struct File {
  uint32_t width = 0, height = 0;
  int depth = 0, colour = 0;
  bool interlaced = false;
  std::string_view palette, transparent;
  std::string data;

  int samples() const {
    return colour == kRgb ? 3 : colour == kRgba ? 4 : colour == kGreyAlpha ? 2 : 1;
  }
  int own_channels() const { return colour != kPalette ? samples() : transparent.empty() ? 3 : 4; }
  size_t row_bytes(uint64_t columns) const {
    return size_t((columns * uint64_t(samples() * depth) + 7) / 8);
  }
};

// Which pixels of the picture one pass holds: all, or one of the seven sets of Adam7.
struct Pass {
  uint32_t left, top, right_step, down_step;
  uint64_t columns(const File& f) const { return steps(f.width, left, right_step); }
  uint64_t rows(const File& f) const { return steps(f.height, top, down_step); }
  static uint64_t steps(uint32_t size, uint32_t from, uint32_t step) {
    return size > from ? (uint64_t(size) - from + step - 1) / step : 0;
  }
};
constexpr Pass kWhole[] = {{0, 0, 1, 1}};
constexpr Pass kAdam7[] = {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4},
                           {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}};

std::pair<const Pass*, const Pass*> passes(const File& f) {
  if (f.interlaced) return {kAdam7, kAdam7 + 7};
  return {kWhole, kWhole + 1};
}

// ---- the file -----------------------------------------------------------------------------------

uint32_t read32(std::string_view bytes) {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | uint8_t(bytes[size_t(i)]);
  return value;
}

void read_header(std::string_view data, File* f) {
  if (data.size() != 13) throw Corruption{"its header is corrupted"};
  f->width = read32(data);
  f->height = read32(data.substr(4));
  f->depth = uint8_t(data[8]);
  f->colour = uint8_t(data[9]);
  f->interlaced = data[12] == 1;
  const bool known = f->colour == kGrey || f->colour == kRgb || f->colour == kPalette ||
                     f->colour == kGreyAlpha || f->colour == kRgba;
  const bool narrow = f->depth == 1 || f->depth == 2 || f->depth == 4;
  const bool fits = f->depth == 8 || (f->depth == 16 && f->colour != kPalette) ||
                    (narrow && (f->colour == kGrey || f->colour == kPalette));
  if (!known || !fits || data[10] || data[11] || uint8_t(data[12]) > 1 || !f->width || !f->height ||
      f->width >> 31 || f->height >> 31)
    throw Corruption{"its header is corrupted"};
  if (uint64_t(f->width) * f->height > uint64_t(1) << 29) throw Corruption{"it is too large"};
}

File read_file(std::string_view bytes) {
  if (bytes.substr(0, 8) != std::string_view("\x89PNG\r\n\x1a\n", 8))
    throw Corruption{"they are not a PNG file"};
  File f;
  for (bool first = true;; first = false) {
    bytes.remove_prefix(first ? 8 : 0);
    if (bytes.size() < 12) throw Corruption{"it is cut off"};
    const size_t size = read32(bytes);
    if (size > bytes.size() - 12) throw Corruption{"it is cut off"};
    const std::string_view name = bytes.substr(4, 4), data = bytes.substr(8, size);
    if (read32(bytes.substr(8 + size)) != crc32(bytes.substr(4, 4 + size)))
      throw Corruption{"the checksum of a chunk is wrong"};
    bytes.remove_prefix(12 + size);
    if (first != (name == "IHDR")) throw Corruption{"its header is not where it should be"};
    if (first) read_header(data, &f);
    if (name == "PLTE") f.palette = data;
    if (name == "tRNS") f.transparent = data;
    if (name == "IDAT") f.data.append(data);
    if (name == "IEND") break;
  }
  if (f.colour == kPalette && (f.palette.empty() || f.palette.size() % 3))
    throw Corruption{"its palette is corrupted"};
  if ((f.colour == kGrey && f.transparent.size() == 1) ||
      (f.colour == kRgb && !f.transparent.empty() && f.transparent.size() < 6))
    throw Corruption{"its transparent colour is corrupted"};
  return f;
}

// ---- rows ---------------------------------------------------------------------------------------

// Section 9 of the specification. `above` is null for the first row of a pass.
void unfilter(int filter, uint8_t* row, const uint8_t* above, size_t bytes, size_t step) {
  if (filter > 4) throw Corruption{"a row has an unknown filter"};
  for (size_t i = 0; i < bytes; ++i) {
    const int left = i >= step ? row[i - step] : 0, up = above ? above[i] : 0;
    const int corner = above && i >= step ? above[i - step] : 0;
    int guess = 0;
    if (filter == 1) guess = left;
    if (filter == 2) guess = up;
    if (filter == 3) guess = (left + up) / 2;
    if (filter == 4) {
      const int to_left = std::abs(up - corner), to_up = std::abs(left - corner);
      const int to_corner = std::abs(left + up - 2 * corner);
      guess = to_left <= to_up && to_left <= to_corner ? left : to_up <= to_corner ? up : corner;
    }
    row[i] = uint8_t(row[i] + guess);
  }
}

uint32_t sample(const File& f, const uint8_t* row, uint64_t i) {
  if (f.depth == 16) return uint32_t(row[2 * i] << 8 | row[2 * i + 1]);
  if (f.depth == 8) return row[i];
  const uint64_t bit = i * uint64_t(f.depth);
  return row[bit / 8] >> (8 - f.depth - int(bit % 8)) & ((1 << f.depth) - 1);
}

// Of 16 bits a sample where the file has them, else of 8.
Pixel pixel(const File& f, const uint8_t* row, uint64_t column) {
  const uint32_t most = f.depth == 16 ? 65535 : 255;
  uint32_t v[4];
  for (int k = 0; k < f.samples(); ++k)
    v[k] = sample(f, row, column * uint64_t(f.samples()) + uint64_t(k));
  auto key = [&](size_t k) {
    return uint32_t(uint8_t(f.transparent[2 * k])) << 8 | uint8_t(f.transparent[2 * k + 1]);
  };
  const bool keyed = !f.transparent.empty();
  switch (f.colour) {
    case kPalette: {
      if (3 * size_t(v[0]) >= f.palette.size()) throw Corruption{"a pixel is not of its palette"};
      const auto* entry = reinterpret_cast<const uint8_t*>(f.palette.data()) + 3 * v[0];
      const bool solid = v[0] >= f.transparent.size();
      return {entry[0], entry[1], entry[2], solid ? 255u : uint8_t(f.transparent[v[0]])};
    }
    case kGrey: {
      const uint32_t grey = f.depth < 8 ? v[0] * 255 / ((1u << f.depth) - 1) : v[0];
      return {grey, grey, grey, keyed && v[0] == key(0) ? 0 : most};
    }
    case kGreyAlpha: return {v[0], v[0], v[0], v[1]};
    case kRgb: {
      const bool hit = keyed && v[0] == key(0) && v[1] == key(1) && v[2] == key(2);
      return {v[0], v[1], v[2], hit ? 0 : most};
    }
    default: return {v[0], v[1], v[2], v[3]};
  }
}

template <class T> T stored(const File& f, uint32_t value) {
  if (f.depth == 16) return T(sizeof(T) == 2 ? value : value >> 8);
  return T(sizeof(T) == 2 ? value * 257 : value);
}

template <class T> void put(const File& f, const Pixel& p, int64_t channels, T* to) {
  const bool coloured = f.colour != kGrey && f.colour != kGreyAlpha;
  // Luma of ITU-R 601, as libpng rounds it: 8 bits are cut, 16 are not.
  const uint64_t weighted = uint64_t(9797) * p.red + 19234 * p.green + 3737 * p.blue;
  const uint64_t grey = (weighted + (f.depth == 16 ? 16384 : 0)) >> 15;
  if (channels < 3) {
    to[0] = stored<T>(f, coloured ? uint32_t(grey) : p.red);
  } else {
    to[0] = stored<T>(f, p.red);
    to[1] = stored<T>(f, p.green);
    to[2] = stored<T>(f, p.blue);
  }
  if (channels % 2 == 0) to[channels - 1] = stored<T>(f, p.alpha);
}

template <class T> void unpack(const File& f, std::string* rows, int64_t channels, T* to) {
  const size_t step = std::max<size_t>(1, size_t(f.samples() * f.depth / 8));
  auto* row = reinterpret_cast<uint8_t*>(rows->data());
  for (auto [pass, end] = passes(f); pass != end; ++pass) {
    const uint64_t columns = pass->columns(f);
    if (!columns) continue;
    const size_t bytes = f.row_bytes(columns);
    const uint8_t* above = nullptr;
    for (uint64_t y = 0; y < pass->rows(f); ++y, row += bytes) {
      const int filter = *row++;
      unfilter(filter, row, above, bytes, step);
      above = row;
      T* line = to + (pass->top + y * pass->down_step) * f.width * uint64_t(channels);
      for (uint64_t x = 0; x < columns; ++x)
        put(f, pixel(f, row, x), channels,
            line + (pass->left + x * pass->right_step) * uint64_t(channels));
    }
  }
}

// ---- the whole ----------------------------------------------------------------------------------

void decode(std::string_view contents, int64_t channels, hr_dtype dtype,
            const std::function<void*(const PictureSize&)>& allocate) {
  File f = read_file(contents);
  if (!channels) channels = f.own_channels();
  size_t size = 0;
  for (auto [pass, end] = passes(f); pass != end; ++pass)
    if (pass->columns(f)) size += size_t(pass->rows(f)) * (1 + f.row_bytes(pass->columns(f)));
  std::string rows;
  if (const char* what = zlib_unpacked(f.data, size, &rows)) throw Corruption{what};
  void* to = allocate({int64_t(f.height), int64_t(f.width), channels});
  if (dtype == HR_UINT16) unpack(f, &rows, channels, static_cast<uint16_t*>(to));
  else unpack(f, &rows, channels, static_cast<uint8_t*>(to));
}

}  // namespace

void decode_png(std::string_view contents, int64_t channels, hr_dtype dtype,
                const std::function<void*(const PictureSize&)>& allocate) {
  try {
    decode(contents, channels, dtype, allocate);
  } catch (const Corruption& corruption) {
    throw Failure{HR_INVALID_ARGUMENT,
                  std::to_string(contents.size()) +
                      " bytes are not an image that can be read: " + corruption.what};
  }
}

}  // namespace hr
