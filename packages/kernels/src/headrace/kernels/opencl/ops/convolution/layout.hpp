// Images in NCHW, which kernels see in NHWC: transposed before and after.
#ifndef HEADRACE_OPENCL_OPS_CONVOLUTION_LAYOUT_HPP
#define HEADRACE_OPENCL_OPS_CONVOLUTION_LAYOUT_HPP

#include <cstdint>

#include "gemm/element.hpp"
#include "launch/sequence.hpp"

namespace hr::cl {

// An image tensor of a node.
struct Images {
  Place place;
  int64_t batch, positions, channels;
};

// Appends the transposition of images that are read, if they are in NCHW, and changes their place
// to that in NHWC.
hr_code read_images(hr_request* request, const GemmElement& element, bool channels_first,
                    Images* images, Sequence* sequence);

// Changes the place of images that are written in NCHW to one for NHWC. finish_images, once they
// are written, appends the transposition into the place they had.
void write_images(const GemmElement& element, bool channels_first, Images* images,
                  Sequence* sequence);
hr_code finish_images(hr_request* request, const GemmElement& element, bool channels_first,
                      const Images& images, Place original, Sequence* sequence);

}  // namespace hr::cl

#endif
