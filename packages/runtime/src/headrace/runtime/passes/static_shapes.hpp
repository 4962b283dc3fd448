// Shapes before a run, as far as the graph says them. Unknown sizes count as 1, absurd ones are cut
// off, so that sums of them do not overflow.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "graph/attributes.hpp"
#include "graph/graph_node.hpp"
#include "headrace/shape_rules.h"
#include "passes/known_values.hpp"
#include "passes/op_flops.hpp"

namespace headrace {

using ::hr_shape_fn;
using ::hr_shape_rule_by_name;

constexpr int32_t kUnknownRank = -1;
constexpr int64_t kMostBytes = int64_t(1) << 50;

// The values of a graph by number. A value of unknown rank has the `bytes` of its largest input.
class StaticShapes {
 public:
  void resize(size_t n_values) {
    hr_tensor unknown;
    std::memset(&unknown, 0, sizeof unknown);
    unknown.rank = kUnknownRank;
    values_.assign(n_values, unknown);
  }
  hr_tensor& operator[](int32_t value) { return values_[size_t(value)]; }

  // As a placeholder or a variable declares it.
  void declare(hr_tensor& value, const GraphNode& node) const {
    int32_t rank = kUnknownRank;
    const int64_t* dims = nullptr;
    if (node.abi_node.api->attr_shape(&node.abi_node, "shape", &rank, &dims) == HR_OK)
      set_dims(value, rank, dims);
  }
  void copy(const hr_tensor& from, hr_tensor& to) const {
    to.rank = from.rank;
    to.bytes = from.bytes;
    std::memcpy(to.dims, from.dims, sizeof to.dims);
  }

  // The outputs of a node, by the rule of its op. rule: may be null.
  void infer(hr_shape_fn rule, GraphNode& node, const std::vector<int32_t>& inputs,
             int32_t first_output) {
    in_.clear();
    out_.clear();
    bool complete = true;
    int64_t most = 0;
    for (int32_t value : inputs) {
      in_.push_back(&values_[size_t(value)]);
      complete = complete && in_.back()->rank >= 0;
      most = std::max(most, in_.back()->bytes);
    }
    const int32_t n = node.abi_node.n_outputs;
    for (int32_t k = 0; k < n; ++k) {
      out_.push_back(&values_[size_t(first_output + k)]);
      out_.back()->rank = kUnset;
    }
    if (node.op == "Const" && n == 1 && read_constant(node, *out_[0])) return;
    hr_request request;
    std::memset(&request, 0, sizeof request);
    request.size = sizeof request;
    request.node = &node.abi_node;
    request.inputs = in_.data();
    request.outputs = out_.data();
    request.threads = 1;
    const bool given =
        rule && complete && rule(&request) == HR_OK && !request.shape_depends_on_data;
    for (hr_tensor* value : out_) {
      if (!given || value->rank < 0) value->rank = kUnknownRank;
    }
    if (complete) known_.propagate(node, in_.data(), out_.data());
    for (hr_tensor* value : out_) {
      if (value->rank < 0) value->bytes = most;
      else count(*value);
    }
  }

  static void count(hr_tensor& value) {
    const double bytes = count_elements(&value) * double(hr_dtype_size(value.dtype));
    value.bytes = bytes < double(kMostBytes) ? int64_t(bytes) : kMostBytes;
  }

 private:
  static constexpr int32_t kUnset = -2;

  // Its values, too, where shapes may depend on them; others may be large.
  static bool read_constant(GraphNode& node, hr_tensor& value) {
    AttrScalar scalar;
    TensorHeader header;
    if (find_scalar(&node, "value", kTensor, scalar) != HR_OK ||
        !parse_tensor_header(scalar.bytes, header))
      return false;
    value.rank = header.rank;
    std::memcpy(value.dims, header.dims, sizeof value.dims);
    count(value);
    const hr_tensor* read = nullptr;
    if (header.elements <= HR_MAX_INTS && (value.dtype == HR_INT32 || value.dtype == HR_INT64) &&
        node.abi_node.api->attr_tensor(&node.abi_node, "value", &read) == HR_OK)
      value.data = read->data;
    return true;
  }
  static void set_dims(hr_tensor& value, int32_t rank, const int64_t* dims) {
    if (rank < 0 || rank > HR_MAX_RANK) return;
    value.rank = rank;
    for (int32_t i = 0; i < rank; ++i) value.dims[i] = dims[i] < 0 ? 1 : dims[i];
    count(value);
  }

  std::vector<hr_tensor> values_;
  std::vector<const hr_tensor*> in_;
  std::vector<hr_tensor*> out_;
  KnownValues known_;
};

}  // namespace headrace
