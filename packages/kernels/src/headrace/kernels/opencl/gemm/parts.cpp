#include "gemm/parts.hpp"

#include <string>

namespace hr::cl {

hr_code add_sum_of_parts(hr_request* r, const GemmElement& e, const PartialSums& p, Sequence* s) {
  const Kernel* kernel;
  const size_t products = size_t(p.products);
  if (device_of(r).traits.is_cpu) {
    if (hr_code code = find(r, "gemm/parts_cpu.cl", e.define, "sum_parts", &kernel)) return code;
    constexpr int64_t kElements = 2048;  // ELEMENTS of parts_cpu.cl
    s->add(*kernel, Grid::of(size_t(divide_up(p.size, kElements)), products, 1, 1), p.parts, p.sums,
           p.size, int32_t(p.count));
    return HR_OK;
  }
  // Many parts of an element are shared by items: one alone would wait for all of them.
  constexpr int64_t kMany = 16;
  const size_t lines = p.count < kMany ? 1 : 8;
  const size_t elements = lines == 1 ? 64 : 32;  // ELEMENTS of parts_gpu.cl
  const std::string defines =
      e.define + ("-DLINES=" + std::to_string(lines)) + p.epilogue.defines();
  if (hr_code code = find(r, "gemm/parts_gpu.cl", defines, "sum_parts", &kernel)) return code;
  p.epilogue.add_launch(s, *kernel, Grid::of(size_t(p.size), lines, products, elements, lines, 1),
                        p.parts, p.sums, p.size, int32_t(p.count), int32_t(p.columns));
  return HR_OK;
}

}  // namespace hr::cl
