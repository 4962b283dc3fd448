#include "codegen/update_rule.hpp"

#include "codegen/element.hpp"

namespace hr::cl {
namespace {

hr_dtype gradient_of(const UpdateText& u) {
  return u.gradient == HR_INVALID ? u.dtype : u.gradient;
}

// A macro of several statements.
std::string macro(const std::string& head, const std::string& statements) {
  return "#define " + head + " " + statements + "\n";
}

// BEGIN(at) declares the values and loads them, CHANGE(from) changes them by a gradient, END(at)
// stores them; STEP(at, from) is all three.
std::string step_macros(const UpdateText& u) {
  const std::string type = value_type(u.dtype);
  std::string begin, end;
  for (const std::string& value : u.rule->values) {
    begin += type + " " + value + " = " + loaded(u.dtype, "p_" + value + "[at]") + "; ";
    end += "p_" + value + "[at] = " + stored(u.dtype, value) + "; ";
  }
  const std::string grad = loaded(gradient_of(u), u.one_gradient ? "p_grad[0]" : "p_grad[from]");
  return macro("BEGIN(at)", begin) + macro("END(at)", end) +
         macro("CHANGE(from)", "{ const " + type + " grad = " + grad + "; " + u.rule->step + " }") +
         macro("STEP(at, from)", "{ BEGIN(at) CHANGE(from) END(at) }");
}

std::string functions(const std::string& type) {
  return "typedef " + type +
         " C;\n"
         "static inline C sign_of(C x) { return (C)(x > 0) - (C)(x < 0); }\n"
         "static inline C magnitude_of(C x) { return x < 0 ? -x : x; }\n"
         "static inline C above_zero(C x) { return x < 0 ? 0 : x; }\n"
         // Pulls a variable towards zero by an l1 and an l2 term.
         "static inline C proximal(C var, C rate, C l1, C l2) {\n"
         "  const C shrunk = sign_of(var) * above_zero(magnitude_of(var) - rate * l1);\n"
         "  return (l1 > 0 ? shrunk : var) / (1 + l2 * rate);\n}\n";
}

std::string head(const UpdateText& u) {
  const std::string type = storage_type(u.dtype);
  std::string text = "kernel void update(", pointers;
  for (const std::string& value : u.rule->values) {
    text += "HR_OUT_SHARED(" + type + ", p_" + value + "), ";
    pointers += "HR_OUTPUT(" + type + ", p_" + value + ");\n";
  }
  const std::string gradient = storage_type(gradient_of(u));
  text += "HR_IN_SHARED(" + gradient + ", p_grad), ";
  pointers += "HR_INPUT(" + gradient + ", p_grad);\n";
  if (u.indices != HR_INVALID) {
    text += std::string("HR_IN_SHARED(") + storage_type(u.indices) + ", indices), ";
    pointers += std::string("HR_INPUT(") + storage_type(u.indices) + ", indices);\n";
  }
  if (u.sorted) {
    text += "HR_IN_SHARED(int, order), ";
    pointers += "HR_INPUT(int, order);\n";
  }
  for (size_t i = 0; i < u.rule->scalars.size(); ++i) {
    const std::string scalar_type = storage_type(u.scalars[i]), &name = u.rule->scalars[i];
    text += "HR_IN_SHARED(" + scalar_type + ", p_" + name + "), ";
    pointers += "HR_INPUT(" + scalar_type + ", p_" + name + ");\n";
  }
  text += "const long n, const long rows, const long inner, const long per_item) {\n" + pointers;
  for (size_t i = 0; i < u.rule->scalars.size(); ++i)
    text += "const C " + u.rule->scalars[i] + " = " +
            loaded(u.scalars[i], "p_" + u.rule->scalars[i] + "[0]") + ";\n";
  return text + u.rule->prepare + "\n";
}

const char* cpu_rows() {
  // An item has some rows of the variable, and looks for their indices.
  return "const long first = get_global_id(0) * per_item, last = min(first + per_item, rows);\n"
         "for (long i = 0; i < n; ++i) {\n"
         "const long row = indices[i];\n"
         "if (row < first || row >= last) continue;\n"
         "if (inner == 1) { STEP(row, i) continue; }\n"
         "_Pragma(\"clang loop vectorize(assume_safety)\")\n"
         "for (long j = 0; j < inner; ++j) STEP(row * inner + j, i * inner + j)\n}\n}\n";
}

std::string gpu_rows() {
  // A work-group has the updates of the row that one index names first, and passes over them in
  // their order; other groups of the same row have nothing to do.
  const std::string size = std::to_string(UpdateText::kRowGroup);
  return "const int lane = get_local_id(0);\n"
         "local int earlier, any, found[" +
         size +
         "];\n"
         "const long own = get_group_id(0), row = indices[own];\n"
         "if (lane == 0) earlier = row < 0 || row >= rows;\n"
         "barrier(CLK_LOCAL_MEM_FENCE);\n"
         "for (long i = lane; i < own; i += " +
         size +
         ") if (indices[i] == row) earlier = 1;\n"
         "barrier(CLK_LOCAL_MEM_FENCE);\n"
         "if (earlier) return;\n"
         "for (long b = own; b < n; b += " +
         size +
         ") {\n"
         "barrier(CLK_LOCAL_MEM_FENCE);\n"
         "if (lane == 0) any = 0;\n"
         "barrier(CLK_LOCAL_MEM_FENCE);\n"
         "found[lane] = b + lane < n && indices[min(b + lane, n - 1)] == row;\n"
         "if (found[lane]) any = 1;\n"
         "barrier(CLK_LOCAL_MEM_FENCE);\n"
         "if (!any) continue;\n"
         "for (int k = 0; k < " +
         size +
         "; ++k)\n"
         "if (found[k]) for (long j = lane; j < inner; j += " +
         size +
         ")\n"
         "STEP(row * inner + j, (b + k) * inner + j)\n}\n}\n";
}

// Indices are sorted, `order` has their numbers. per_item neighbouring items have the updates of
// the row whose first is theirs; other items of the same row have nothing to do. The values stay in
// registers, so that the loads of one update need not wait for the store of another.
const char* gpu_sorted_rows() {
  return "const long at = get_global_id(0) / per_item, lane = get_global_id(0) % per_item;\n"
         "if (at >= n) return;\n"
         "const long row = indices[at];\n"
         "if (row < 0 || row >= rows || (at > 0 && indices[at - 1] == row)) return;\n"
         // The end is after `last`, and at most at `end`.
         "long last = at, end = n;\n"
         "for (long stride = 1; last + stride < n; stride *= 2) {\n"
         "if (indices[last + stride] != row) { end = last + stride; break; }\n"
         "last += stride;\n"
         "}\n"
         "while (last + 1 < end) {\n"
         "const long middle = last + (end - last) / 2;\n"
         "if (indices[middle] == row) last = middle; else end = middle;\n"
         "}\n"
         "for (long j = lane; j < inner; j += per_item) {\n"
         "BEGIN(row * inner + j)\n"
         "_Pragma(\"unroll 4\")\n"
         "for (long k = at; k < end; ++k) CHANGE(order[k] * inner + j)\n"
         "END(row * inner + j)\n"
         "}\n}\n";
}

}  // namespace

std::string UpdateText::text(bool cpu) const {
  const std::string begin = functions(value_type(dtype)) + step_macros(*this) + head(*this);
  if (sorted) return begin + gpu_sorted_rows();
  if (indices != HR_INVALID) return begin + (cpu ? cpu_rows() : gpu_rows());
  if (!cpu) return begin + "const long i = get_global_id(0);\nif (i < n) STEP(i, i)\n}\n";
  return begin +
         "const long first = get_global_id(0) * per_item, last = min(first + per_item, n);\n"
         "_Pragma(\"clang loop vectorize(assume_safety) interleave_count(2)\")\n"
         "for (long i = first; i < last; ++i) STEP(i, i)\n}\n";
}

}  // namespace hr::cl
