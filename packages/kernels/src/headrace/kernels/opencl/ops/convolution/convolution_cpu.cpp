// Convolutions by the sources for CPUs.
#include <algorithm>
#include <string>

#include "ops/convolution/convolution_variants.hpp"

namespace hr::cl {

namespace {

// With few channels the taps of a filter are too short for loops of their own: the image is padded,
// so that the distances of a window's elements from its pixel are the same everywhere.
bool wants_padding(const ConvolutionWork& work) {
  constexpr int64_t kFewChannels = 10;
  return (work.forward() || work.to_filter()) && work.c.in_group < kFewChannels;
}

// Pads x, where a window reaches beyond it, and makes w that of the padded image.
hr_code add_padding(hr_request* r, const GemmElement& e, Place* x, WindowArgument* w, Sequence* s) {
  const int32_t high = (w->out_h - 1) * w->stride_h + (w->size_h - 1) * w->dilation_h + 1;
  const int32_t wide = (w->out_w - 1) * w->stride_w + (w->size_w - 1) * w->dilation_w + 1;
  if (w->low_h == 0 && w->low_w == 0 && high <= w->in_h && wide <= w->in_w) return HR_OK;
  const Kernel* pad;
  const std::string defines = e.define + std::string("-DNV=2 -DINSIDE");
  if (hr_code code = find(r, "convolution/conv_cpu.cl", defines, "pad_image", &pad)) return code;
  const Place from = *x;
  *x = s->reserve(int64_t(w->batch) * high * wide * w->in_pitch * e.bytes);
  s->add(*pad, Grid::of(size_t(w->batch) * size_t(high), 1), from, *x, w->in_h, w->in_w,
         w->in_pitch, high, wide, w->low_h, w->low_w);
  w->in_h = high, w->in_w = wide;
  w->low_h = w->low_w = 0;
  return HR_OK;
}

hr_code add_filter_gradient(hr_request* r, const ConvolutionWork& work, const Place& x,
                            const WindowArgument& w, const CpuTile& tile, Sequence* s) {
  const Convolution& c = work.c;
  const auto [rows, products] = cpu_rows(work);
  const int64_t panels = divide_up(w.columns, tile.columns(work.e));
  const int64_t tiles = divide_up(rows, tile.rows) * (products / c.groups);
  const int64_t lines = c.w.batch * c.w.out[0];
  const int64_t least = std::max<int64_t>(1, 2 * tile.depth / std::max(w.out_w, 1));
  const int64_t wanted =
      parts_of(wanted_groups(device_of(r), 1), panels * tiles * c.groups, lines, least);
  const int64_t part_lines = divide_up(lines, wanted), parts = divide_up(lines, part_lines);
  const Kernel* kernel;
  if (hr_code code = find(r, "convolution/conv_filter_cpu.cl",
                          tile.defines(work.e) + (wants_padding(work) ? " -DINSIDE" : "") +
                              work.e.part_define(parts),
                          "filter_gradient", &kernel))
    return code;
  const Place filter = work.at.filter;
  const int64_t size = c.w.window_positions() * c.in_group * c.out_channels;
  const Place whole = parts == 1 ? filter : s->reserve(parts * size * work.e.part_bytes());
  s->add(*kernel, Grid::of(size_t(panels), size_t(tiles), size_t(c.groups * parts), 1, 1, 1), x,
         work.at.y, whole, w, int32_t(tile.rows), int32_t(parts), int32_t(part_lines));
  return parts == 1 ? HR_OK : add_sum_of_parts(r, work.e, {whole, filter, size, parts}, s);
}

}  // namespace

ProductRows cpu_rows(const ConvolutionWork& work) {
  const Convolution& c = work.c;
  if (!work.to_filter()) return {work.pixels_of_phase(), c.groups * work.phases()};
  const int64_t taps = c.w.window_positions();
  // A tile has rows of one tap, or of any if the image is padded.
  if (wants_padding(work)) return {taps * c.in_group, c.groups};
  return {c.in_group, c.groups * taps};
}

hr_code add_for_cpu(hr_request* r, const ConvolutionWork& work, const CpuTile& tile, Sequence* s) {
  WindowArgument w = work.window();
  Place x = work.at.x;
  if (wants_padding(work)) {
    if (hr_code code = add_padding(r, work.e, &x, &w, s)) return code;
  }
  if (work.to_filter()) return add_filter_gradient(r, work, x, w, tile, s);
  const std::string defines = tile.defines(work.e) + (wants_padding(work) ? " -DINSIDE" : "") +
                              (work.forward() ? "" : " -DTO_INPUT") + work.epilogue.defines();
  const Kernel* kernel;
  if (hr_code code = find(r, "convolution/conv_cpu.cl", defines, "convolve", &kernel)) return code;
  const auto [pixels, products] = cpu_rows(work);
  work.epilogue.add_launch(
      s, *kernel,
      Grid::of(size_t(divide_up(w.columns, tile.columns(work.e))),
               size_t(divide_up(pixels, tile.rows)), size_t(products), 1, 1, 1),
      work.forward() ? x : work.at.y, work.at.filter, work.forward() ? work.at.y : work.at.x, w,
      int32_t(tile.rows));
  return HR_OK;
}

}  // namespace hr::cl
