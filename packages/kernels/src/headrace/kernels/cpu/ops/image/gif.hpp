// GIF files to pixels. The functions throw Failure.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace hr::gif {

// A picture of the file: indices into its colours, and where on the canvas it lies.
struct Picture {
  int64_t left, top, width, height;
  std::string_view colours;  // 3 bytes each
  int transparent;           // an index, or -1
  std::vector<uint8_t> indices;
};

struct File {
  int64_t width = 0, height = 0;  // of the largest picture: the canvas
  std::vector<Picture> pictures;  // those before the first that is damaged
};

// Reads all pictures, the first of which must be whole. `poll` is called for each.
File read(std::string_view contents, const std::function<void()>& poll);

// Draws the first n pictures over each other, each on a canvas of its own: [n, height, width, 3].
void draw(const File& file, int64_t n, uint8_t* to, const std::function<void()>& poll);

}  // namespace hr::gif
