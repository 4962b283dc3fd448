// Updates of rows of variables by index: ScatterAdd, ResourceScatterUpdate, ...
#include <cstring>

#include "codegen/copied_types.hpp"
#include "codegen/variable_update.hpp"
#include "library/constraints.hpp"
#include "library/registration.hpp"

namespace hr::cl {
namespace {

struct Way {
  const char* name;  // of the op, after Scatter
  const char* step;
};

constexpr Way kWays[] = {
    {"Update", "var = grad;"},
    {"Add", "var += grad;"},
    {"Sub", "var -= grad;"},
    {"Mul", "var *= grad;"},
    {"Div", "var /= grad;"},
    {"Min", "var = var != var ? var : (grad < var || grad != grad ? grad : var);"},
    {"Max", "var = var != var ? var : (var < grad || grad != grad ? grad : var);"},
};

hr_code prepare_rows(void*, hr_request* r) {
  const char* name = std::strstr(r->node->op, "Scatter") + 7;
  UpdateRule rule{{"var"}, {}, "", ""};
  for (const Way& way : kWays)
    if (!std::strcmp(way.name, name)) rule.step = way.step;
  return plan_update(r, rule, {2, 1});
}

#define INDICES ";Tindices=" HR_INDICES

// Of a reference, or of a resource.
constexpr KernelRegistration rows(const char* op, const char* constraint) {
  return kernel(op, constraint, prepare_rows);
}

}  // namespace

HR_KERNELS = {
    rows("ScatterUpdate", "T=" HR_FLOATS "|int64|bool" INDICES),
    rows("ResourceScatterUpdate", "dtype=" HR_FLOATS "|int64|bool" INDICES),
    rows("ScatterAdd", "T=" HR_FLOATS "|int64" INDICES),
    rows("ResourceScatterAdd", "dtype=" HR_FLOATS "|int64" INDICES),
    rows("ScatterSub", "T=" HR_FLOATS "|int64" INDICES),
    rows("ResourceScatterSub", "dtype=" HR_FLOATS "|int64" INDICES),
    rows("ScatterMul", "T=" HR_FLOATS "|int64" INDICES),
    rows("ResourceScatterMul", "dtype=" HR_FLOATS "|int64" INDICES),
    // Division of integers may fail, and has no kernel.
    rows("ScatterDiv", "T=" HR_FLOATS INDICES),
    rows("ResourceScatterDiv", "dtype=" HR_FLOATS INDICES),
    rows("ScatterMin", "T=" HR_FLOATS "|int64" INDICES),
    rows("ResourceScatterMin", "dtype=" HR_FLOATS "|int64" INDICES),
    rows("ScatterMax", "T=" HR_FLOATS "|int64" INDICES),
    rows("ResourceScatterMax", "dtype=" HR_FLOATS "|int64" INDICES),
};

}  // namespace hr::cl
