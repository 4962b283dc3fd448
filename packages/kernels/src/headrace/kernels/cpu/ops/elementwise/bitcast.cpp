// Bitcast: the same memory under another dtype.
#include "library/registration.hpp"
#include "library/shape_rules.hpp"

namespace hr {
namespace {

hr_code prepare_bitcast(void*, hr_request* request) { return hr_shape_bitcast(request); }

}  // namespace

HR_KERNELS = {
    kernel("Bitcast", nullptr, prepare_bitcast).is(HR_KERNEL_VIEW).reuses(0),
};

}  // namespace hr
