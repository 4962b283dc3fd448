#include "codegen/fold_text.hpp"

#include <cstring>

#include "codegen/element.hpp"
#include "launch/launch.hpp"

namespace hr::cl {
namespace {

bool is_float(hr_dtype dtype) {
  return dtype == HR_DOUBLE || !std::strcmp(value_type(dtype), "float");
}

// What an extreme of nothing is.
std::string lowest(hr_dtype dtype, bool max) {
  if (is_float(dtype)) return max ? "-INFINITY" : "INFINITY";
  return max ? "LONG_MIN" : "LONG_MAX";
}

struct Parts {
  std::string acc, total;     // types
  std::string start, folded;  // of accumulators, over a and b
  std::string load = "x";     // an accumulator of value x
  std::string result = "total";
};

Parts parts_of(const Device& device, std::string_view op, hr_dtype dtype) {
  Parts p;
  p.acc = value_type(dtype);
  const bool sums = op == "Sum" || op == "Mean" || op == "EuclideanNorm" || op == "L2Loss";
  // Sums of many floats lose digits: the sums of blocks are added in double.
  p.total = sums && p.acc == "float" && device.traits.has_double ? "double" : p.acc;
  p.start = "0";
  p.folded = "a + b";
  if (op == "Mean")
    p.result = is_float(dtype) ? "total / (Total)s.folded" : "s.folded ? total / s.folded : 0";
  if (op == "EuclideanNorm") p.load = "x * x", p.result = "sqrt(total)";
  if (op == "L2Loss") p.load = "x * x", p.result = "total / 2";
  if (op == "Prod") p.start = "1", p.folded = "a * b";
  // The accumulator stays what is not a number.
  if (op == "Max")
    p.start = lowest(dtype, true),
    p.folded = is_float(dtype) ? "(a < b) | (b != b) ? b : a" : "max(a, b)";
  if (op == "Min")
    p.start = lowest(dtype, false),
    p.folded = is_float(dtype) ? "(b < a) | (b != b) ? b : a" : "min(a, b)";
  if (op == "All") p.start = "1", p.folded = "a & b", p.load = "(uchar)(x != 0)";
  if (op == "Any") p.folded = "a | b", p.load = "(uchar)(x != 0)";
  return p;
}

}  // namespace

Folding fold_of(const Device& device, std::string_view op, hr_dtype dtype) {
  const Parts p = parts_of(device, op, dtype);
  Folding f;
  f.functions = "typedef " + p.acc + " Acc;\ntypedef " + p.total + " Total;\n" +
                "static inline Acc hr_start(void) { return " + p.start + "; }\n" +
                "static inline Acc hr_fold(Acc a, Acc b) { return " + p.folded + "; }\n" +
                "static inline Total hr_total(Acc a) { return a; }\n" +
                "static inline Total hr_fold_totals(Total a, Total b) { return " + p.folded +
                "; }\n";
  f.value = "const Acc v = " + p.load + "; ";
  f.finish = std::string("out[k] = ") +
             stored(dtype, std::string("(") + value_type(dtype) + ")(" + p.result + ")") + ";\n";
  f.total_size = p.total == "double" ? 8 : hr_dtype_size(dtype) == 2 ? 4 : hr_dtype_size(dtype);
  return f;
}

Folding fold_of_input(const Device& device, std::string_view op, hr_dtype dtype) {
  Folding f = fold_of(device, op, dtype);
  f.value = std::string("const ") + value_type(dtype) + " x = " + loaded(dtype, "p0[at]") + "; " +
            f.value;
  f.memory = {{Memory::kInput, 0, 0, storage_type(dtype), "p0"},
              {Memory::kOutput, 0, 0, storage_type(dtype), "out"}};
  return f;
}

namespace {

hr_code compute_nothing(hr_ctx*, void*, void*, const hr_tensor* const*, hr_tensor* const*, void*) {
  return HR_OK;
}

}  // namespace

hr_code plan_fold(hr_request* r, std::string_view op, const bool* reduced) {
  const hr_tensor* x = r->inputs[0];
  if (const char* why = why_not(device_of(r), x->dtype))
    return hr_request_fail(r, HR_UNIMPLEMENTED, "%s", why);
  const int64_t results = hr_elements(r->outputs[0]);
  if (results == 0) {
    r->compute = compute_nothing;
    return HR_OK;
  }
  Runs runs = runs_of(x->rank, x->dims, reduced);
  if (hr_elements(x) == 0) {
    runs = Runs{};
    runs.inner = 0;
    runs.kept = results;
  }
  r->bytes_moved = double((hr_elements(x) + results) * hr_dtype_size(x->dtype));
  return plan_reduction(r, fold_of_input(device_of(r), op, x->dtype), runs);
}

}  // namespace hr::cl
