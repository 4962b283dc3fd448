// A convolution, by the kernels of one family and in tiles of one kind.
#ifndef HEADRACE_OPENCL_OPS_CONVOLUTION_CONVOLUTION_VARIANTS_HPP
#define HEADRACE_OPENCL_OPS_CONVOLUTION_CONVOLUTION_VARIANTS_HPP

#include <utility>

#include "gemm/gemm.hpp"
#include "gemm/parts.hpp"
#include "gemm/tiles.hpp"
#include "ops/convolution/convolution_steps.hpp"
#include "ops/convolution/window_argument.hpp"

namespace hr::cl {

// What its steps are made from.
struct ConvolutionWork {
  const GemmElement& e;
  const Convolution& c;
  convolution::Direction direction;
  ConvolutionPlaces at;
  EpilogueStep epilogue;

  bool forward() const { return direction == convolution::Direction::forward; }
  bool to_filter() const { return direction == convolution::Direction::to_filter; }

  WindowArgument window() const {
    WindowArgument w = window_argument(c.w, c.w.channels, c.out_channels);
    w.depth = int32_t(c.in_group);
    w.columns = int32_t(c.out_group);
    if (!forward() && !to_filter()) {  // from y to x
      std::swap(w.in_h, w.out_h);
      std::swap(w.in_w, w.out_w);
      std::swap(w.in_pitch, w.out_pitch);
      std::swap(w.depth, w.columns);
    }
    return w;
  }

  // The result is cut by phase (position modulo the stride) going to the input.
  int64_t phases() const { return forward() || to_filter() ? 1 : c.w.stride[0] * c.w.stride[1]; }
  int64_t pixels_of_phase() const {
    if (forward() || to_filter()) return c.w.batch * c.w.out_positions();
    return c.w.batch * divide_up(c.w.in[0], c.w.stride[0]) * divide_up(c.w.in[1], c.w.stride[1]);
  }
};

// The rows of the product that the work is: pixels, or elements of a filter per tap or in all; and
// how many such products there are.
struct ProductRows {
  int64_t rows, products;
};
ProductRows cpu_rows(const ConvolutionWork& work);
ProductRows gpu_rows(const ConvolutionWork& work);

hr_code add_for_cpu(hr_request* request, const ConvolutionWork& work, const CpuTile& tile,
                    Sequence* sequence);

// Whether all that is moved four elements at a time begins at a multiple of four.
bool is_aligned(const ConvolutionWork& work);
hr_code add_for_gpu(hr_request* request, const ConvolutionWork& work, const GpuTile& tile,
                    Sequence* sequence);

}  // namespace hr::cl

#endif
