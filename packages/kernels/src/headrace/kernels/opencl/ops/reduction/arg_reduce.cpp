// ArgMax and ArgMin: the index of the first extreme along a dimension.
#include <cstring>

#include "codegen/element.hpp"
#include "codegen/reduction.hpp"
#include "library/constraints.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"

namespace hr::cl {
namespace {

// A value that is not a number is no extreme, unless there are no others, as in the CPU's library.
Folding first_extreme(hr_dtype dtype, hr_dtype index, bool max) {
  const std::string type = value_type(dtype);
  Folding f;
  // Before any value, `at` is -1. Of equal values the one that comes first counts, whatever the
  // order in which they are folded.
  f.functions =
      "typedef struct { " + type +
      " value; Index at; } Acc;\ntypedef Acc Total;\n"
      "static inline Acc hr_start(void) { Acc a; a.value = 0; a.at = -1; return a; }\n"
      "static inline Acc hr_fold(Acc a, Acc b) {\n"
      "  if (a.at < 0 || b.at < 0) return a.at < 0 ? b : a;\n"
      "  const int better = " +
      std::string(max ? "b.value > a.value" : "b.value < a.value") +
      " || (a.value != a.value && b.value == b.value);\n"
      "  const int same = b.value == a.value || (a.value != a.value && b.value != b.value);\n"
      "  return better || (same && b.at < a.at) ? b : a;\n}\n"
      "static inline Total hr_total(Acc a) { return a; }\n"
      "static inline Total hr_fold_totals(Total a, Total b) { return hr_fold(a, b); }\n";
  f.value = "Acc v; v.value = " + loaded(dtype, "p0[at]") + "; v.at = nth; ";
  f.memory = {{Memory::kInput, 0, 0, storage_type(dtype), "p0"},
              {Memory::kOutput, 0, 0, storage_type(index), "out"}};
  f.finish = std::string("out[k] = (") + storage_type(index) + ")total.at;\n";
  f.total_size = 16;
  return f;
}

hr_code compute_nothing(hr_ctx*, void*, void*, const hr_tensor* const*, hr_tensor* const*, void*) {
  return HR_OK;
}

template <bool max> hr_code prepare(void*, hr_request* r) {
  HR_APPLY_RULE(arg_reduce, r);
  const hr_tensor* x = r->inputs[0];
  if (const char* why = why_not(device_of(r), x->dtype))
    return hr_request_fail(r, HR_UNIMPLEMENTED, "%s", why);
  const int64_t axis = axis_of(int_at(r->inputs[1], 0), x->rank);
  if (hr_elements(r->outputs[0]) == 0) {
    r->compute = compute_nothing;
    return HR_OK;
  }
  if (axis < 0 || x->dims[axis] == 0)
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "Reduction axis %lld is empty or out of range in shape %s",
                           (long long)int_at(r->inputs[1], 0), (const char*)ShapeText(x));
  bool reduced[HR_MAX_RANK] = {};
  reduced[axis] = true;
  return plan_reduction(r, first_extreme(x->dtype, r->outputs[0]->dtype, max),
                        runs_of(x->rank, x->dims, reduced));
}

#define TYPES "T=" HR_FLOATS "|int64;output_type=int32|int64|int16"

}  // namespace

HR_KERNELS = {
    kernel("ArgMax", TYPES, prepare<true>).constant(1),
    kernel("ArgMin", TYPES, prepare<false>).constant(1),
};

}  // namespace hr::cl
