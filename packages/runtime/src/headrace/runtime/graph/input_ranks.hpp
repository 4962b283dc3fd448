// Checks the ranks of inputs before a kernel runs, so that a kernel that reads a scalar can rely on
// it.
#pragma once
#include <string>

#include "graph/graph_node.hpp"

namespace headrace {

inline std::string rank_names(uint16_t ranks) {
  std::string text;
  for (int rank = 0; rank < 9; ++rank) {
    if (!(ranks >> rank & 1)) continue;
    if (ranks >> rank == kAnyRank >> rank && rank)
      return (text.empty() ? "at least " : text + " or at least ") + std::to_string(rank);
    text += (text.empty() ? "" : " or ") + std::to_string(rank);
  }
  return text;
}

inline hr_code check_input_ranks(GraphNode* node, const hr_request* request) {
  static const char* const names[] = {"a scalar", "a vector", "a matrix"};
  for (size_t i = 0; i < node->input_ranks.size(); ++i) {
    const hr_tensor* x = request->inputs[i];
    const uint16_t allowed = node->input_ranks[i];
    if (x->rank < 0 || allowed >> (x->rank < 8 ? x->rank : 8) & 1) continue;
    std::string shape = "[";
    for (int32_t d = 0; d < x->rank && d < HR_MAX_RANK; ++d)
      shape += (d ? ", " : "") + std::to_string(x->dims[d]);
    std::string requested = "of rank " + rank_names(allowed);
    for (int rank = 0; rank < 3; ++rank)
      if (allowed == 1 << rank) requested = names[rank];
    const std::string text = "input " + std::to_string(i) + " must be " + requested +
                             ": Shape must be rank " + rank_names(allowed) + " but is rank " +
                             std::to_string(x->rank) + ", " + shape + "]";
    return node->abi_node.api->fail(&node->abi_node, HR_INVALID_ARGUMENT, "%s", text.c_str());
  }
  return HR_OK;
}

}  // namespace headrace
