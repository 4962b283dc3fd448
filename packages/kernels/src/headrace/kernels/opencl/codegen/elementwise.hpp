// Kernels that compute each element of one output from elements of operands that broadcast to it.
//
// The text is generated for the computation, the dtypes and how each operand moves, but for no
// sizes: those are arguments, so a program serves all shapes.
#ifndef HEADRACE_OPENCL_CODEGEN_ELEMENTWISE_HPP
#define HEADRACE_OPENCL_CODEGEN_ELEMENTWISE_HPP

#include <string>
#include <vector>

#include "codegen/element.hpp"
#include "codegen/walk.hpp"
#include "headrace/kernel.h"
#include "launch/launch.hpp"

namespace hr::cl {

// An elementwise kernel for operands of given shapes, ready to be launched.
class ElementwiseKernel {
 public:
  // Operand k of the walk is x<k> of the element. If the walk has one operand more, that is the
  // output, of which the elements that it walks are written. The walk is not empty. Returns "", or
  // why there is no such kernel.
  std::string prepare(Device& device, const Element& element, Walk walk);
  hr_code launch(hr_ctx* ctx, const void* const* inputs, void* output) const;

 private:
  struct Shape {
    Grid grid;
    std::vector<int64_t> wide;
    std::vector<int32_t> narrow;  // used where it is not empty
    Argument argument() const;
  };
  std::string for_cpu(const Traits& traits, const Element& element, const Walk& walk);
  std::string for_gpu(const Element& element, const Walk& walk);

  const Kernel* kernel_ = nullptr;
  size_t inputs_ = 0;
  Shape shape_;
  // Of kernels that load quads: for memory that is not aligned for them, one element by item.
  size_t alignment_ = 0;
  std::string unaligned_text_;
  Shape unaligned_;
};

// Plans output 0 of a node, whose shape is set. Operand k of the walk, and x<k> of the element, is
// the tensor of input inputs[k]. Sets plan and compute.
hr_code plan_elementwise(hr_request* request, const Element& element, const Walk& walk,
                         const std::vector<int32_t>& inputs);
// The operands are all inputs, and broadcast to the output.
hr_code plan_elementwise(hr_request* request, const Element& element);
// The same, of an op that is an instruction of programs.
hr_code plan_instruction(hr_request* request);

}  // namespace hr::cl

#endif
