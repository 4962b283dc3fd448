// BMP files of 8, 24 or 32 bits a pixel to pixels. The function throws Failure.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "ops/image/picture_size.hpp"

namespace hr {

// channels: 3 or 4; 0: as in the file. `allocate` gives the memory for the pixels.
void decode_bmp(std::string_view contents, int64_t channels,
                const std::function<uint8_t*(const PictureSize&)>& allocate);

}  // namespace hr
