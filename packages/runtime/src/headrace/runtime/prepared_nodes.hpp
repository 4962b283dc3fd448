// What kernels prepared for the nodes of one segment, by node and by what `prepare` was given.
//
// A new shape of a segment then lays out memory and prepares only what it has not met before.
#pragma once
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "executable.hpp"

namespace headrace {

class PreparedNodes {
 public:
  static constexpr size_t MOST_PER_NODE = 32;
  static constexpr size_t MOST_FUSED = 256;

  // Null: not prepared yet.
  std::shared_ptr<const PreparedNode> find(int32_t node, const std::string& key) {
    auto& kept = by_node_[node];
    const size_t hash = std::hash<std::string>()(key);
    for (auto it = kept.begin(); it != kept.end(); ++it)
      if (it->hash == hash && it->key == key) {
        kept.splice(kept.begin(), kept, it);
        return it->made;
      }
    return nullptr;
  }
  void keep(int32_t node, const std::string& key, const std::shared_ptr<PreparedNode>& made) {
    auto& kept = by_node_[node];
    kept.push_front({std::hash<std::string>()(key), key, made});
    if (kept.size() > MOST_PER_NODE) kept.pop_back();
  }

  // Nodes that stand for several of the graph's, by the text of what they compute.
  std::shared_ptr<GraphNode> find_fused(const std::string& text) {
    auto found = fused_.find(text);
    return found == fused_.end() ? nullptr : found->second;
  }
  void keep_fused(const std::string& text, const std::shared_ptr<GraphNode>& node) {
    if (fused_.size() >= MOST_FUSED) fused_.clear();
    fused_[text] = node;
  }

 private:
  struct Answer {
    size_t hash;
    std::string key;
    std::shared_ptr<const PreparedNode> made;
  };
  using Kept = std::list<Answer>;
  std::unordered_map<int32_t, Kept> by_node_;
  std::unordered_map<std::string, std::shared_ptr<GraphNode>> fused_;
};

// What decides the answer of `prepare`: threads, layouts, shapes, and values where they are known.
// False: a large value is known that may change its place, so the answer cannot be kept.
inline bool prepare_key(const std::vector<const hr_tensor*>& inputs,
                        const std::vector<uint8_t>& lasting, int32_t threads,
                        uint64_t private_layout, std::string* key) {
  const int64_t MOST_BYTES = 4096;
  const auto add = [key](const void* data, size_t bytes) {
    key->append(static_cast<const char*>(data), bytes);
  };
  key->clear();
  add(&threads, sizeof threads);
  add(&private_layout, sizeof private_layout);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const hr_tensor& t = *inputs[i];
    const int32_t rank = t.rank > 0 ? t.rank : 0;
    add(&t.dtype, sizeof t.dtype);
    add(&t.rank, sizeof t.rank);
    add(&t.layout, sizeof t.layout);
    add(t.dims, size_t(rank) * sizeof t.dims[0]);
    const char known = t.data == nullptr ? 0 : lasting[i] ? 2 : 1;
    key->push_back(known);
    if (known == 2) {
      add(&t.data, sizeof t.data);
    } else if (known == 1) {
      if (t.bytes > MOST_BYTES || t.dtype == HR_STRING || t.dtype == HR_VARIANT) return false;
      add(t.data, size_t(t.bytes));
    }
  }
  return true;
}

}  // namespace headrace
