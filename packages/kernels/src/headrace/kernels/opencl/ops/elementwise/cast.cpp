// Cast between numbers and bool.
#include "codegen/elementwise.hpp"
#include "launch/launch.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"

namespace hr::cl {
namespace {

hr_code prepare_cast(void*, hr_request* r) {
  HR_APPLY_RULE(unchanged, r);
  return plan_elementwise(r, cast_element(r->inputs[0]->dtype, r->outputs[0]->dtype,
                                          hr_attr_bool(r->node, "Truncate", 0) != 0));
}

#define TYPES \
  "float|double|half|bfloat16|int8|int16|int32|int64|uint8|uint16|uint32|uint64|bool"

}  // namespace

HR_KERNELS = {
    kernel("Cast", "SrcT=" TYPES ";DstT=" TYPES, prepare_cast),
};

}  // namespace hr::cl
