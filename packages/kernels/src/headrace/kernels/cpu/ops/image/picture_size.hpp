#pragma once

#include <cstdint>

namespace hr {

struct PictureSize {
  int64_t height, width, channels;
};

}  // namespace hr
