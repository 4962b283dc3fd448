// PNG files to pixels.
#pragma once

#include <cstdint>
#include <string_view>

#include "headrace/kernel.h"

namespace hr {

constexpr std::string_view kPngSignature("\x89PNG\r\n\x1a\n", 8);

// channels: 1 to 4; 0: as in the file. Allocates `out`, of uint8 or uint16; reports errors to ctx.
hr_code decode_png(hr_ctx* ctx, std::string_view contents, int64_t channels, hr_tensor* out);

}  // namespace hr
