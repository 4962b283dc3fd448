#include <algorithm>
#include <string>

#include "gemm/parts.hpp"
#include "ops/convolution/convolution_steps.hpp"
#include "ops/convolution/window_argument.hpp"

namespace hr::cl {

using convolution::Direction;

hr_code add_depthwise(hr_request* r, const GemmElement& e, const Convolution& c,
                      Direction direction, const ConvolutionPlaces& at, Sequence* s) {
  const bool cpu = device_of(r).traits.is_cpu;
  const WindowArgument w = window_argument(c.w, c.w.channels, c.out_channels);
  const char* const file = cpu ? "convolution/depthwise_cpu.cl" : "convolution/depthwise_gpu.cl";
  const std::string defines = e.define + ("-DMULTIPLIER=" + std::to_string(c.out_group));
  const char* const function = direction == Direction::forward    ? "depthwise"
                               : direction == Direction::to_input ? "depthwise_to_input"
                                                                  : "depthwise_to_filter";
  const Kernel* kernel;
  auto find_with = [&](const char* more) {
    return find(r, file, defines + more, function, &kernel);
  };
  constexpr size_t kItems = 64;  // of a work-group of the GPU family
  const int64_t lines = c.w.batch * c.w.out[0];
  auto grid = [&](int64_t cpu_lines, int64_t elements) {
    return cpu ? Grid::of(size_t(cpu_lines), 1) : Grid::of(size_t(elements), kItems);
  };
  if (direction == Direction::forward) {
    if (hr_code code = find_with("")) return code;
    s->add(*kernel, grid(lines, lines * c.w.out[1] * c.out_channels), at.x, at.filter, at.y, w);
    return HR_OK;
  }
  if (direction == Direction::to_input) {
    if (hr_code code = find_with("")) return code;
    const int64_t x_lines = c.w.batch * c.w.in[0];
    s->add(*kernel, grid(x_lines, x_lines * c.w.in[1] * c.w.channels), at.filter, at.y, at.x, w);
    return HR_OK;
  }
  const int64_t size = c.w.window_positions() * c.out_channels;
  constexpr int64_t kVectors = 4;  // VECTORS of depthwise_cpu.cl
  const int64_t blocks =
      divide_up(cpu ? c.out_channels : size, cpu ? kVectors * e.lanes : int64_t(kItems));
  // Items of a GPU wait for memory most of the time: as many as its processors can hold.
  const int64_t groups = wanted_groups(device_of(r), kItems) * (cpu ? 1 : 4);
  constexpr int64_t kFewestPixels = 64;
  const int64_t least = cpu ? 4 : std::max<int64_t>(1, kFewestPixels / c.w.out[1]);
  const int64_t wanted = parts_of(groups, blocks, lines, least);
  const int64_t part_lines = divide_up(lines, wanted), parts = divide_up(lines, part_lines);
  if (hr_code code = find_with(e.part_define(parts))) return code;
  const Place whole = parts == 1 ? at.filter : s->reserve(parts * size * e.part_bytes());
  s->add(*kernel,
         cpu ? Grid::of(size_t(blocks), size_t(parts), 1, 1)
             : Grid::of(size_t(size), size_t(parts), kItems, 1),
         at.x, at.y, whole, w, int32_t(part_lines));
  return parts == 1 ? HR_OK : add_sum_of_parts(r, e, {whole, at.filter, size, parts}, s);
}

}  // namespace hr::cl
