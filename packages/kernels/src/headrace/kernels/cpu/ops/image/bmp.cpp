// Palettes are ignored, as TensorFlow does: a pixel of 8 bits is its index.
#include "ops/image/bmp.hpp"

#include <cstdlib>
#include <string>

#include "files/disk.hpp"

namespace hr {
namespace {

[[noreturn]] void fail(const std::string& what) { throw Failure{HR_INVALID_ARGUMENT, what}; }

int64_t number(std::string_view bytes, size_t at, int size) {
  uint32_t value = 0;
  for (int i = size; i-- > 0;) value = value << 8 | uint8_t(bytes[at + size_t(i)]);
  return size == 2 ? int16_t(value) : int32_t(value);
}

// A row of blue, green, red (and alpha), or of grey, as red, green, blue and alpha.
void put_row(const uint8_t* from, int64_t own, int64_t width, int64_t channels, uint8_t* to) {
  for (int64_t x = 0; x < width; ++x, from += own, to += channels) {
    if (channels == 1) {
      to[0] = from[0];
      continue;
    }
    to[0] = from[own == 1 ? 0 : 2];
    to[1] = from[own == 1 ? 0 : 1];
    to[2] = from[0];
    if (channels == 4) to[3] = own == 4 ? from[3] : 255;
  }
}

}  // namespace

void decode_bmp(std::string_view contents, int64_t channels,
                const std::function<uint8_t*(const PictureSize&)>& allocate) {
  if (channels == 1) fail("`channels` must be 0, 3 or 4 for BMP, but got 1");
  if (contents.size() < 32)
    fail(
        "Incomplete bmp content, requires at least 32 bytes to find the header size, width, "
        "height, and bpp, got " +
        std::to_string(contents.size()) + " bytes");
  const int64_t header = number(contents, 10, 4), width = number(contents, 18, 4);
  const int64_t signed_height = number(contents, 22, 4), own = number(contents, 28, 2) / 8;
  if (own != 1 && own != 3 && own != 4)
    fail("Number of channels inherent in the image must be 1, 3 or 4, was " + std::to_string(own));
  if (width <= 0) fail("Width must be positive");
  if (signed_height == 0) fail("Height must be nonzero");
  if (header < 0) fail("header size must be nonnegative");
  const int64_t height = std::abs(signed_height);
  if (width * height >= INT32_MAX / 8) fail("Total possible pixel bytes must be less than 2^30");
  const int64_t row = (own * width + 3) / 4 * 4;
  const int64_t differs = int64_t(contents.size()) - header - row * height;
  if (differs)
    fail("Input size should match (header_size + row_size * abs_height) but they differ by " +
         std::to_string(differs));
  if (!channels) channels = own;
  uint8_t* to = allocate({height, width, channels});
  const auto* rows = reinterpret_cast<const uint8_t*>(contents.data()) + header;
  // The last row comes first, unless the height is negative.
  for (int64_t y = 0; y < height; ++y)
    put_row(rows + (signed_height < 0 ? y : height - 1 - y) * row, own, width, channels,
            to + y * width * channels);
}

}  // namespace hr
