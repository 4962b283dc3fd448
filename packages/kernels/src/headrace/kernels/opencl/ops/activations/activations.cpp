// Activation functions and their gradients: Relu, Elu, Softplus, ReluGrad, ...
#include "codegen/elementwise.hpp"
#include "codegen/op_program.hpp"
#include "library/constraints.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"

namespace hr::cl {
namespace {

hr_code prepare_function(void*, hr_request* r) {
  HR_APPLY_RULE(unchanged, r);
  return plan_instruction(r);
}

hr_code prepare_gradient(void*, hr_request* r) {
  HR_APPLY_RULE(merge, r);
  return plan_instruction(r);
}

#define FLOATS "T=" HR_FLOATS

constexpr KernelRegistration function(const char* op) {
  return kernel(op, FLOATS, prepare_function).reuses(0);
}
constexpr KernelRegistration gradient(const char* op) {
  return kernel(op, FLOATS, prepare_gradient).reuses(0, 1);
}

}  // namespace

HR_KERNELS = {
    kernel("Relu", FLOATS "|int64", prepare_function).reuses(0),
    function("Relu6"),
    function("LeakyRelu"),
    function("Elu"),
    function("Selu"),
    function("Softplus"),
    function("Softsign"),
    gradient("ReluGrad"),
    gradient("Relu6Grad"),
    gradient("LeakyReluGrad"),
    gradient("EluGrad"),
    gradient("SeluGrad"),
    gradient("SoftplusGrad"),
    gradient("SoftsignGrad"),
};

}  // namespace hr::cl
