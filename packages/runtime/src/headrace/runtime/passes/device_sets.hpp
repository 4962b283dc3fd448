// Sets of devices, each stored once, so that equal sets have equal numbers.
#pragma once
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

namespace headrace {

// A graph has few different sets (what its requests and kernels allow), and many nodes.
class DeviceSets {
 public:
  static constexpr int32_t kNone = 0, kAll = 1;

  explicit DeviceSets(int32_t n_devices) {
    add({});
    std::vector<int32_t> all;
    for (int32_t i = 0; i < n_devices; ++i) all.push_back(i);
    add(std::move(all));
  }

  // members: in ascending order.
  int32_t add(std::vector<int32_t> members) {
    auto found = numbers_.find(members);
    if (found != numbers_.end()) return found->second;
    const int32_t number = int32_t(sets_.size());
    sets_.push_back(members);
    numbers_.emplace(std::move(members), number);
    return number;
  }
  int32_t only(int32_t device) { return add({device}); }

  int32_t both(int32_t a, int32_t b) {
    if (a == b || b == kAll) return a;
    if (a == kAll) return b;
    if (a > b) std::swap(a, b);
    const uint64_t key = uint64_t(a) << 32 | uint32_t(b);
    auto found = intersections_.find(key);
    if (found != intersections_.end()) return found->second;
    std::vector<int32_t> common;
    std::set_intersection(sets_[size_t(a)].begin(), sets_[size_t(a)].end(),
                          sets_[size_t(b)].begin(), sets_[size_t(b)].end(),
                          std::back_inserter(common));
    return intersections_[key] = add(std::move(common));
  }

  const std::vector<int32_t>& members(int32_t set) const { return sets_[size_t(set)]; }
  bool has(int32_t set, int32_t device) const {
    return std::binary_search(sets_[size_t(set)].begin(), sets_[size_t(set)].end(), device);
  }
  bool empty(int32_t set) const { return sets_[size_t(set)].empty(); }
  int32_t size(int32_t set) const { return int32_t(sets_[size_t(set)].size()); }
  int32_t lowest(int32_t set) const { return sets_[size_t(set)].front(); }

 private:
  std::vector<std::vector<int32_t>> sets_;
  std::map<std::vector<int32_t>, int32_t> numbers_;
  std::unordered_map<uint64_t, int32_t> intersections_;
};

}  // namespace headrace
