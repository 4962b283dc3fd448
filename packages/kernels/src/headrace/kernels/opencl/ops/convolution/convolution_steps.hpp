// The steps of convolutions and their gradients, on images in NHWC.
#ifndef HEADRACE_OPENCL_OPS_CONVOLUTION_CONVOLUTION_STEPS_HPP
#define HEADRACE_OPENCL_OPS_CONVOLUTION_CONVOLUTION_STEPS_HPP

#include "gemm/element.hpp"
#include "gemm/epilogue_step.hpp"
#include "launch/sequence.hpp"
#include "library/convolution.hpp"

namespace hr::cl {

// One of x, filter and y is written: that which the direction says.
struct ConvolutionPlaces {
  Place x, filter, y;
};

// An epilogue that is not empty is of a convolution forward.
hr_code add_convolution(hr_request* request, const GemmElement& element, const Convolution& c,
                        convolution::Direction direction, const ConvolutionPlaces& places,
                        const EpilogueStep& epilogue, Sequence* sequence);

// Whether images in NCHW are best multiplied as they are, not transposed: on GPUs, if every pixel
// is by itself. The result has no epilogue, which is of columns.
bool is_product_of_planes(const Device& device, const Convolution& c,
                          convolution::Direction direction, const EpilogueStep& epilogue);
hr_code add_product_of_planes(hr_request* request, const GemmElement& element, const Convolution& c,
                              convolution::Direction direction, const ConvolutionPlaces& places,
                              Sequence* sequence);

hr_code add_depthwise(hr_request* request, const GemmElement& element, const Convolution& c,
                      convolution::Direction direction, const ConvolutionPlaces& places,
                      Sequence* sequence);

}  // namespace hr::cl

#endif
