// How a file registers its kernels.
//
// A file of ops/ ends in
//
//     HR_KERNELS = {
//         kernel("Neg", "T=" HR_NUMBERS, prepare_neg).reuses(0),
//         kernel("Reshape", nullptr, prepare_reshape).is(HR_KERNEL_VIEW).constant(1),
//     };
//
// and needs no other registration. One registration covers all dtypes of its constraint; prepare
// chooses the function for what dtype and shapes decide (hr_request.compute).
#ifndef HEADRACE_LIBRARY_REGISTRATION_HPP
#define HEADRACE_LIBRARY_REGISTRATION_HPP

#include <initializer_list>
#include <vector>

#include "headrace/kernel.h"

namespace hr {

using Prepare = hr_code (*)(void* state, hr_request* request);

struct KernelRegistration : hr_kernel {
  constexpr KernelRegistration is(uint32_t more) const {
    KernelRegistration changed = *this;
    changed.flags |= more;
    return changed;
  }
  // Arguments (bits by position in the signature) whose values prepare needs.
  template <class... Ints> constexpr KernelRegistration constant(Ints... arguments) const {
    KernelRegistration changed = *this;
    ((changed.constant_inputs |= uint64_t(1) << arguments), ...);
    return changed;
  }
  // Arguments whose values compute reads where prepare does not know them; `shapes` says which of
  // them decide an output's shape.
  template <class... Ints> constexpr KernelRegistration values(Ints... arguments) const {
    KernelRegistration changed = *this;
    ((changed.value_inputs |= uint64_t(1) << arguments), ...);
    return changed;
  }
  constexpr KernelRegistration shaped_by(uint64_t (*shapes)(const hr_node*,
                                                            const hr_tensor* const*)) const {
    KernelRegistration changed = *this;
    changed.shape_inputs = shapes;
    return changed;
  }
  // Arguments whose memory output 0 may take.
  template <class... Ints> constexpr KernelRegistration reuses(Ints... arguments) const {
    KernelRegistration changed = *this;
    ((changed.reuse_inputs |= uint64_t(1) << arguments), ...);
    return changed;
  }
  // Arguments of kernels of devices that compute reads in host memory, besides those that are
  // always there: strings, resources, variants, references, constant and value inputs.
  template <class... Ints> constexpr KernelRegistration host(Ints... arguments) const {
    KernelRegistration changed = *this;
    ((changed.hr_kernel::host_inputs |= uint64_t(1) << arguments), ...);
    return changed;
  }
  // Outputs that compute writes in host memory.
  template <class... Ints> constexpr KernelRegistration outputs_on_host(Ints... arguments) const {
    KernelRegistration changed = *this;
    ((changed.hr_kernel::host_outputs |= uint64_t(1) << arguments), ...);
    return changed;
  }
  constexpr KernelRegistration with_state(hr_code (*make)(hr_node*, void**),
                                          void (*end)(void*)) const {
    KernelRegistration changed = *this;
    changed.create = make;
    changed.destroy = end;
    return changed;
  }
  constexpr KernelRegistration with_priority(int32_t priority) const {
    KernelRegistration changed = *this;
    changed.priority = priority;
    return changed;
  }
};

// The compute function of a kernel whose prepare always sets another one, and of views.
inline hr_code no_compute(hr_ctx* ctx, void*, void*, const hr_tensor* const*, hr_tensor* const*,
                          void*) {
  return hr_ctx_fail(ctx, HR_INTERNAL, "prepare chose no compute function");
}

// The kernel table of the library fills in the type of its devices.
constexpr KernelRegistration kernel(const char* op, const char* constraint, Prepare prepare,
                                    hr_compute compute = no_compute) {
  KernelRegistration made{};
  made.op = op;
  made.constraint = constraint;
  made.prepare = prepare;
  made.compute = compute;
  return made;
}

// Adds kernels to the table when the library is loaded.
struct RegisteredKernels {
  RegisteredKernels(std::initializer_list<KernelRegistration> kernels);
};

// Adds ops that a fused kernel of this library can take in.
struct RegisteredFusibleOps {
  explicit RegisteredFusibleOps(const std::vector<hr_fusible_op>& ops);
};

// A plan allocated with new.
template <class Plan> void destroy_plan(void* plan) { delete static_cast<Plan*>(plan); }

template <class Plan> Plan* keep_plan(hr_request* request, Plan* plan) {
  request->plan = plan;
  request->destroy_plan = destroy_plan<Plan>;
  return plan;
}

}  // namespace hr

static_assert(sizeof(hr::KernelRegistration) == sizeof(hr_kernel), "no members of its own");

#define HR_KERNELS static const ::hr::RegisteredKernels registered_kernels
#define HR_FUSIBLE_OPS static const ::hr::RegisteredFusibleOps registered_fusible_ops

#endif
