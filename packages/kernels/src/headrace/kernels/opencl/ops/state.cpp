// Additions to variables: AssignAdd, AssignSub, and those of resources.
#include "codegen/variable_update.hpp"
#include "library/constraints.hpp"
#include "library/registration.hpp"

namespace hr::cl {
namespace {

template <bool adds> hr_code prepare_assign(void*, hr_request* r) {
  const UpdateRule rule{{"var"}, {}, "", adds ? "var += grad;" : "var -= grad;"};
  return plan_update(r, rule, {1});
}

}  // namespace

HR_KERNELS = {
    kernel("AssignAdd", "T=" HR_FLOATS "|int64", prepare_assign<true>),
    kernel("AssignSub", "T=" HR_FLOATS "|int64", prepare_assign<false>),
    kernel("AssignAddVariableOp", "dtype=" HR_FLOATS "|int64", prepare_assign<true>),
    kernel("AssignSubVariableOp", "dtype=" HR_FLOATS "|int64", prepare_assign<false>),
};

}  // namespace hr::cl
