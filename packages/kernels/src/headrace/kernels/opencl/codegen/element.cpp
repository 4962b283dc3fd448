#include "codegen/element.hpp"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <set>

#include "library/dtype_names.hpp"
#include "library/elementwise/selu.hpp"

namespace hr::cl {

using fused::Rep;

const char* storage_type(hr_dtype dtype) {
  switch (dtype) {
    case HR_FLOAT: return "float";
    case HR_DOUBLE: return "double";
    case HR_HALF:
    case HR_BFLOAT16:
    case HR_UINT16: return "ushort";
    case HR_INT8: return "char";
    case HR_BOOL:
    case HR_UINT8: return "uchar";
    case HR_INT16: return "short";
    case HR_INT32: return "int";
    case HR_UINT32: return "uint";
    case HR_INT64: return "long";
    case HR_UINT64: return "ulong";
    default: return nullptr;
  }
}

const char* value_type(hr_dtype dtype) {
  return dtype == HR_HALF || dtype == HR_BFLOAT16 ? "float" : storage_type(dtype);
}

std::string loaded(hr_dtype dtype, const std::string& element) {
  if (dtype == HR_HALF) return "hr_half_to_float(" + element + ")";
  if (dtype == HR_BFLOAT16) return "hr_bfloat16_to_float(" + element + ")";
  return element;
}

std::string stored(hr_dtype dtype, const std::string& value) {
  if (dtype == HR_HALF) return "hr_float_to_half(" + value + ")";
  if (dtype == HR_BFLOAT16) return "hr_float_to_bfloat16(" + value + ")";
  return value;
}

std::string rounded(hr_dtype dtype, const std::string& value) {
  return loaded(dtype, stored(dtype, value));
}

std::string literal(hr_dtype dtype, double value) {
  char text[64];
  const char* type = value_type(dtype);
  if (!std::strcmp(type, "float")) {
    const float narrow = float(value);
    uint32_t bits;
    std::memcpy(&bits, &narrow, sizeof bits);
    std::snprintf(text, sizeof text, "as_float(0x%08xu)", bits);
    return rounded(dtype, text);
  }
  if (dtype == HR_DOUBLE) {
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    std::snprintf(text, sizeof text, "as_double(0x%016llxul)", (unsigned long long)bits);
    return text;
  }
  std::snprintf(text, sizeof text, "((%s)%lldl)", type,
                dtype == HR_BOOL ? (long long)(value != 0) : (long long)value);
  return text;
}

std::string value_option(hr_dtype dtype) { return std::string(" -DT_") + dtype_name(dtype); }

const char* why_not(const Device& device, hr_dtype dtype) {
  if (!storage_type(dtype)) return "no kernel of this device computes with that dtype";
  if (dtype == HR_DOUBLE && !device.traits.has_double) return "the device has no double";
  return nullptr;
}

// ---- expressions of the list of instructions ----------------------------------------------------

std::string arithmetic_of(Rep rep) {
  static const char* const names[] = {"T",     "negative", "magnitude", "plus",   "minus",
                                      "times", "larger",   "smaller",   "clipped"};
  std::string text;
  for (const char* name : names) text += std::string("#undef ") + name + "\n";
  text +=
      "#define clipped(x, low, high) \\\n"
      "  (((high) < (x) ? (high) : (x)) < (low) ? (low) : ((high) < (x) ? (high) : (x)))\n";
  if (rep == fused::kFloat || rep == fused::kDouble) {
    text += rep == fused::kFloat ? "#define T(x) ((float)(x))\n" : "#define T(x) ((double)(x))\n";
    return text +
           "#define negative(x) (-(x))\n"
           "#define magnitude(x) fabs(x)\n"
           "#define plus(x, y) ((x) + (y))\n"
           "#define minus(x, y) ((x) - (y))\n"
           "#define times(x, y) ((x) * (y))\n"
           "#define larger(x, y) ((x) != (x) ? (x) : ((x) < (y) || (y) != (y) ? (y) : (x)))\n"
           "#define smaller(x, y) ((x) != (x) ? (x) : ((y) < (x) || (y) != (y) ? (y) : (x)))\n";
  }
  // Unsigned arithmetic wraps around.
  const char* type = rep == fused::kInt64 ? "long" : rep == fused::kInt32 ? "int" : "uchar";
  const std::string wide = rep == fused::kInt64 ? "(ulong)" : "(uint)";
  const std::string to = std::string("((") + type + ")(";
  return text + "#define T(x) " + to + "x))\n#define negative(x) " + to + "0u - " + wide +
         "(x)))\n#define magnitude(x) ((x) < 0 ? negative(x) : (x))\n#define plus(x, y) " + to +
         wide + "(x) + " + wide + "(y)))\n#define minus(x, y) " + to + wide + "(x) - " + wide +
         "(y)))\n#define times(x, y) " + to + wide + "(x) * " + wide +
         "(y)))\n#define larger(x, y) ((x) < (y) ? (y) : (x))\n"
         "#define smaller(x, y) ((y) < (x) ? (y) : (x))\n";
}

namespace {

const char* rep_type(Rep rep) {
  switch (rep) {
    case fused::kFloat: return "float";
    case fused::kDouble: return "double";
    case fused::kInt32: return "int";
    case fused::kInt64: return "long";
    default: return "uchar";
  }
}

// What the expressions need for any type. Each name is that of the C++ library, or of cpu/math.
std::string general_functions() {
  char text[512];
  std::snprintf(text, sizeof text,
                "#include \"vector_math.cl\"\n"
                "#pragma OPENCL FP_CONTRACT OFF\n"  // as the CPU's loops: each op rounds
                "#define kSeluScale %.17g\n#define kSeluScaleAlpha %.17g\n"
                "#define kInfinity INFINITY\n#define nearbyint(x) rint(x)\n"
                "#define sigmoid(x) (T(1) / (T(1) + exp(-(x))))\n",
                kSeluScale, kSeluScaleAlpha);
  return text;
}

// An expression of C++ as one of OpenCL C: its functions have no namespaces there.
std::string in_opencl(std::string expression) {
  for (const char* prefix : {"std::", "vm::"})
    for (size_t at; (at = expression.find(prefix)) != std::string::npos;)
      expression.erase(at, std::strlen(prefix));
  return expression;
}

std::string function_name(const fused::Instruction& instruction, Rep rep) {
  return std::string("hr_") + fused::without_alias(instruction).name + "_" + rep_type(rep);
}

std::string function_of(const fused::Instruction& instruction, Rep rep) {
  const std::string type = rep_type(rep);
  const bool predicate = instruction.kind == fused::kPredicate;
  std::string text =
      "static inline " + (predicate ? "uchar" : type) + " " + function_name(instruction, rep) + "(";
  static const char* const names[] = {"a", "b", "c"};
  for (int k = 0; k < instruction.operands; ++k) {
    const bool condition = k == 0 && instruction.kind == fused::kChoice;
    text += (k ? ", " : "") + (condition ? "uchar" : type) + " " + names[k];
  }
  return text + ") {\n  return " + in_opencl(fused::without_alias(instruction).expression) +
         ";\n}\n";
}

// A value of one rep as one of another.
std::string converted(Rep from, Rep to, const std::string& value) {
  if (from == to) return value;
  if (to == fused::kBool) return "(uchar)(" + value + " != 0)";
  return std::string("(") + rep_type(to) + ")" + value;
}

}  // namespace

hr_dtype total_type(hr_dtype dtype) {
  return dtype == HR_HALF || dtype == HR_BFLOAT16 ? HR_FLOAT : dtype;
}

Element element_of(const fused::Program& program, const hr_dtype* inputs, int32_t n_inputs) {
  Element element;
  element.inputs.assign(inputs, inputs + n_inputs);
  element.functions = general_functions();
  std::set<std::string> defined;
  Rep defined_rep = fused::kReps;
  const auto operand = [&](const fused::Operand& o) {
    if (o.from == fused::Operand::kInput) return "x" + std::to_string(o.index);
    if (o.from == fused::Operand::kTemporary) return "t" + std::to_string(o.index);
    const fused::Constant& c = program.constants[size_t(o.index)];
    return literal(c.dtype, c.value);
  };
  for (const fused::Step& step : program.steps) {
    std::string value;
    if (step.instruction->kind == fused::kCast) {
      value = converted(step.rep, fused::rep_of(step.result), operand(step.operand[0]));
    } else {
      const std::string name = function_name(*step.instruction, step.rep);
      if (defined.insert(name).second) {
        if (step.rep != defined_rep) element.functions += arithmetic_of(step.rep);
        defined_rep = step.rep;
        element.functions += function_of(*step.instruction, step.rep);
      }
      for (int k = 0; k < step.operands; ++k)
        value += (k ? ", " : name + "(") + operand(step.operand[k]);
      value += ")";
    }
    if (step.rounds) value = rounded(step.result, value);
    element.result = "t" + std::to_string(step.target);
    element.statements += std::string("const ") + rep_type(fused::rep_of(step.result)) + " " +
                          element.result + " = " + value + ";\n";
    element.output = step.result;
  }
  return element;
}

Element element_of(const std::string& expression, hr_dtype dtype, int operands) {
  Element element;
  const Rep rep = fused::rep_of(dtype);
  element.functions = general_functions() + arithmetic_of(rep);
  element.inputs.assign(size_t(operands), dtype);
  static const char* const names[] = {"a", "b", "c"};
  for (int k = 0; k < operands; ++k)
    element.statements +=
        std::string("const ") + rep_type(rep) + " " + names[k] + " = x" + std::to_string(k) + ";\n";
  element.statements += std::string("const ") + rep_type(rep) + " t = " + expression + ";\n";
  element.result = "t";
  element.output = dtype;
  return element;
}

Element cast_element(hr_dtype from, hr_dtype to, bool toward_zero) {
  Element element;
  element.inputs = {from};
  element.output = to;
  const bool from_float = !std::strcmp(value_type(from), "float") || from == HR_DOUBLE;
  const bool to_narrow = to == HR_HALF || to == HR_BFLOAT16;
  std::string value = "x0";
  if (to == HR_BOOL) {
    value = "(uchar)(x0 != 0)";
  } else if (from_float && to != HR_UINT32 && to != HR_UINT64 && !to_narrow &&
             hr_dtype_size(to) <= 4 && to != HR_FLOAT) {
    // By way of a signed integer, as processors do.
    value = std::string("(") + storage_type(to) + ")(int)x0";
  } else if (from_float && to == HR_UINT32) {
    value = "(uint)(long)x0";
  } else if (from_float && to == HR_UINT64) {
    value = "x0 < 9223372036854775808.0f ? (ulong)(long)x0 : (ulong)x0";
  } else if (toward_zero && from == HR_DOUBLE && to == HR_FLOAT) {
    value = "convert_float_rtz(x0)";
  } else if (std::strcmp(value_type(from), value_type(to))) {
    value = std::string("(") + value_type(to) + ")x0";
  }
  if (toward_zero && from == HR_DOUBLE && to_narrow) value = "convert_float_rtz(x0)";
  element.statements = std::string("const ") + value_type(to) + " t = " + value + ";\n";
  element.result = "t";
  if (toward_zero && to_narrow && from_float) {
    // What lies farther from zero than the value goes one step back.
    element.functions =
        "static ushort hr_toward_zero(float x, ushort near, float back) {\n"
        "  return fabs(back) > fabs(x) ? (ushort)(near - 1) : near;\n}\n";
    const std::string near = stored(to, "t");
    element.statements += "const float back = " + loaded(to, near) + ";\n";
    element.statements +=
        "const float r = " + loaded(to, "hr_toward_zero(t, " + near + ", back)") + ";\n";
    element.result = "r";
  }
  return element;
}

}  // namespace hr::cl
