// The epilogue of fused matrix products and convolutions: a bias, then an activation.
#ifndef HEADRACE_LIBRARY_EPILOGUE_HPP
#define HEADRACE_LIBRARY_EPILOGUE_HPP

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "library/attributes.hpp"
#include "library/dtype_names.hpp"
#include "library/shapes.hpp"

namespace hr {

enum class Activation { none, relu, relu6, elu, tanh, sigmoid, leaky_relu };

struct Epilogue {
  bool bias = false;
  bool batch_norm = false;  // scale, offset, mean, variance instead of a bias
  Activation activation = Activation::none;
  float leaky_alpha = 0.2f;
  float epsilon = 1e-4f;
};

namespace epilogue {

// "Conv2D" of _FusedConv2D.
inline const char* product_name(const hr_request* r) { return r->node->op + std::strlen("_Fused"); }

inline constexpr std::pair<const char*, Activation> kActivations[] = {
    {"Relu", Activation::relu},       {"Relu6", Activation::relu6},
    {"Elu", Activation::elu},         {"Tanh", Activation::tanh},
    {"Sigmoid", Activation::sigmoid}, {"LeakyRelu", Activation::leaky_relu},
};

inline bool read_activation(std::string_view name, Activation* activation) {
  for (const auto& [known_name, value] : kActivations) {
    if (name != known_name) continue;
    *activation = value;
    return true;
  }
  return false;
}

// What fused_ops says: BiasAdd or FusedBatchNorm, then an activation or nothing.
inline hr_code read_fused_ops(hr_request* r, Epilogue* e) {
  const auto ops = attr_strings(r->node, "fused_ops");
  if (ops.empty())
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "Fused %s must have at least one fused op.",
                           product_name(r));
  const auto name = [&](size_t i) { return std::string_view(ops[i].data, ops[i].size); };
  e->bias = name(0) == "BiasAdd";
  e->batch_norm = name(0) == "FusedBatchNorm";
  if ((e->bias || e->batch_norm) &&
      (ops.size == 1 || (ops.size == 2 && read_activation(name(1), &e->activation))))
    return HR_OK;
  std::string num_args;
  for (size_t i = 0; i < ops.size && num_args.size() < 200; ++i)
    num_args.append(i ? "," : "").append(name(i).substr(0, 40));
  return hr_request_fail(r, HR_UNIMPLEMENTED,
                         "Fusion is not implemented: [%s]; BiasAdd or FusedBatchNorm, then Relu, "
                         "Relu6, Elu, Tanh, Sigmoid or LeakyRelu can be fused",
                         num_args.c_str());
}

// The arguments of the fused ops: inputs 2 and up, each a vector over the channels.
inline hr_code check_arguments(hr_request* r, const Epilogue& e, int64_t channels) {
  const hr_node* node = r->node;
  const int64_t num_args = hr_attr_int(node, "num_args", 0),
                on_host = hr_attr_int(node, "num_host_args", 0);
  if (node->n_inputs != 2 + num_args + on_host)
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "Fused %s must have the number of inputs equal to 2 + num_args + "
                           "num_host_args: %d and 2 + %lld + %lld",
                           product_name(r), int(node->n_inputs), (long long)num_args,
                           (long long)on_host);
  const int needed = e.batch_norm ? 4 : 1;
  if (num_args != needed)
    return hr_request_fail(
        r, HR_INVALID_ARGUMENT, "Fused %s with %s, %lld given", product_name(r),
        e.batch_norm
            ? "FusedBatchNorm must have four extra arguments: scale, offset, mean, variance"
            : "BiasAdd must have one extra argument: bias",
        (long long)num_args);
  for (int i = 2; i < 2 + needed; ++i) {
    const hr_tensor* t = r->inputs[i];
    if (node->input_dtypes[i] != node->output_dtypes[0])
      return hr_request_fail(r, HR_INVALID_ARGUMENT, "argument %d is %s, the result %s", i - 2,
                             dtype_name(node->input_dtypes[i]), dtype_name(node->output_dtypes[0]));
    if (t->rank != 1 || t->dims[0] != channels)
      return hr_request_fail(r, HR_INVALID_ARGUMENT,
                             "argument %d must be 1-dimensional and have %lld values: it is %s",
                             i - 2, (long long)channels, ShapeText(t).text);
  }
  return HR_OK;
}

// What the fused kernels of a library take in.
inline std::vector<hr_fusible_op> fusible_ops() {
  std::vector<hr_fusible_op> ops;
  for (const char* fused : {"_FusedConv2D", "_FusedMatMul"}) {
    ops.push_back({fused, "BiasAdd", HR_FUSE_BIAS, "BiasAdd", nullptr, nullptr});
    for (const auto& [name, activation] : kActivations) {
      const bool leaky = activation == Activation::leaky_relu;
      ops.push_back({fused, name, HR_FUSE_ACTIVATION, name, leaky ? "alpha" : nullptr,
                     leaky ? "leakyrelu_alpha" : nullptr});
    }
  }
  for (const char* name : {"FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"})
    ops.push_back(
        {"_FusedConv2D", name, HR_FUSE_NORMALIZATION, "FusedBatchNorm", "epsilon", "epsilon"});
  return ops;
}

}  // namespace epilogue

// From the attributes fused_ops, epsilon, leakyrelu_alpha of _FusedConv2D and _FusedMatMul, whose
// inputs from the third on are vectors over the channels of the result. A graph may name these ops:
// whatever their attributes say is checked.
inline hr_code read_epilogue(hr_request* r, int64_t channels, Epilogue* e) {
  e->epsilon = hr_attr_float(r->node, "epsilon", 1e-4f);
  e->leaky_alpha = hr_attr_float(r->node, "leakyrelu_alpha", 0.2f);
  if (hr_code code = epilogue::read_fused_ops(r, e)) return code;
  return epilogue::check_arguments(r, *e, channels);
}

}  // namespace hr

#endif
