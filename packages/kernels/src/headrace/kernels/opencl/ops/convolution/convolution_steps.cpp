#include "ops/convolution/convolution_steps.hpp"

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "ops/convolution/convolution_variants.hpp"
#include "tuning/tuner.hpp"

namespace hr::cl {

namespace {

using convolution::Direction;

// Every pixel by itself, all of them: a product of matrices.
bool is_product(const Convolution& c) {
  const Window& w = c.w;
  return c.groups == 1 && w.window_positions() == 1 && w.stride[0] == 1 && w.stride[1] == 1 &&
         w.low[0] == 0 && w.low[1] == 0 && w.high[0] == 0 && w.high[1] == 0;
}

hr_code add_product(hr_request* r, const ConvolutionWork& work, Sequence* s) {
  const Convolution& c = work.c;
  const ConvolutionPlaces& at = work.at;
  const int64_t pixels = c.w.batch * c.w.out_positions();
  Gemm g;
  g.epilogue = work.epilogue;
  switch (work.direction) {
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
  return add_gemm(r, work.e, g, s);
}

// The work on inputs 0 and 1 and output 0 alone, as the tuner runs it.
ConvolutionWork work_alone(const ConvolutionWork& work) {
  ConvolutionWork alone = work;
  alone.epilogue = {};
  const Place a = Place::input(0), b = Place::input(1), result = Place::output(0);
  switch (work.direction) {
    case Direction::forward: alone.at = {a, b, result}; break;
    case Direction::to_input: alone.at = {result, a, b}; break;
    case Direction::to_filter: alone.at = {a, result, b}; break;
  }
  return alone;
}

TunedWork tuned_work(const ConvolutionWork& work) {
  const Convolution& c = work.c;
  const Window& w = c.w;
  const int64_t x = w.batch * w.in_positions() * w.channels * work.e.bytes;
  const int64_t y = w.batch * w.out_positions() * c.out_channels * work.e.bytes;
  const int64_t filter = w.window_positions() * c.in_group * c.out_channels * work.e.bytes;
  TunedWork tuned;
  tuned.name = "convolution";
  for (int i = 0; i < 2; ++i)
    tuned.name += " " + std::to_string(w.size[i]) + "/" + std::to_string(w.stride[i]) + "/" +
                  std::to_string(w.dilation[i]);
  tuned.sizes = {w.batch * w.out_positions(), c.in_group, c.out_group, c.groups};
  switch (work.direction) {
    case Direction::forward:
      tuned.name += " forward";
      tuned.input_bytes = {x, filter}, tuned.output_bytes = y;
      break;
    case Direction::to_input:
      tuned.name += " to input";
      tuned.input_bytes = {filter, y}, tuned.output_bytes = x;
      break;
    case Direction::to_filter:
      tuned.name += " to filter";
      tuned.input_bytes = {x, y}, tuned.output_bytes = filter;
      break;
  }
  return tuned;
}

using Add = std::function<hr_code(const ConvolutionWork&, Sequence*)>;
using NamedVariants = std::vector<std::pair<std::string, Add>>;

// The first is the built-in choice.
NamedVariants variants_for_cpu(hr_request* r, const ConvolutionWork& work) {
  const Device& device = device_of(r);
  const auto [rows, products] = cpu_rows(work);
  const int64_t columns = work.window().columns;
  const CpuTile first = cpu_tile(device, work.e, rows, columns, products);
  NamedVariants variants;
  auto add = [&](const CpuTile& tile) {
    variants.emplace_back(tile.name(), [r, tile](const ConvolutionWork& w, Sequence* s) {
      return add_for_cpu(r, w, tile, s);
    });
  };
  add(first);
  CpuTile other = first;
  other.vectors = 3 - first.vectors;  // one, or two
  if (columns > work.e.lanes) add(cut_rows(other, device, work.e, rows, columns, products));
  return variants;
}

NamedVariants variants_for_gpu(hr_request* r, const ConvolutionWork& work) {
  const auto [rows, products] = gpu_rows(work);
  const bool aligned = is_aligned(work);
  const Device& device = device_of(r);
  const GpuTile first = gpu_tile(device, work.e, aligned, rows, work.window().columns, products);
  NamedVariants variants;
  auto add = [&](const GpuTile& tile) {
    variants.emplace_back(
        std::to_string(tile.side),
        [r, tile](const ConvolutionWork& w, Sequence* s) { return add_for_gpu(r, w, tile, s); });
  };
  add(first);
  for (const GpuTile& tile : kGpuTiles)
    if (tile.side != first.side && tile.suits(device, work.e, aligned)) add(tile);
  return variants;
}

}  // namespace

bool is_product_of_planes(const Device& device, const Convolution& c, Direction direction,
                          const EpilogueStep& epilogue) {
  // Few pixels of an image leave tiles empty; rows that are not in fours are slow to read.
  const int64_t positions = c.w.out_positions();
  return !device.traits.is_cpu && direction != Direction::to_filter && epilogue.empty() &&
         is_product(c) && positions >= 128 && positions % 4 == 0;
}

hr_code add_product_of_planes(hr_request* r, const GemmElement& e, const Convolution& c,
                              Direction direction, const ConvolutionPlaces& at, Sequence* s) {
  const bool forward = direction == Direction::forward;
  Gemm g;
  g.m = forward ? c.out_channels : c.w.channels;
  g.k = forward ? c.w.channels : c.out_channels;
  g.n = c.w.out_positions();
  g.a = at.filter, g.b = forward ? at.x : at.y, g.c = forward ? at.y : at.x;
  g.transpose_a = forward;
  g.batch = {{c.w.batch, 0, g.k * g.n}};
  return add_gemm(r, e, g, s);
}

hr_code add_convolution(hr_request* r, const GemmElement& e, const Convolution& c,
                        Direction direction, const ConvolutionPlaces& at,
                        const EpilogueStep& epilogue, Sequence* s) {
  const ConvolutionWork work{e, c, direction, at, epilogue};
  if (is_product(c)) return add_product(r, work, s);
  const NamedVariants named =
      device_of(r).traits.is_cpu ? variants_for_cpu(r, work) : variants_for_gpu(r, work);
  size_t chosen = 0;
  if (e.bytes == 4) {
    const ConvolutionWork alone = work_alone(work);
    std::vector<Variant> trials;
    for (const auto& [name, add] : named)
      trials.push_back({name, [&alone, &add = add](Sequence* to) { return add(alone, to); }});
    chosen = choose_variant(r, tuned_work(work), trials);
  }
  return named[chosen].second(work, s);
}

}  // namespace hr::cl
