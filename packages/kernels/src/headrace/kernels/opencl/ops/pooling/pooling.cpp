// Max and average pooling in two dimensions, and their gradients.
#include <memory>

#include "library/pooling.hpp"
#include "library/registration.hpp"
#include "ops/convolution/layout.hpp"
#include "ops/convolution/window_argument.hpp"

namespace hr::cl {
namespace {

using pooling::Kind;

const char* function_of(Kind kind) {
  switch (kind) {
    case Kind::max: return "max_pool";
    case Kind::average: return "average_pool";
    case Kind::max_gradient: return "max_pool_gradient";
    default: return "average_pool_gradient";
  }
}

// Appends the pooling of x, or the gradient from x and y (or y alone), to `to`.
hr_code add_pooling(hr_request* r, const GemmElement& e, Kind kind, const Window& window, Place x,
                    Place y, Place to, Sequence* s) {
  const bool cpu = device_of(r).traits.is_cpu;
  const WindowArgument w = window_argument(window, window.channels, window.channels);
  // Windows that do not overlap: each writes what no other does.
  const bool apart = cpu && kind == Kind::max_gradient && window.stride[0] >= window.size[0] &&
                     window.stride[1] >= window.size[1];
  const Kernel* kernel;
  if (hr_code code = find(r, cpu ? "pooling/pool_cpu.cl" : "pooling/pool_gpu.cl", e.define,
                          apart ? "max_pool_gradient_apart" : function_of(kind), &kernel))
    return code;
  const bool backward = !pooling::is_forward(kind);
  const int64_t lines = window.batch * (backward ? window.in[0] : window.out[0]);
  const int64_t pixels = lines * (backward ? window.in[1] : window.out[1]);
  constexpr size_t kItems = 64;  // of a work-group of the GPU family
  Grid grid = cpu ? Grid::of(size_t(lines), 1) : Grid::of(size_t(pixels * window.channels), kItems);
  if (apart) grid = Grid::of(size_t(window.batch * window.out[0]), 1);
  else if (cpu && kind == Kind::max_gradient)
    grid = Grid::of(size_t(divide_up(window.channels, e.lanes)), size_t(window.batch), 1, 1);
  if (kind == Kind::max_gradient && !cpu) {
    const Kernel* find_winners;
    if (hr_code code = find(r, "pooling/pool_gpu.cl", e.define, "find_winners", &find_winners))
      return code;
    const int64_t outs = window.batch * window.out_positions() * window.channels;
    const Place winners = s->reserve(outs * int64_t(sizeof(int32_t)));
    s->add(*find_winners, Grid::of(size_t(outs), kItems), x, winners, w);
    s->add(*kernel, grid, winners, y, to, w);
  } else if (kind == Kind::max_gradient) s->add(*kernel, grid, x, y, to, w);
  else s->add(*kernel, grid, backward ? y : x, to, w);
  return HR_OK;
}

template <Kind kind, int first_vector = 0> hr_code prepare(void*, hr_request* r) {
  pooling::Node node;
  if (hr_code code = pooling::read_node(r, kind, first_vector, &node)) return code;
  GemmElement e;
  if (hr_code code = element_of(r, r->outputs[0]->dtype, &e)) return code;
  auto sequence = std::make_unique<Sequence>();
  Sequence* s = sequence.get();
  const Window& w = node.w;
  const int64_t ins = w.batch * w.in_positions() * w.channels;
  const int64_t outs = w.batch * w.out_positions() * w.channels;
  if (ins == 0 || outs == 0) {
    s->add_zeros(Place::output(0), hr_elements(r->outputs[0]) * e.bytes);
    return run_sequence(r, std::move(sequence));
  }
  if (!fits_kernels(w, 1))
    return hr_request_fail(r, HR_UNIMPLEMENTED, "%s of %s: a tensor has too many elements",
                           r->node->op, ShapeText(&node.x).text);
  const bool first = w.channels_first, backward = !pooling::is_forward(kind);
  Images x{Place::input(0), w.batch, w.in_positions(), w.channels};
  Images y{backward ? Place::input(node.dy) : Place::output(0), w.batch, w.out_positions(),
           w.channels};
  Images written = backward ? x : y;
  written.place = Place::output(0);
  if (kind != Kind::average_gradient) {
    if (hr_code code = read_images(r, e, first, &x, s)) return code;
  }
  if (backward) {
    if (hr_code code = read_images(r, e, first, &y, s)) return code;
  }
  write_images(e, first, &written, s);
  if (hr_code code = add_pooling(r, e, kind, w, x.place, y.place, written.place, s)) return code;
  if (hr_code code = finish_images(r, e, first, written, Place::output(0), s)) return code;
  return run_sequence(r, std::move(sequence));
}

}  // namespace

HR_KERNELS = {
    kernel("MaxPool", "T=float|double|half", prepare<Kind::max>),
    kernel("MaxPoolV2", "T=float|double|half", prepare<Kind::max, 1>).constant(1, 2),
    kernel("MaxPoolGrad", "T=float|double|half", prepare<Kind::max_gradient>),
    kernel("MaxPoolGradV2", "T=float|double|half", prepare<Kind::max_gradient, 3>).constant(3, 4),
    kernel("AvgPool", "T=float|double|half", prepare<Kind::average>),
    kernel("AvgPoolGrad", "T=float|double|half", prepare<Kind::average_gradient>).constant(0),
};

}  // namespace hr::cl
