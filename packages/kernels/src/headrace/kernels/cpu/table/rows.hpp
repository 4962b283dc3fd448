// How a family writes its rows of the kernel table.
//
// <family>.cpp ends in
//
//     HR_ROWS(family) = {
//         row("Neg", "T=" HR_NUMBERS, prepare_neg).reuses(0),
//         row("Reshape", nullptr, prepare_reshape).is(HR_KERNEL_VIEW).constant(1),
//     };
//     HR_ROWS_END(family)
//
// and families.def names the family. One row covers all dtypes of its constraint; prepare
// chooses the function for what dtype and shapes decide (hr_request.compute).
#ifndef HEADRACE_CPU_ROWS_HPP
#define HEADRACE_CPU_ROWS_HPP

#include "headrace/kernel.h"

namespace hr {

using Prepare = hr_code (*)(void* state, hr_request* request);

struct Row : hr_kernel {
  constexpr Row is(uint32_t more) const {
    Row row = *this;
    row.flags |= more;
    return row;
  }
  // Arguments (bits by position in the signature) whose values prepare needs.
  template <class... Ints> constexpr Row constant(Ints... arguments) const {
    Row row = *this;
    ((row.constant_inputs |= uint64_t(1) << arguments), ...);
    return row;
  }
  // Arguments whose values compute reads where prepare does not know them; `shapes` says which of
  // them decide an output's shape.
  template <class... Ints> constexpr Row values(Ints... arguments) const {
    Row row = *this;
    ((row.value_inputs |= uint64_t(1) << arguments), ...);
    return row;
  }
  constexpr Row shaped_by(uint64_t (*shapes)(const hr_node*, const hr_tensor* const*)) const {
    Row row = *this;
    row.shape_inputs = shapes;
    return row;
  }
  // Arguments whose memory output 0 may take.
  template <class... Ints> constexpr Row reuses(Ints... arguments) const {
    Row row = *this;
    ((row.reuse_inputs |= uint64_t(1) << arguments), ...);
    return row;
  }
  constexpr Row with_state(hr_code (*make)(hr_node*, void**), void (*end)(void*)) const {
    Row row = *this;
    row.create = make;
    row.destroy = end;
    return row;
  }
  constexpr Row with_priority(int32_t priority) const {
    Row row = *this;
    row.priority = priority;
    return row;
  }
};

// Stands in a row whose prepare always answers with a compute of its own, or which is a view.
inline hr_code no_compute(hr_ctx* ctx, void*, void*, const hr_tensor* const*, hr_tensor* const*,
                          void*) {
  return hr_ctx_fail(ctx, HR_INTERNAL, "prepare chose no compute function");
}

constexpr Row row(const char* op, const char* constraint, Prepare prepare,
                  hr_compute compute = no_compute) {
  Row row{};
  row.op = op;
  row.device_type = "CPU";
  row.constraint = constraint;
  row.prepare = prepare;
  row.compute = compute;
  return row;
}

// A plan that a family allocates with new.
template <class Plan> void destroy_plan(void* plan) { delete static_cast<Plan*>(plan); }

template <class Plan> Plan* keep_plan(hr_request* request, Plan* plan) {
  request->plan = plan;
  request->destroy_plan = destroy_plan<Plan>;
  return plan;
}

}  // namespace hr

static_assert(sizeof(hr::Row) == sizeof(hr_kernel), "a row is an hr_kernel and nothing more");

#define HR_ROWS(family) static constexpr hr::Row family##_rows[]
#define HR_ROWS_END(family)                                            \
  extern "C" {                                                         \
  extern const hr_kernel* const hr_##family##_kernels;                 \
  extern const int hr_##family##_count;                                \
  const hr_kernel* const hr_##family##_kernels = family##_rows;        \
  const int hr_##family##_count = int(sizeof family##_rows / sizeof family##_rows[0]); \
  }

#endif
