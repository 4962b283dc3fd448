// Updates of rows of variables by index: ScatterAdd, ResourceScatterUpdate, ...
#include <cstring>

#include "library/constraints.hpp"
#include "library/registration.hpp"
#include "ops/updates/variable_update.hpp"
#include "text/copied_types.hpp"

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

// Division of integers may fail, and has no kernel.
#define ROWS(Name, types)                                                                \
  kernel("Scatter" Name, "T=" types ";Tindices=" HR_INDICES, prepare_rows),              \
      kernel("ResourceScatter" Name, "dtype=" types ";Tindices=" HR_INDICES, prepare_rows)

}  // namespace

HR_KERNELS = {
    ROWS("Update", HR_FLOATS "|int64|bool"),
    ROWS("Add", HR_FLOATS "|int64"),
    ROWS("Sub", HR_FLOATS "|int64"),
    ROWS("Mul", HR_FLOATS "|int64"),
    ROWS("Div", HR_FLOATS),
    ROWS("Min", HR_FLOATS "|int64"),
    ROWS("Max", HR_FLOATS "|int64"),
};

}  // namespace hr::cl
