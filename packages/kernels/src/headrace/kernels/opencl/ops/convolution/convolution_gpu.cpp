// Convolutions by the sources for GPUs.
#include <string>

#include "ops/convolution/convolution_variants.hpp"

namespace hr::cl {

namespace {

hr_code add_filter_gradient(hr_request* r, const ConvolutionWork& work, const GpuTile& tile,
                            Sequence* s) {
  const Convolution& c = work.c;
  const WindowArgument w = work.window();
  const bool aligned = is_aligned(work);
  const int64_t m = gpu_rows(work).rows, pixels = c.w.batch * c.w.out_positions();
  const int64_t columns = divide_up(w.columns, tile.side), rows = divide_up(m, tile.side);
  const int64_t wanted = parts_of(wanted_groups(device_of(r), tile.items),
                                  columns * rows * c.groups, pixels, 16 * tile.slice);
  const int64_t part_pixels = divide_up(divide_up(pixels, wanted), tile.slice) * tile.slice;
  const int64_t parts = divide_up(pixels, part_pixels);
  const Kernel* kernel;
  const std::string part = work.e.part_define(parts);
  if (hr_code code = find(r, "convolution/conv_filter_gpu.cl", tile.defines(work.e, aligned) + part,
                          "filter_gradient", &kernel))
    return code;
  const int64_t size = m * c.out_channels;
  const Place filter = work.at.filter;
  const Place whole = parts == 1 ? filter : s->reserve(parts * size * work.e.part_bytes());
  s->add(*kernel,
         Grid::of(size_t(rows * tile.items), size_t(columns), size_t(c.groups * parts),
                  size_t(tile.items), 1, 1),
         work.at.x, work.at.y, whole, w, int32_t(parts), int32_t(part_pixels));
  if (aligned)
    s->unless_aligned({4 * work.e.bytes, "convolution/conv_filter_gpu.cl",
                       tile.defines(work.e, false) + part, "filter_gradient"});
  return parts == 1 ? HR_OK : add_sum_of_parts(r, work.e, {whole, filter, size, parts}, s);
}

}  // namespace

ProductRows gpu_rows(const ConvolutionWork& work) {
  const Convolution& c = work.c;
  if (work.to_filter()) return {c.w.window_positions() * c.in_group, c.groups};
  return {work.pixels_of_phase(), c.groups * work.phases()};
}

bool is_aligned(const ConvolutionWork& work) {  // the pitches are multiples of these
  return work.c.in_group % 4 == 0 && work.c.out_group % 4 == 0;
}

hr_code add_for_gpu(hr_request* r, const ConvolutionWork& work, const GpuTile& tile, Sequence* s) {
  if (work.to_filter()) return add_filter_gradient(r, work, tile, s);
  const Convolution& c = work.c;
  const WindowArgument w = work.window();
  const bool aligned = is_aligned(work);
  const auto [pixels, products] = gpu_rows(work);
  const int64_t rows = divide_up(pixels, tile.side), columns = divide_up(w.columns, tile.side);
  const int64_t length = c.w.window_positions() * w.depth / work.phases();
  const int64_t parts = parts_of(wanted_groups(device_of(r), tile.items), rows * columns * products,
                                 length, 16 * tile.slice);
  const EpilogueStep of_parts = parts == 1 ? work.epilogue : EpilogueStep{};
  const std::string which = (work.forward() ? " -DTO_INPUT=0" : " -DTO_INPUT=1") +
                            of_parts.defines() + work.e.part_define(parts);
  const Kernel* kernel;
  if (hr_code code = find(r, "convolution/conv_gpu.cl", tile.defines(work.e, aligned) + which,
                          "convolve", &kernel))
    return code;
  const Place from = work.forward() ? work.at.x : work.at.y;
  const Place to = work.forward() ? work.at.y : work.at.x;
  const int64_t size = c.w.batch * w.out_h * w.out_w * w.out_pitch;
  const Place whole = parts == 1 ? to : s->reserve(parts * size * work.e.part_bytes());
  of_parts.add_launch(s, *kernel,
                      Grid::of(size_t(rows * tile.items), size_t(columns), size_t(products * parts),
                               size_t(tile.items), 1, 1),
                      from, work.at.filter, whole, w, int32_t(parts));
  if (aligned)
    s->unless_aligned({4 * work.e.bytes, "convolution/conv_gpu.cl",
                       tile.defines(work.e, false) + which, "convolve"});
  if (parts == 1) return HR_OK;
  return add_sum_of_parts(r, work.e,
                          {whole, to, size, parts, 1, work.epilogue, int64_t(w.out_pitch)}, s);
}

}  // namespace hr::cl
