// Convolutions in two dimensions, grouped and depthwise, and their gradients.
#include <memory>

#include "library/attributes.hpp"
#include "library/registration.hpp"
#include "ops/convolution/convolution_steps.hpp"
#include "ops/convolution/layout.hpp"
#include "ops/convolution/window_argument.hpp"

namespace hr::cl {
namespace {

using convolution::Direction;

template <Direction direction, bool depthwise> hr_code prepare(void*, hr_request* r) {
  convolution::Node node;
  if (hr_code code = convolution::read_node(r, direction, depthwise, &node)) return code;
  GemmElement e;
  if (hr_code code = element_of(r, r->outputs[0]->dtype, &e)) return code;
  auto sequence = std::make_unique<Sequence>();
  Sequence* s = sequence.get();
  EpilogueStep epilogue;
  if (std::string_view(r->node->op) == "_FusedConv2D") {
    if (hr_code code = read_epilogue_step(r, e, node.c.out_channels, &epilogue, s)) return code;
    if (node.empty && hr_elements(r->outputs[0]))
      return hr_request_fail(r, HR_UNIMPLEMENTED, "%s of windows without elements", r->node->op);
  }
  if (node.empty) {
    s->add_zeros(Place::output(0), hr_elements(r->outputs[0]) * e.bytes);
    return run_sequence(r, std::move(sequence));
  }
  const Convolution& c = node.c;
  if (!fits_kernels(c.w, c.out_channels))
    return hr_request_fail(r, HR_UNIMPLEMENTED, "%s of %s and %s: a tensor has too many elements",
                           r->node->op, ShapeText(r->inputs[0]).text, ShapeText(r->inputs[1]).text);
  const bool first = c.w.channels_first;
  auto place = [](int input) { return input < 0 ? Place::output(0) : Place::input(input); };
  if (first && !depthwise && is_product_of_planes(device_of(r), c, direction, epilogue)) {
    const ConvolutionPlaces at{place(node.x), place(node.filter), place(node.y)};
    if (hr_code code = add_product_of_planes(r, e, c, direction, at, s)) return code;
    return run_sequence(r, std::move(sequence));
  }
  Images x{place(node.x), c.w.batch, c.w.in_positions(), c.w.channels};
  Images y{place(node.y), c.w.batch, c.w.out_positions(), c.out_channels};
  if (direction != Direction::to_input) {
    if (hr_code code = read_images(r, e, first, &x, s)) return code;
  } else {
    write_images(e, first, &x, s);
  }
  if (direction != Direction::forward) {
    if (hr_code code = read_images(r, e, first, &y, s)) return code;
  } else {
    write_images(e, first, &y, s);
  }
  const ConvolutionPlaces at{x.place, place(node.filter), y.place};
  if (hr_code code = depthwise ? add_depthwise(r, e, c, direction, at, s)
                               : add_convolution(r, e, c, direction, at, epilogue, s))
    return code;
  if (direction != Direction::to_filter) {
    const Images& written = direction == Direction::forward ? y : x;
    if (hr_code code = finish_images(r, e, first, written, Place::output(0), s)) return code;
  }
  return run_sequence(r, std::move(sequence));
}

constexpr auto forward = prepare<Direction::forward, false>;
constexpr auto to_input = prepare<Direction::to_input, false>;
constexpr auto to_filter = prepare<Direction::to_filter, false>;
constexpr auto depthwise_forward = prepare<Direction::forward, true>;
constexpr auto depthwise_to_input = prepare<Direction::to_input, true>;
constexpr auto depthwise_to_filter = prepare<Direction::to_filter, true>;

}  // namespace

HR_KERNELS = {
    kernel("Conv2D", "T=float|double|half", forward),
    kernel("_FusedConv2D", "T=float|double|half", forward),
    kernel("Conv2DBackpropInput", "T=float|double|half", to_input).constant(0),
    kernel("Conv2DBackpropInputV2", "T=float|double|half", to_input),
    kernel("Conv2DBackpropFilter", "T=float|double|half", to_filter).constant(1),
    kernel("Conv2DBackpropFilterV2", "T=float|double|half", to_filter),
    kernel("DepthwiseConv2dNative", "T=float|double|half", depthwise_forward),
    kernel("DepthwiseConv2dNativeBackpropInput", "T=float|double|half", depthwise_to_input)
        .constant(0),
    kernel("DepthwiseConv2dNativeBackpropFilter", "T=float|double|half", depthwise_to_filter)
        .constant(1),
};

}  // namespace hr::cl
