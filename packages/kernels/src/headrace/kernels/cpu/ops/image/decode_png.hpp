// PNG files to pixels. The function throws Failure.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "headrace/kernel.h"
#include "ops/image/picture_size.hpp"

namespace hr {

constexpr std::string_view kPngSignature("\x89PNG\r\n\x1a\n", 8);

// channels: 1 to 4; 0: as in the file. dtype: uint8 or uint16. `allocate` gives the memory.
void decode_png(std::string_view contents, int64_t channels, hr_dtype dtype,
                const std::function<void*(const PictureSize&)>& allocate);

}  // namespace hr
