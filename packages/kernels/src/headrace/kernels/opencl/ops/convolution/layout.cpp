#include "ops/convolution/layout.hpp"

namespace hr::cl {

namespace {

// to[n][columns][rows] = from[n][rows][columns]
hr_code add_transpose(hr_request* r, const GemmElement& e, Place from, Place to, int64_t n,
                      int64_t rows, int64_t columns, Sequence* s) {
  const bool cpu = device_of(r).traits.is_cpu;
  const Kernel* kernel;
  if (hr_code code = find(r, cpu ? "convolution/layout_cpu.cl" : "convolution/layout_gpu.cl",
                          e.define, "transpose", &kernel))
    return code;
  constexpr int64_t kSquare = 32, kLines = 8;  // of layout_gpu.cl
  constexpr int64_t kMostGroups = 65535;
  const int64_t blocks = divide_up(columns, kSquare) * divide_up(rows, kSquare);
  for (int64_t i = 0; i < n; i += kMostGroups) {
    const size_t count = size_t(std::min(kMostGroups, n - i));
    const int64_t begin = i * rows * columns * e.bytes;
    const Grid grid = cpu ? Grid::of(size_t(divide_up(columns, e.lanes)),
                                     size_t(divide_up(rows, e.lanes)), count, 1, 1, 1)
                          : Grid::of(size_t(blocks * kSquare), size_t(kLines), count,
                                     size_t(kSquare), size_t(kLines), 1);
    s->add(*kernel, grid, from.after(begin), to.after(begin), int32_t(rows), int32_t(columns));
  }
  return HR_OK;
}

Place reserve(const GemmElement& e, const Images& images, Sequence* s) {
  return s->reserve(images.batch * images.positions * images.channels * e.bytes);
}

}  // namespace

hr_code read_images(hr_request* r, const GemmElement& e, bool channels_first, Images* images,
                    Sequence* s) {
  if (!channels_first) return HR_OK;
  const Place original = images->place;
  images->place = reserve(e, *images, s);
  return add_transpose(r, e, original, images->place, images->batch, images->channels,
                       images->positions, s);
}

void write_images(const GemmElement& e, bool channels_first, Images* images, Sequence* s) {
  if (channels_first) images->place = reserve(e, *images, s);
}

hr_code finish_images(hr_request* r, const GemmElement& e, bool channels_first,
                      const Images& images, Place original, Sequence* s) {
  if (!channels_first) return HR_OK;
  return add_transpose(r, e, images.place, original, images.batch, images.positions,
                       images.channels, s);
}

}  // namespace hr::cl
