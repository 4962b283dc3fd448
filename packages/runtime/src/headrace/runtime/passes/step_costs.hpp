// What nodes take: expected by their numbers in a graph, and measured by their names.
#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "threads/cost_model.hpp"

namespace headrace {

struct StepCosts {
  std::vector<double> expected_ns;   // per node, on one thread, from static shapes
  std::vector<double> measured_ns;   // below 0: not measured
  std::vector<uint8_t> folded;       // computed once, when a program is specialised
  std::vector<int32_t> first_value;  // per node: the number of its first output
  std::vector<int64_t> bytes;        // per output
};

struct MeasuredCost {
  Cost time;                          // of one step
  std::vector<int64_t> output_bytes;  // of its last run; may be shorter than its outputs
};

class MeasuredCosts {
 public:
  void add(const std::string& name, double ns, const std::vector<int64_t>& output_bytes) {
    MeasuredCost& cost = by_name_[name];
    cost.time.add_sample(ns);
    if (!output_bytes.empty()) cost.output_bytes = output_bytes;
  }
  // Null: not measured.
  const MeasuredCost* find(const std::string& name) const {
    auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : &found->second;
  }
  size_t size() const { return by_name_.size(); }

 private:
  std::unordered_map<std::string, MeasuredCost> by_name_;
};

}  // namespace headrace
