// _FusedElementwise runs a program of elementwise ops in one kernel; _FusedReduction also reduces
// the program's result over the last dimensions.
#include "codegen/elementwise.hpp"
#include "codegen/fold_text.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"

namespace hr::cl {
namespace {

using fused::Program;

template <bool reduces> hr_code create(hr_node* node, void** state) {
  auto* program = new Program;
  if (hr_code code = fused::read_program(node, reduces, program)) {
    delete program;
    return code;
  }
  *state = program;
  return HR_OK;
}

void destroy(void* state) { delete static_cast<Program*>(state); }

Element element_of_node(const void* state, const hr_node* node) {
  return element_of(*static_cast<const Program*>(state), node->input_dtypes, node->n_inputs);
}

hr_code prepare_elementwise(void* state, hr_request* r) {
  HR_APPLY_RULE(broadcast, r);
  return plan_elementwise(r, element_of_node(state, r->node));
}

// ---- with a reduction ---------------------------------------------------------------------------

// The element of an operand that takes part in the value at index `at`, element `nth` of row `k`.
std::string index_text(const hr_tensor& values, int32_t kept, const hr_tensor* operand) {
  Walk whole(&values);
  whole.add(operand);
  if (whole.is_whole(0)) return "at";
  if (whole.is_one(0)) return "0";
  // An operand of the rows alone, or of what is reduced alone.
  Walk rows = whole, row = whole;
  rows.rank = kept;
  row.rank = values.rank - kept;
  for (size_t d = 0; d < size_t(row.rank); ++d) {
    row.dims[d] = whole.dims[d + size_t(kept)];
    row.strides[0][d] = whole.strides[0][d + size_t(kept)];
  }
  if (row.is_one(0) && rows.is_whole(0)) return "k";
  if (rows.is_one(0) && row.is_whole(0)) return "nth";
  return "";
}

// Of other operands: steps through the dimensions, whose sizes are part of the text.
std::string walked_index(const hr_tensor& values, const hr_tensor* operand) {
  Walk walk(&values);
  walk.add(operand);
  walk.collapse();
  std::string text;
  int64_t after = 1;
  for (int32_t d = walk.rank - 1; d >= 0; --d) {
    const int64_t stride = walk.strides[0][size_t(d)];
    if (stride)
      text += (text.empty() ? "" : " + ") + std::string("at / ") + std::to_string(after) + " % " +
              std::to_string(walk.dims[size_t(d)]) + " * " + std::to_string(stride);
    after *= walk.dims[size_t(d)];
  }
  return text;
}

Folding folding_of(hr_request* r, const Program& program, const Element& element,
                   const hr_tensor& values, int32_t kept) {
  Folding f = fold_of(device_of(r), program.reduction, element.output);
  f.functions = element.functions + f.functions;
  std::string loads;
  for (int32_t i = 0; i < r->node->n_inputs; ++i) {
    const std::string number = std::to_string(i);
    const hr_dtype dtype = element.inputs[size_t(i)];
    f.memory.push_back({Memory::kInput, i, 0, storage_type(dtype), "p" + number});
    std::string index = index_text(values, kept, r->inputs[i]);
    if (index.empty()) index = walked_index(values, r->inputs[i]);
    loads += std::string("const ") + value_type(dtype) + " x" + number + " = " +
             loaded(dtype, "p" + number + "[" + index + "]") + "; ";
  }
  f.memory.push_back({Memory::kOutput, 0, 0, storage_type(element.output), "out"});
  // The result is folded as a tensor would hold it.
  f.value = loads + element.statements + "const " + value_type(element.output) +
            " x = " + rounded(element.output, element.result) + "; " + f.value;
  return f;
}

hr_code prepare_reduction(void* state, hr_request* r) {
  HR_APPLY_RULE(broadcast, r);
  const auto& program = *static_cast<const Program*>(state);
  hr_tensor* out = r->outputs[0];
  const hr_tensor values = *out;
  const int64_t n = hr_attr_int(r->node, "reduced", 0);
  if (n < 1 || n > values.rank)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "%lld dimensions of %d cannot be reduced",
                           (long long)n, int(values.rank));
  const auto kept = int32_t(values.rank - n);
  out->rank = hr_attr_bool(r->node, "keep_dims", 0) ? values.rank : kept;
  for (int32_t d = kept; d < values.rank; ++d) out->dims[d] = 1;
  Runs runs;
  runs.inner = product(values.dims, kept, values.rank);
  runs.kept = product(values.dims, 0, kept);
  if (runs.kept > 1) {
    runs.kept_rank = 1;
    runs.kept_dims[0] = runs.kept;
    runs.kept_strides[0] = runs.inner;
  }
  if (runs.inner < 2 || runs.kept == 0)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "there is nothing to reduce");
  const Element element = element_of_node(state, r->node);
  for (const hr_dtype dtype : element.inputs)
    if (const char* why = why_not(device_of(r), dtype))
      return hr_request_fail(r, HR_UNIMPLEMENTED, "%s", why);
  return plan_reduction(r, folding_of(r, program, element, values, kept), runs);
}

}  // namespace

HR_KERNELS = {
    kernel("_FusedElementwise", nullptr, prepare_elementwise)
        .with_state(create<false>, destroy)
        .reuses(0),
    kernel("_FusedReduction", nullptr, prepare_reduction).with_state(create<true>, destroy),
};

HR_FUSIBLE_OPS(fused::fusible_ops());

}  // namespace hr::cl
