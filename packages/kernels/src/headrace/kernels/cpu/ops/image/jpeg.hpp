// JPEG files to pixels and back, by libjpeg-turbo. The functions throw Failure.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "headrace/kernel.h"
#include "ops/image/jpeg_library.hpp"
#include "ops/image/picture_size.hpp"

namespace hr::jpeg {

struct DecodeOptions {
  int channels = 0;  // 1 or 3; 0: as in the file
  int ratio = 1;     // 1, 2, 4 or 8: the file is made smaller
  bool fancy_upscaling = true;
  bool recovers_truncated = false;
  float acceptable_fraction = 1;  // of the rows that must be there
  int dct_method = kFast;
};

struct Window {
  int64_t y, x, height, width;
};

using Size = PictureSize;

// Decodes a file, or a window of it. `allocate` gives the memory for the pixels.
void decode(const hr_ctx* ctx, std::string_view file, const DecodeOptions& options,
            const Window* window, const std::function<uint8_t*(const Size&)>& allocate);

// Reads the header.
Size size_of(std::string_view file);

struct EncodeOptions {
  int quality = 95;
  bool progressive = false, optimize_size = false, chroma_downsampling = true;
  int density_unit = 1;  // 1: inches, 2: centimetres
  int x_density = 300, y_density = 300;
  std::string_view xmp_metadata;
};

// size.channels: 1 or 3.
std::string encode(const hr_ctx* ctx, const uint8_t* pixels, const Size& size,
                   const EncodeOptions& options);

}  // namespace hr::jpeg
