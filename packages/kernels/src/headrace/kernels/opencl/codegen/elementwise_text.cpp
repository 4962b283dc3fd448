#include "codegen/elementwise_text.hpp"

namespace hr::cl {
namespace {

std::string number(int64_t n) { return std::to_string(n); }

std::string parameters(const Element& element) {
  std::string text;
  for (size_t k = 0; k < element.inputs.size(); ++k)
    text += "HR_IN_SHARED(" + std::string(storage_type(element.inputs[k])) + ", p" +
            number(int64_t(k)) + "), ";
  return text + "HR_OUT_SHARED(" + storage_type(element.output) + ", out)";
}

std::string pointers(const Element& element) {
  std::string text;
  for (size_t k = 0; k < element.inputs.size(); ++k)
    text += "  HR_INPUT(" + std::string(storage_type(element.inputs[k])) + ", p" +
            number(int64_t(k)) + ");\n";
  return text + "  HR_OUTPUT(" + storage_type(element.output) + ", out);\n";
}

// The declaration of value x<k>, of an element.
std::string value(const Element& element, size_t k, const std::string& from) {
  return std::string("const ") + value_type(element.inputs[k]) + " x" + number(int64_t(k)) + " = " +
         loaded(element.inputs[k], from) + ";\n";
}

bool any_strided(const Walk& walk) {
  for (size_t k = 0; k < walk.strides.size(); ++k)
    if (walk.is_strided(k)) return true;
  return false;
}

std::string sizes(const Walk& walk, const char* type, const char* first) {
  std::string text = std::string("typedef struct {\n  ") + type + " " + first + ";\n";
  if (any_strided(walk) && walk.rank > 0) {
    const std::string n = number(int64_t(walk.strides.size()));
    text += std::string("  ") + type + " dims[" + number(walk.rank) + "], begins[" + n + "];\n  " +
            type + " strides[" + n + "][" + number(walk.rank) + "];\n";
  }
  return text + "} Sizes;\n";
}

// Where row `row` of each strided operand begins: o<k>.
std::string row_offsets(const Walk& walk, const char* type) {
  std::string text;
  for (size_t k = 0; k < walk.strides.size(); ++k)
    if (walk.is_strided(k))
      text += std::string(type) + " o" + number(int64_t(k)) + " = s.begins[" + number(int64_t(k)) +
              "];\n";
  if (walk.rank < 2 || text.empty()) return text;
  text += std::string("{\n") + type + " rest = row, at;\n";
  for (int32_t d = walk.rank - 2; d >= 0; --d) {
    const std::string dim = number(d);
    text += d ? "at = rest % s.dims[" + dim + "]; rest /= s.dims[" + dim + "];\n" : "at = rest;\n";
    for (size_t k = 0; k < walk.strides.size(); ++k)
      if (walk.is_strided(k) && walk.strides[k][size_t(d)])
        text += "o" + number(int64_t(k)) + " += at * s.strides[" + number(int64_t(k)) + "][" + dim +
                "];\n";
  }
  return text + "}\n";
}

// The element of a strided operand at place j of the row.
std::string strided_element(const Walk& walk, size_t k) {
  const std::string name = number(int64_t(k)), at = "p" + name + "[o" + name;
  const int64_t step = walk.inner_stride(k);
  if (step == 0) return at + "]";
  if (step == 1) return at + " + j]";
  return at + " + j * s.strides[" + name + "][" + number(walk.rank - 1) + "]]";
}

// Whether the output is strided too: its strides come after the operands'.
bool strided_output(const Element& element, const Walk& walk) {
  return walk.strides.size() > element.inputs.size() && walk.is_strided(element.inputs.size());
}

std::string output_element(const Element& element, const Walk& walk, const std::string& whole) {
  if (!strided_output(element, walk)) return "out[" + whole + "]";
  return "out" + strided_element(walk, element.inputs.size())
                     .substr(1 + number(int64_t(element.inputs.size())).size());
}

std::string store(const Element& element, const std::string& to) {
  return to + " = " + stored(element.output, element.result) + ";\n";
}

}  // namespace

std::string cpu_elementwise_text(const Element& element, const Walk& walk) {
  const size_t n = element.inputs.size();
  std::string text = element.functions;
  text += sizes(walk, "long", "rows, inner, rows_per_item, pieces, piece");
  text += "kernel void elementwise(" + parameters(element) + ", const Sizes s) {\n";
  text += pointers(element);
  for (size_t k = 0; k < n; ++k)
    if (walk.is_one(k)) text += value(element, k, "p" + number(int64_t(k)) + "[0]");
  text +=
      "const long item = get_global_id(0);\n"
      "const long first = item % s.pieces * s.piece;\n"
      "const long last = min(first + s.piece, s.inner);\n";
  if (walk.rank > 1)
    text +=
        "long row = item / s.pieces * s.rows_per_item;\n"
        "const long end = min(row + s.rows_per_item, s.rows);\n"
        "for (; row < end; ++row) {\n";
  else text += "{\nconst long row = 0;\n";
  text += row_offsets(walk, "long");
  for (size_t k = 0; k < n; ++k)
    if (walk.is_strided(k) && walk.inner_stride(k) == 0)
      text += value(element, k, strided_element(walk, k));
  text +=
      "const long base = row * s.inner;\n"
      "_Pragma(\"clang loop vectorize(assume_safety) interleave_count(2)\")\n"
      "for (long j = first; j < last; ++j) {\n";
  for (size_t k = 0; k < n; ++k) {
    if (walk.is_whole(k) && !walk.is_one(k))
      text += value(element, k, "p" + number(int64_t(k)) + "[base + j]");
    else if (walk.is_strided(k) && walk.inner_stride(k) != 0)
      text += value(element, k, strided_element(walk, k));
  }
  return text + element.statements + store(element, output_element(element, walk, "base + j")) +
         "}\n}\n}\n";
}

std::string gpu_elementwise_text(const Element& element, const Walk& walk, int lanes, bool wide) {
  const size_t n = element.inputs.size();
  const char* index = wide ? "ulong" : "uint";
  const bool quads = lanes == 4;
  const auto in_quad = [&](size_t k) {
    return !walk.is_one(k) && (walk.is_whole(k) || walk.inner_stride(k) != 0);
  };
  std::string text = element.functions;
  text += sizes(walk, index, "items, inner");
  text += "kernel void elementwise(" + parameters(element) + ", const Sizes s) {\n";
  text += pointers(element);
  text +=
      std::string("const ") + index + " item = get_global_id(0);\nif (item >= s.items) return;\n";
  const std::string first = quads ? "item * 4" : "item";
  text += std::string("const ") + index +
          (walk.rank > 1 && any_strided(walk)
               ? " row = " + first + " / s.inner, j = " + first + " - row * s.inner;\n"
               : " j = " + first + ";\n");
  text += row_offsets(walk, index);
  // Operands that move along the row are loaded as quads, others as one value.
  for (size_t k = 0; k < n; ++k) {
    const std::string k_text = number(int64_t(k)), name = "p" + k_text;
    const std::string quad = std::string(storage_type(element.inputs[k])) + "4";
    if (walk.is_one(k)) text += value(element, k, name + "[0]");
    else if (!quads || !in_quad(k))
      text += value(element, k, walk.is_whole(k) ? name + "[item]" : strided_element(walk, k));
    else
      text += "const " + quad + " q" + k_text + " = *(global const " + quad + "*)(" + name + " + " +
              (walk.is_whole(k) ? first : "o" + k_text + " + j") + ");\n";
  }
  if (!quads)
    return text + element.statements + store(element, output_element(element, walk, "item")) +
           "}\n";
  text += std::string(storage_type(element.output)) + "4 result;\n";
  for (int lane = 0; lane < lanes; ++lane) {
    text += "{\n";
    for (size_t k = 0; k < n; ++k)
      if (in_quad(k)) text += value(element, k, "q" + number(int64_t(k)) + ".s" + number(lane));
    text += element.statements + store(element, "result.s" + number(lane)) + "}\n";
  }
  const std::string quad = std::string(storage_type(element.output)) + "4";
  return text + "*(global " + quad + "*)&" + output_element(element, walk, "item * 4") +
         " = result;\n}\n";
}

}  // namespace hr::cl
