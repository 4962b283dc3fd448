// L2Loss: half the squared norm.
#include <algorithm>

#include "codegen/fold_text.hpp"
#include "library/constraints.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"

namespace hr::cl {
namespace {

hr_code prepare_l2_loss(void*, hr_request* r) {
  HR_APPLY_RULE(scalar, r);
  bool reduced[HR_MAX_RANK];
  std::fill_n(reduced, HR_MAX_RANK, true);
  return plan_fold(r, "L2Loss", reduced);
}

}  // namespace

HR_KERNELS = {
    kernel("L2Loss", "T=" HR_FLOATS, prepare_l2_loss),
};

}  // namespace hr::cl
