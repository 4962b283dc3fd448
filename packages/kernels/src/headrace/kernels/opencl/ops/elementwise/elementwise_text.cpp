#include "ops/elementwise/elementwise_text.hpp"

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

std::string sizes(const Walk& walk, const char* type, const char* first) {
  std::string text = std::string("typedef struct {\n  ") + type + " " + first + ";\n";
  if (walk.rank > 1) {
    text += std::string("  ") + type + " dims[" + number(walk.rank) + "];\n";
    if (!walk.strides.empty())
      text += std::string("  ") + type + " strides[" + number(int64_t(walk.strides.size())) + "][" +
              number(walk.rank) + "];\n";
  }
  return text + "} Sizes;\n";
}

// Where row `row` of each operand that moves over rows begins: o<k>.
std::string row_offsets(const Walk& walk, const char* type) {
  std::string text;
  for (size_t k = 0; k < walk.strides.size(); ++k)
    if (!walk.is_whole(k) && !walk.is_one(k))
      text += std::string(type) + " o" + number(int64_t(k)) + " = 0;\n";
  text += std::string("{\n") + type + " rest = row, at;\n";
  for (int32_t d = walk.rank - 2; d >= 0; --d) {
    const std::string dim = number(d);
    text += d ? "at = rest % (" + std::string(type) + ")s.dims[" + dim + "]; rest /= (" + type +
                    ")s.dims[" + dim + "];\n"
              : "at = rest;\n";
    for (size_t k = 0; k < walk.strides.size(); ++k)
      if (!walk.is_whole(k) && !walk.is_one(k))
        text += "o" + number(int64_t(k)) + " += at * s.strides[" + number(int64_t(k)) + "][" + dim +
                "];\n";
  }
  return text + "}\n";
}

std::string store(const Element& element, const std::string& to) {
  return to + " = " + stored(element.output, element.result) + ";\n";
}

}  // namespace

std::string cpu_elementwise_text(const Element& element, const Walk& walk) {
  const size_t n = element.inputs.size();
  const bool rows = walk.rank > 1;
  std::string text = element.functions;
  text += sizes(walk, "long", "rows, inner, rows_per_item, pieces, piece");
  text += "kernel void elementwise(" + parameters(element) + ", const Sizes s) {\n";
  text += pointers(element);
  for (size_t k = 0; k < n; ++k)
    if (walk.is_one(k)) text += value(element, k, "p" + number(int64_t(k)) + "[0]");
  text += "const long item = get_global_id(0);\n";
  text += "const long first = item % s.pieces * s.piece;\n";
  text += "const long last = min(first + s.piece, s.inner);\n";
  if (rows) {
    text += "long row = item / s.pieces * s.rows_per_item;\n";
    text += "const long end = min(row + s.rows_per_item, s.rows);\n";
    text += "for (; row < end; ++row) {\n" + row_offsets(walk, "long");
    for (size_t k = 0; k < n; ++k)
      if (!walk.is_whole(k) && !walk.is_one(k) && walk.inner_stride(k) == 0)
        text += value(element, k, "p" + number(int64_t(k)) + "[o" + number(int64_t(k)) + "]");
  } else {
    text += "{\nconst long row = 0;\n";
  }
  text += "const long base = row * s.inner;\n";
  text += "_Pragma(\"clang loop vectorize(assume_safety) interleave_count(2)\")\n";
  text += "for (long j = first; j < last; ++j) {\n";
  for (size_t k = 0; k < n; ++k) {
    if (walk.is_one(k)) continue;
    const std::string name = "p" + number(int64_t(k));
    const std::string begin = rows ? "o" + number(int64_t(k)) : "0";
    if (walk.is_whole(k)) text += value(element, k, name + "[base + j]");
    else if (walk.inner_stride(k) == 1) text += value(element, k, name + "[" + begin + " + j]");
    else if (walk.inner_stride(k) != 0)
      text += value(element, k,
                    name + "[" + begin + " + j * s.strides[" + number(int64_t(k)) + "][" +
                        number(walk.rank - 1) + "]]");
  }
  return text + element.statements + store(element, "out[base + j]") + "}\n}\n}\n";
}

std::string gpu_elementwise_text(const Element& element, const Walk& walk, int lanes, bool wide) {
  const size_t n = element.inputs.size();
  const char* index = wide ? "ulong" : "uint";
  const bool quads = lanes == 4;
  std::string text = element.functions;
  text += sizes(walk, index, "items, inner");
  text += "kernel void elementwise(" + parameters(element) + ", const Sizes s) {\n";
  text += pointers(element);
  text += std::string("const ") + index + " item = get_global_id(0);\nif (item >= s.items) return;\n";
  const std::string first = quads ? "item * 4" : "item";
  if (walk.rank > 1) {
    text += std::string("const ") + index + " row = " + first + " / s.inner, j = " + first +
            " - row * s.inner;\n" + row_offsets(walk, index);
  } else {
    text += std::string("const ") + index + " j = " + first + ";\n";
  }
  // Operands that move along the row are loaded as quads, others as one value.
  for (size_t k = 0; k < n; ++k) {
    const std::string name = "p" + number(int64_t(k)), o = "o" + number(int64_t(k));
    const std::string type = storage_type(element.inputs[k]);
    if (walk.is_one(k)) {
      text += value(element, k, name + "[0]");
    } else if (walk.is_whole(k)) {
      text += quads ? "const " + type + "4 q" + number(int64_t(k)) + " = ((global const " + type +
                          "4*)" + name + ")[item];\n"
                    : value(element, k, name + "[item]");
    } else if (walk.inner_stride(k) == 0) {
      text += value(element, k, name + "[" + o + "]");
    } else if (quads) {
      text += "const " + type + "4 q" + number(int64_t(k)) + " = *(global const " + type + "4*)(" +
              name + " + " + o + " + j);\n";
    } else {
      const std::string step = walk.inner_stride(k) == 1 ? "j"
                                                          : "j * s.strides[" + number(int64_t(k)) +
                                                                "][" + number(walk.rank - 1) + "]";
      text += value(element, k, name + "[" + (walk.rank > 1 ? o + " + " : "") + step + "]");
    }
  }
  if (!quads) return text + element.statements + store(element, "out[item]") + "}\n";
  text += std::string(storage_type(element.output)) + "4 result;\n";
  for (int lane = 0; lane < lanes; ++lane) {
    text += "{\n";
    for (size_t k = 0; k < n; ++k)
      if (!walk.is_one(k) && (walk.is_whole(k) || walk.inner_stride(k) != 0))
        text += value(element, k, "q" + number(int64_t(k)) + ".s" + number(lane));
    text += element.statements + store(element, "result.s" + number(lane)) + "}\n";
  }
  return text + "((global " + storage_type(element.output) + "4*)out)[item] = result;\n}\n";
}

}  // namespace hr::cl
