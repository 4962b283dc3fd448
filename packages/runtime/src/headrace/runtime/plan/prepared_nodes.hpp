// A cache of `prepare` results for the nodes of one segment, by node and input of `prepare`.
//
// For a new shape of the segment, only nodes with new input shapes are prepared.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "plan/executable.hpp"

namespace headrace {

class PreparedNodes {
 public:
  static constexpr size_t MOST_PER_NODE = 32;
  static constexpr size_t MOST_FUSED = 256;

  // Null: not prepared yet.
  std::shared_ptr<const PreparedNode> find(int32_t node, const std::string& key) {
    auto found = by_node_.find(node);
    if (found == by_node_.end()) return nullptr;
    NodeEntries& kept = found->second;
    const uint32_t hash = hash_of(key);
    for (size_t i = 0; i < kept.hashes.size(); ++i)
      if (kept.hashes[i] == hash && kept.entries[i].key == key) {
        kept.used[i] = ++clock_;
        return kept.entries[i].prepared;
      }
    return nullptr;
  }
  void keep(int32_t node, const std::string& key, std::shared_ptr<const PreparedNode> prepared) {
    NodeEntries& kept = by_node_[node];
    const uint32_t hash = hash_of(key);
    if (kept.hashes.size() < MOST_PER_NODE) {
      kept.hashes.reserve(kept.hashes.size() + 1);  // either all three grow or none
      kept.used.reserve(kept.used.size() + 1);
      kept.entries.push_back({key, std::move(prepared)});
      kept.used.push_back(++clock_);
      kept.hashes.push_back(hash);
      return;
    }
    const size_t oldest =
        size_t(std::min_element(kept.used.begin(), kept.used.end()) - kept.used.begin());
    kept.entries[oldest].key = key;
    kept.entries[oldest].prepared = std::move(prepared);
    kept.used[oldest] = ++clock_;
    kept.hashes[oldest] = hash;
  }

  // Outputs that are constant as long as the session's state lives: handles of variables. Null: not
  // known yet.
  const std::vector<hr_tensor>* find_session_constant(int32_t node) const {
    auto found = by_node_.find(node);
    if (found == by_node_.end() || found->second.session_constant.empty()) return nullptr;
    return &found->second.session_constant;
  }
  void keep_session_constant(int32_t node, const std::vector<hr_tensor*>& outputs) {
    std::vector<hr_tensor> session_constant;
    std::vector<BufferRef> held;
    held.reserve(outputs.size());  // so that every retained buffer gets a BufferRef
    for (const hr_tensor* t : outputs) {
      session_constant.push_back(*t);
      if (!t->owner) continue;
      buffer_retain(t->owner);
      held.emplace_back(t->owner);
    }
    NodeEntries& kept = by_node_[node];
    kept.session_constant.swap(session_constant);
    kept.held.swap(held);
  }

  // Fused nodes, by their program or by the nodes that they replace.
  std::shared_ptr<GraphNode> find_fused(const std::string& text) {
    auto found = fused_.find(text);
    return found == fused_.end() ? nullptr : found->second;
  }
  void keep_fused(const std::string& text, const std::shared_ptr<GraphNode>& node) {
    if (fused_.size() >= MOST_FUSED) fused_.clear();
    fused_[text] = node;
  }

 private:
  struct Entry {
    std::string key;
    std::shared_ptr<const PreparedNode> prepared;
  };
  // Hashes are contiguous: a new shape reads each hash of each node, and the rest only rarely.
  struct NodeEntries {
    std::vector<uint32_t> hashes;
    std::vector<int64_t> used;
    std::vector<Entry> entries;
    std::vector<hr_tensor> session_constant;
    std::vector<BufferRef> held;
  };
  static uint32_t hash_of(const std::string& key) {
    return uint32_t(std::hash<std::string>()(key));
  }
  // By the number of a node in the program, of which a segment may have few.
  std::unordered_map<int32_t, NodeEntries> by_node_;
  int64_t clock_ = 0;
  std::unordered_map<std::string, std::shared_ptr<GraphNode>> fused_;
};

// Sets the key of a `prepare` result: threads, layouts, shapes, and known values. False: a large
// known value may move, so the result cannot be cached.
inline bool prepare_key(const std::vector<const hr_tensor*>& inputs,
                        const std::vector<uint8_t>& session_constant, int32_t threads,
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
    const char known = t.data == nullptr ? 0 : session_constant[i] ? 2 : 1;
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
