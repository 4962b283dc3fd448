#include "ops/convolution/convolution_steps.hpp"

#include <algorithm>

#include "gemm/gemm.hpp"
#include "gemm/tiles.hpp"
#include "ops/convolution/window_argument.hpp"

namespace hr::cl {

namespace {

using convolution::Direction;

WindowArgument argument_of(const Convolution& c, Direction direction) {
  WindowArgument w = window_argument(c.w, c.w.channels, c.out_channels);
  w.depth = int32_t(c.in_group);
  w.columns = int32_t(c.out_group);
  if (direction == Direction::to_input) {  // from y to x
    std::swap(w.in_h, w.out_h);
    std::swap(w.in_w, w.out_w);
    std::swap(w.in_pitch, w.out_pitch);
    std::swap(w.depth, w.columns);
  }
  return w;
}

// Every pixel by itself, all of them: a product of matrices.
bool is_product(const Convolution& c) {
  const Window& w = c.w;
  return c.groups == 1 && w.window_positions() == 1 && w.stride[0] == 1 && w.stride[1] == 1 &&
         w.low[0] == 0 && w.low[1] == 0 && w.high[0] == 0 && w.high[1] == 0;
}

hr_code add_product(hr_request* r, const Element& e, const Convolution& c, Direction direction,
                    const ConvolutionPlaces& at, const EpilogueStep& epilogue, Sequence* s) {
  const int64_t pixels = c.w.batch * c.w.out_positions();
  Gemm g;
  g.epilogue = epilogue;
  switch (direction) {
    case Direction::forward:
      g.m = pixels, g.n = c.out_channels, g.k = c.w.channels;
      g.a = at.x, g.b = at.filter, g.c = at.y;
      break;
    case Direction::to_input:
      g.m = pixels, g.n = c.w.channels, g.k = c.out_channels;
      g.a = at.y, g.b = at.filter, g.c = at.x;
      g.transpose_b = true;
      break;
    case Direction::to_filter:
      g.m = c.w.channels, g.n = c.out_channels, g.k = pixels;
      g.a = at.x, g.b = at.y, g.c = at.filter;
      g.transpose_a = true;
      break;
  }
  return add_gemm(r, e, g, s);
}

// Pixels of the largest phase of the result, which is all of it going forward.
int64_t pixels_of_phase(const Convolution& c, Direction direction) {
  if (direction == Direction::forward) return c.w.batch * c.w.out_positions();
  return c.w.batch * divide_up(c.w.in[0], c.w.stride[0]) * divide_up(c.w.in[1], c.w.stride[1]);
}
int64_t phases(const Convolution& c, Direction direction) {
  return direction == Direction::to_input ? c.w.stride[0] * c.w.stride[1] : 1;
}

// ---- CPU ----------------------------------------------------------------------------------------

// With few channels the taps of a filter are too short for loops of their own: the image is padded,
// so that the distances of a window's elements from its pixel are the same everywhere.
bool wants_padding(const Convolution& c, Direction direction) {
  constexpr int64_t kFewChannels = 10;
  return direction != Direction::to_input && c.in_group < kFewChannels;
}

// Pads x, where a window reaches beyond it, and makes w that of the padded image.
hr_code add_padding(hr_request* r, const Element& e, Place* x, WindowArgument* w, Sequence* s) {
  const int32_t high = (w->out_h - 1) * w->stride_h + (w->size_h - 1) * w->dilation_h + 1;
  const int32_t wide = (w->out_w - 1) * w->stride_w + (w->size_w - 1) * w->dilation_w + 1;
  if (w->low_h == 0 && w->low_w == 0 && high <= w->in_h && wide <= w->in_w) return HR_OK;
  const Kernel* pad;
  const std::string defines = e.define + std::string("-DNV=2 -DINSIDE");
  if (hr_code code = find(r, "conv_cpu.cl", defines, "pad_image", &pad)) return code;
  const Place from = *x;
  *x = s->reserve(int64_t(w->batch) * high * wide * w->in_pitch * e.bytes);
  s->add(*pad, Grid::of(size_t(w->batch) * size_t(high), 1), from, *x, w->in_h, w->in_w,
         w->in_pitch, high, wide, w->low_h, w->low_w);
  w->in_h = high, w->in_w = wide;
  w->low_h = w->low_w = 0;
  return HR_OK;
}

hr_code add_for_cpu(hr_request* r, const Element& e, const Convolution& c, Direction direction,
                    ConvolutionPlaces at, const EpilogueStep& epilogue, Sequence* s) {
  WindowArgument w = argument_of(c, direction);
  const bool inside = wants_padding(c, direction);
  if (inside) {
    if (hr_code code = add_padding(r, e, &at.x, &w, s)) return code;
  }
  const std::string variant = inside ? " -DINSIDE" : "";
  const int64_t taps = c.w.window_positions();
  if (direction != Direction::to_filter) {
    const bool forward = direction == Direction::forward;
    const int64_t others = c.groups * phases(c, direction);
    const int64_t pixels = pixels_of_phase(c, direction);
    const CpuTile tile = cpu_tile(device_of(r), e, pixels, w.columns, others);
    const Kernel* kernel;
    if (hr_code code =
            find(r, "conv_cpu.cl",
                 tile.defines(e) + variant + (forward ? "" : " -DTO_INPUT") + epilogue.defines(),
                 "convolve", &kernel))
      return code;
    epilogue.add_launch(s, *kernel,
                        Grid::of(size_t(divide_up(w.columns, tile.columns(e))),
                                 size_t(divide_up(pixels, tile.rows)), size_t(others), 1, 1, 1),
                        forward ? at.x : at.y, at.filter, forward ? at.y : at.x, w,
                        int32_t(tile.rows));
    return HR_OK;
  }
  // A tile has rows of one tap, or of any if the image is padded.
  const int64_t m = inside ? taps * c.in_group : c.in_group, times = inside ? 1 : taps;
  const CpuTile tile = cpu_tile(device_of(r), e, m, w.columns, c.groups * times);
  const int64_t panels = divide_up(w.columns, tile.columns(e));
  const int64_t tiles = divide_up(m, tile.rows) * times;
  const int64_t lines = c.w.batch * c.w.out[0];
  const int64_t least = std::max<int64_t>(1, 2 * CpuTile{}.depth / std::max(w.out_w, 1));
  const int64_t wanted = parts_of(device_of(r), panels * tiles * c.groups, lines, least);
  const int64_t part_lines = divide_up(lines, wanted), parts = divide_up(lines, part_lines);
  const Kernel* kernel;
  if (hr_code code =
          find(r, "conv_filter_cpu.cl", tile.defines(e) + variant, "filter_gradient", &kernel))
    return code;
  const int64_t size = taps * c.in_group * c.out_channels;
  const Place whole = parts == 1 ? at.filter : s->reserve(parts * size * e.bytes);
  s->add(*kernel, Grid::of(size_t(panels), size_t(tiles), size_t(c.groups * parts), 1, 1, 1), at.x,
         at.y, whole, w, int32_t(tile.rows), int32_t(parts), int32_t(part_lines));
  return parts == 1 ? HR_OK : add_sum_of_parts(r, e, whole, size, parts, at.filter, s);
}

// ---- GPU ----------------------------------------------------------------------------------------

hr_code add_for_gpu(hr_request* r, const Element& e, const Convolution& c, Direction direction,
                    const ConvolutionPlaces& at, const EpilogueStep& epilogue, Sequence* s) {
  const WindowArgument w = argument_of(c, direction);
  const bool aligned = w.depth % 4 == 0 && w.columns % 4 == 0;  // and so are the pitches
  const int64_t taps = c.w.window_positions();
  if (direction != Direction::to_filter) {
    const bool forward = direction == Direction::forward;
    const int64_t pixels = pixels_of_phase(c, direction);
    const int64_t others = c.groups * phases(c, direction);
    const GpuTile tile = gpu_tile(device_of(r), e, aligned, pixels, w.columns, others);
    const std::string which = (forward ? " -DTO_INPUT=0" : " -DTO_INPUT=1") + epilogue.defines();
    const Kernel* kernel;
    if (hr_code code =
            find(r, "conv_gpu.cl", tile.defines(e, aligned) + which, "convolve", &kernel))
      return code;
    epilogue.add_launch(
        s, *kernel,
        Grid::of(size_t(divide_up(w.columns, tile.side) * tile.items),
                 size_t(divide_up(pixels, tile.side)), size_t(others), size_t(tile.items), 1, 1),
        forward ? at.x : at.y, at.filter, forward ? at.y : at.x, w);
    if (aligned)
      s->unless_aligned({4 * e.bytes, "conv_gpu.cl", tile.defines(e, false) + which, "convolve"});
    return HR_OK;
  }
  const int64_t m = taps * c.in_group, pixels = c.w.batch * c.w.out_positions();
  const GpuTile tile = gpu_tile(device_of(r), e, aligned, m, w.columns, c.groups);
  const int64_t columns = divide_up(w.columns, tile.side), rows = divide_up(m, tile.side);
  const int64_t wanted = parts_of(device_of(r), columns * rows * c.groups, pixels, 16 * tile.slice);
  const int64_t part_pixels = divide_up(divide_up(pixels, wanted), tile.slice) * tile.slice;
  const int64_t parts = divide_up(pixels, part_pixels);
  const Kernel* kernel;
  if (hr_code code =
          find(r, "conv_filter_gpu.cl", tile.defines(e, aligned), "filter_gradient", &kernel))
    return code;
  const int64_t size = m * c.out_channels;
  const Place whole = parts == 1 ? at.filter : s->reserve(parts * size * e.bytes);
  s->add(*kernel,
         Grid::of(size_t(columns * tile.items), size_t(rows), size_t(c.groups * parts),
                  size_t(tile.items), 1, 1),
         at.x, at.y, whole, w, int32_t(parts), int32_t(part_pixels));
  if (aligned)
    s->unless_aligned(
        {4 * e.bytes, "conv_filter_gpu.cl", tile.defines(e, false), "filter_gradient"});
  return parts == 1 ? HR_OK : add_sum_of_parts(r, e, whole, size, parts, at.filter, s);
}

}  // namespace

hr_code add_convolution(hr_request* r, const Element& e, const Convolution& c, Direction direction,
                        const ConvolutionPlaces& at, const EpilogueStep& epilogue, Sequence* s) {
  if (is_product(c)) return add_product(r, e, c, direction, at, epilogue, s);
  return uses_cpu_family(device_of(r)) ? add_for_cpu(r, e, c, direction, at, epilogue, s)
                                       : add_for_gpu(r, e, c, direction, at, epilogue, s);
}

// ---- depthwise ----------------------------------------------------------------------------------

hr_code add_depthwise(hr_request* r, const Element& e, const Convolution& c, Direction direction,
                      const ConvolutionPlaces& at, Sequence* s) {
  const bool cpu = uses_cpu_family(device_of(r));
  const WindowArgument w = window_argument(c.w, c.w.channels, c.out_channels);
  const char* const file = cpu ? "depthwise_cpu.cl" : "depthwise_gpu.cl";
  const std::string defines = e.define + ("-DMULTIPLIER=" + std::to_string(c.out_group));
  const char* const function = direction == Direction::forward    ? "depthwise"
                               : direction == Direction::to_input ? "depthwise_to_input"
                                                                  : "depthwise_to_filter";
  const Kernel* kernel;
  if (hr_code code = find(r, file, defines, function, &kernel)) return code;
  constexpr size_t kItems = 64;  // of a work-group of the GPU family
  const int64_t lines = c.w.batch * c.w.out[0];
  auto grid = [&](int64_t cpu_lines, int64_t elements) {
    return cpu ? Grid::of(size_t(cpu_lines), 1) : Grid::of(size_t(elements), kItems);
  };
  if (direction == Direction::forward) {
    s->add(*kernel, grid(lines, lines * c.w.out[1] * c.out_channels), at.x, at.filter, at.y, w);
    return HR_OK;
  }
  if (direction == Direction::to_input) {
    const int64_t x_lines = c.w.batch * c.w.in[0];
    s->add(*kernel, grid(x_lines, x_lines * c.w.in[1] * c.w.channels), at.filter, at.y, at.x, w);
    return HR_OK;
  }
  const int64_t size = c.w.window_positions() * c.out_channels;
  constexpr int64_t kVectors = 4;  // VECTORS of depthwise_cpu.cl
  const int64_t blocks =
      cpu ? divide_up(c.out_channels, kVectors * e.lanes) : divide_up(size, int64_t(kItems) * 8);
  const int64_t wanted = parts_of(device_of(r), blocks, lines, 4);
  const int64_t part_lines = divide_up(lines, wanted), parts = divide_up(lines, part_lines);
  const Place whole = parts == 1 ? at.filter : s->reserve(parts * size * e.bytes);
  s->add(*kernel,
         cpu ? Grid::of(size_t(blocks), size_t(parts), 1, 1)
             : Grid::of(size_t(size), size_t(parts), kItems, 1),
         at.x, at.y, whole, w, int32_t(part_lines));
  return parts == 1 ? HR_OK : add_sum_of_parts(r, e, whole, size, parts, at.filter, s);
}

}  // namespace hr::cl
