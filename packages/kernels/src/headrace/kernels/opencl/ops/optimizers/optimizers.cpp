// Optimizers, for dense and sparse gradients. The steps are those of the
// CPU's library (optimizer_rules.hpp), which tests compare.
#include <cstring>

#include "codegen/variable_update.hpp"
#include "library/constraints.hpp"
#include "library/registration.hpp"

namespace hr::cl {
namespace {

struct Rule {
  const char* name;  // of the op, after Apply
  const char* values;
  const char* scalars;
  const char* prepare;
  const char* step;
  int gradient;  // its place among the inputs
};

#define ADAM_RATE \
  "const C rate = learning_rate * sqrt(1 - beta2_power) / (1 - beta1_power);"
#define MOMENTS "m += (grad - m) * (1 - beta1); v += (grad * grad - v) * (1 - beta2); "
#define FTRL                                                                                    \
  "const C shrunk = grad + 2 * l2_shrinkage * var; const C before = POWER(accum); "             \
  "accum += grad * grad; const C after = POWER(accum); "                                        \
  "linear += shrunk * scale - (after - before) / rate * var; "                                  \
  "const C quadratic = after / rate + 2 * l2 * scale; "                                         \
  "var = magnitude_of(linear) > l1 * scale "                                                    \
  "? (l1 * scale * sign_of(linear) - linear) / quadratic : 0;"
#define FTRL_SCALES                                                    \
  "const C rate = MULTIPLY_LINEAR_BY_LR ? 1 : learning_rate;\n"        \
  "const C scale = MULTIPLY_LINEAR_BY_LR ? learning_rate : 1;\n"       \
  "const int square_root = learning_rate_power == (C)-0.5;\n"
#define POWER_MACRO \
  "#define POWER(x) (square_root ? sqrt(x) : pow(x, -learning_rate_power))\n"

// Values are the variable and its slots.
constexpr Rule kRules[] = {
    {"GradientDescent", "var", "alpha", "", "var -= grad * alpha;", 2},
    {"ProximalGradientDescent", "var", "alpha l1 l2", "",
     "var = proximal(var - grad * alpha, alpha, l1, l2);", 4},
    {"Momentum", "var accum", "learning_rate momentum", "",
     "accum = accum * momentum + grad; "
     "var -= USE_NESTEROV ? grad * learning_rate + accum * momentum * learning_rate "
     ": accum * learning_rate;",
     3},
    {"KerasMomentum", "var accum", "learning_rate momentum", "",
     "accum = accum * momentum - grad * learning_rate; "
     "var += USE_NESTEROV ? accum * momentum - grad * learning_rate : accum;",
     3},
    {"Adagrad", "var accum", "learning_rate", "",
     "if (UPDATE_SLOTS) accum += grad * grad; var -= grad * learning_rate / sqrt(accum);", 3},
    {"AdagradV2", "var accum", "learning_rate epsilon", "",
     "if (UPDATE_SLOTS) accum += grad * grad; "
     "var -= grad * learning_rate / (sqrt(accum) + epsilon);",
     4},
    {"ProximalAdagrad", "var accum", "learning_rate l1 l2", "",
     "accum += grad * grad; const C rate = learning_rate / sqrt(accum); "
     "var = proximal(var - grad * rate, rate, l1, l2);",
     5},
    {"AdagradDA", "var gradients squares", "learning_rate l1 l2 global_step", "",
     "gradients += grad; squares += grad * grad; "
     "const C shrunk = sign_of(gradients) * above_zero(magnitude_of(gradients) - l1 * "
     "global_step); "
     "var = -learning_rate * (l1 > 0 ? shrunk : gradients) / "
     "(l2 * global_step * learning_rate + sqrt(squares));",
     3},
    {"Adadelta", "var accum accum_update", "learning_rate rho epsilon", "",
     "accum = accum * rho + grad * grad * (1 - rho); "
     "const C change = sqrt(accum_update + epsilon) / sqrt(accum + epsilon) * grad; "
     "var -= change * learning_rate; "
     "accum_update = accum_update * rho + change * change * (1 - rho);",
     6},
    {"Adam", "var m v", "beta1_power beta2_power learning_rate beta1 beta2 epsilon", ADAM_RATE,
     MOMENTS "const C ahead = USE_NESTEROV ? grad * (1 - beta1) + beta1 * m : m; "
             "var -= ahead * rate / (sqrt(v) + epsilon);",
     9},
    {"AdamWithAmsgrad", "var m v vhat", "beta1_power beta2_power learning_rate beta1 beta2 epsilon",
     ADAM_RATE, MOMENTS "vhat = vhat > v ? vhat : v; var -= m * rate / (sqrt(vhat) + epsilon);",
     10},
    {"AdaMax", "var m v", "beta1_power learning_rate beta1 beta2 epsilon",
     "const C rate = learning_rate / (1 - beta1_power);",
     "m += (grad - m) * (1 - beta1); const C decayed = beta2 * v; "
     "v = decayed > magnitude_of(grad) ? decayed : magnitude_of(grad); "
     "var -= rate * (m / (v + epsilon));",
     8},
    {"RMSProp", "var ms mom", "learning_rate rho momentum epsilon", "",
     "ms += (grad * grad - ms) * (1 - rho); "
     "mom = mom * momentum + grad * learning_rate / sqrt(ms + epsilon); var -= mom;",
     7},
    {"CenteredRMSProp", "var mg ms mom", "learning_rate rho momentum epsilon", "",
     "ms += (grad * grad - ms) * (1 - rho); mg += (grad - mg) * (1 - rho); "
     "mom = mom * momentum + grad * learning_rate / sqrt(ms - mg * mg + epsilon); var -= mom;",
     8},
    {"Ftrl", "var accum linear", "learning_rate l1 l2 learning_rate_power",
     POWER_MACRO "const C l2_shrinkage = 0;\n" FTRL_SCALES, FTRL, 3},
    {"FtrlV2", "var accum linear", "learning_rate l1 l2 l2_shrinkage learning_rate_power",
     POWER_MACRO FTRL_SCALES, FTRL, 3},
    {"AddSign", "var m", "learning_rate alpha sign_decay beta", "",
     "m = m * beta + grad * (1 - beta); "
     "var -= learning_rate * (alpha + sign_decay * sign_of(grad) * sign_of(m)) * grad;",
     6},
    {"PowerSign", "var m", "learning_rate logbase sign_decay beta", "",
     "m = m * beta + grad * (1 - beta); "
     "var -= learning_rate * exp(logbase * sign_decay * sign_of(grad) * sign_of(m)) * grad;",
     6},
};

std::vector<std::string> words_of(const char* text) {
  std::vector<std::string> words;
  for (const char* at = text; *at;) {
    const char* end = std::strchr(at, ' ');
    if (!end) end = at + std::strlen(at);
    words.emplace_back(at, end);
    at = *end ? end + 1 : end;
  }
  return words;
}

// The rule of "ApplyAdam", "ResourceSparseApplyMomentum", ...
const Rule& rule_of(const char* op) {
  const char* name = std::strstr(op, "Apply") + 5;
  for (const Rule& rule : kRules)
    if (!std::strcmp(rule.name, name)) return rule;
  return kRules[0];
}

// A macro, where a name stands for an attribute.
std::string flag(const hr_node* node, const char* name, const char* attribute, int32_t otherwise) {
  return std::string("#undef ") + name + "\n#define " + name + " " +
         std::to_string(hr_attr_bool(node, attribute, otherwise)) + "\n";
}

template <bool by_rows> hr_code prepare_apply(void*, hr_request* r) {
  const Rule& rule = rule_of(r->node->op);
  UpdateRule update{words_of(rule.values), words_of(rule.scalars), "", rule.step};
  update.prepare = flag(r->node, "USE_NESTEROV", "use_nesterov", 0) +
                   flag(r->node, "UPDATE_SLOTS", "update_slots", 1) +
                   flag(r->node, "MULTIPLY_LINEAR_BY_LR", "multiply_linear_by_lr", 0) +
                   rule.prepare;
  return plan_update(r, update, {rule.gradient, by_rows ? rule.gradient + 1 : -1});
}

#define FLOATS "T=" HR_FLOATS
constexpr KernelRegistration dense(const char* op) {
  return kernel(op, FLOATS, prepare_apply<false>);
}
constexpr KernelRegistration sparse(const char* op) {
  return kernel(op, FLOATS, prepare_apply<true>);
}

}  // namespace

HR_KERNELS = {
    dense("ApplyGradientDescent"),
    dense("ResourceApplyGradientDescent"),
    dense("ApplyProximalGradientDescent"),
    dense("ResourceApplyProximalGradientDescent"),
    dense("ApplyMomentum"),
    dense("ResourceApplyMomentum"),
    dense("ResourceApplyKerasMomentum"),
    dense("ApplyAdagrad"),
    dense("ResourceApplyAdagrad"),
    dense("ApplyAdagradV2"),
    dense("ResourceApplyAdagradV2"),
    dense("ApplyProximalAdagrad"),
    dense("ResourceApplyProximalAdagrad"),
    dense("ApplyAdagradDA"),
    dense("ResourceApplyAdagradDA"),
    dense("ApplyAdadelta"),
    dense("ResourceApplyAdadelta"),
    dense("ApplyAdam"),
    dense("ResourceApplyAdam"),
    dense("ResourceApplyAdamWithAmsgrad"),
    dense("ApplyAdaMax"),
    dense("ResourceApplyAdaMax"),
    dense("ApplyRMSProp"),
    dense("ResourceApplyRMSProp"),
    dense("ApplyCenteredRMSProp"),
    dense("ResourceApplyCenteredRMSProp"),
    dense("ApplyFtrl"),
    dense("ResourceApplyFtrl"),
    dense("ApplyFtrlV2"),
    dense("ResourceApplyFtrlV2"),
    dense("ApplyAddSign"),
    dense("ResourceApplyAddSign"),
    dense("ApplyPowerSign"),
    dense("ResourceApplyPowerSign"),
    sparse("SparseApplyProximalGradientDescent"),
    sparse("ResourceSparseApplyProximalGradientDescent"),
    sparse("SparseApplyMomentum"),
    sparse("ResourceSparseApplyMomentum"),
    sparse("ResourceSparseApplyKerasMomentum"),
    sparse("SparseApplyAdagrad"),
    sparse("ResourceSparseApplyAdagrad"),
    sparse("SparseApplyAdagradV2"),
    sparse("ResourceSparseApplyAdagradV2"),
    sparse("SparseApplyProximalAdagrad"),
    sparse("ResourceSparseApplyProximalAdagrad"),
    sparse("SparseApplyAdagradDA"),
    sparse("ResourceSparseApplyAdagradDA"),
    sparse("SparseApplyAdadelta"),
    sparse("ResourceSparseApplyAdadelta"),
    sparse("SparseApplyRMSProp"),
    sparse("ResourceSparseApplyRMSProp"),
    sparse("SparseApplyCenteredRMSProp"),
    sparse("ResourceSparseApplyCenteredRMSProp"),
    sparse("SparseApplyFtrl"),
    sparse("ResourceSparseApplyFtrl"),
    sparse("SparseApplyFtrlV2"),
    sparse("ResourceSparseApplyFtrlV2"),
};

}  // namespace hr::cl
