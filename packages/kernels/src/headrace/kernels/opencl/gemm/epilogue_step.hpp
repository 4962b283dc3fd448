// The epilogue of a product, as its kernels take it: sources/gemm/epilogue.cl.
#ifndef HEADRACE_OPENCL_GEMM_EPILOGUE_STEP_HPP
#define HEADRACE_OPENCL_GEMM_EPILOGUE_STEP_HPP

#include <string>

#include "gemm/element.hpp"
#include "launch/sequence.hpp"
#include "library/epilogue.hpp"

namespace hr::cl {

struct EpilogueStep {
  Epilogue epilogue;
  Place scales{}, shifts{};  // vectors over columns, of what is computed with

  bool empty() const {
    return !epilogue.bias && !epilogue.batch_norm && epilogue.activation == Activation::none;
  }
  // To append to the defines of a kernel.
  std::string defines() const {
    if (empty()) return "";
    const bool scales_too = epilogue.batch_norm;
    return " -DSHIFTS=" + std::to_string(epilogue.bias || scales_too) +
           " -DSCALES=" + std::to_string(scales_too) +
           " -DACTIVATION=" + std::to_string(int(epilogue.activation));
  }
  // Adds a launch with the epilogue's arguments after the others.
  template <class... Args>
  void add_launch(Sequence* s, const Kernel& kernel, const Grid& grid, const Args&... args) const {
    if (empty()) s->add(kernel, grid, args...);
    else s->add(kernel, grid, args..., scales, shifts, epilogue.leaky_alpha);
  }
};

// Reads the epilogue of a fused node whose result has so many channels, and appends what computes
// its vectors.
inline hr_code read_epilogue_step(hr_request* r, const GemmElement& e, int64_t channels,
                                  EpilogueStep* step, Sequence* s) {
  if (hr_code code = read_epilogue(r, channels, &step->epilogue)) return code;
  step->scales = step->shifts = Place::input(2);
  if (!step->epilogue.batch_norm) return HR_OK;
  const Kernel* kernel;
  if (hr_code code = find(r, "gemm/factors.cl", e.define, "normalising_factors", &kernel))
    return code;
  step->scales = s->reserve(channels * e.real_bytes);
  step->shifts = s->reserve(channels * e.real_bytes);
  s->add(*kernel, Grid::of(size_t(channels), 64), Place::input(2), Place::input(3), Place::input(4),
         Place::input(5), step->scales, step->shifts, int32_t(channels), step->epilogue.epsilon);
  return HR_OK;
}

static_assert(int(Activation::none) == 0 && int(Activation::relu) == 1 &&
                  int(Activation::relu6) == 2 && int(Activation::elu) == 3 &&
                  int(Activation::tanh) == 4 && int(Activation::sigmoid) == 5 &&
                  int(Activation::leaky_relu) == 6,
              "sources/gemm/epilogue.cl has these numbers");

}  // namespace hr::cl

#endif
