// A step as it is expected to run: when each node starts and ends, on which device (white paper
// §3.2.1).
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "passes/device_sets.hpp"

namespace headrace {

// What runs nodes, and what passes tensors on.
struct Machine {
  std::vector<int32_t> task_of;     // per device
  std::vector<uint8_t> uses_cores;  // per device: its nodes share the cores of its task
  int32_t cores = 1;                // of each task
  double between_devices_ns = 0;    // of one task
  double between_tasks_ns = 0;      // and for each byte:
  double ns_per_byte = 0;
  // How long a transfer occupies either device.
  double sending_ns = 0, sending_to_task_ns = 0;
  int32_t n_tasks() const {
    int32_t most = -1;
    for (int32_t task : task_of) most = std::max(most, task);
    return most + 1;
  }
};

struct StepInput {
  int32_t producer;
  int32_t value;  // of StepGraph::bytes; -1: a control edge
};

enum Presence : uint8_t {
  kOnItsDevice = 0,
  kFloats = 1,     // a constant: without a device, it is beside its first consumer
  kOnItsTask = 2,  // a feed: on all devices of the task
};

// Nodes by number, in any order; edges that close loops are left out.
struct StepGraph {
  std::vector<double> ns;
  std::vector<uint8_t> wide;  // whether it occupies all cores of its task
  std::vector<Presence> presence;
  std::vector<int32_t> rank;         // the order of nodes that are ready at the same time
  std::vector<int32_t> first_input;  // one more than nodes
  std::vector<StepInput> inputs;
  std::vector<int64_t> bytes;  // per value
  size_t size() const { return ns.size(); }
};

// Where a group of nodes runs: on `device`, or, where that is -1, on the one of the set that ends
// its first node soonest.
struct GroupPlace {
  int32_t device = -1;
  int32_t allowed = DeviceSets::kNone;
};

struct DeviceEstimate {
  int32_t device;
  double finish_ns;
};

class SimulatedStep {
 public:
  std::vector<double> start, finish;  // per node
  std::vector<double> busy;           // per device
  double length = 0;

  SimulatedStep(const StepGraph& graph, const Machine& machine)
      : graph_(graph), machine_(machine), n_tasks_(machine.n_tasks()) {
    const size_t n = graph.size();
    consumers_first_.assign(n + 1, 0);
    for (const StepInput& input : graph.inputs) ++consumers_first_[size_t(input.producer) + 1];
    for (size_t i = 0; i < n; ++i) consumers_first_[i + 1] += consumers_first_[i];
    consumers_.resize(graph.inputs.size());
    std::vector<int32_t> at(consumers_first_.begin(), consumers_first_.end() - 1);
    for (size_t i = 0; i < n; ++i)
      for (int32_t k = graph.first_input[i]; k < graph.first_input[i + 1]; ++k)
        consumers_[size_t(at[size_t(graph.inputs[size_t(k)].producer)]++)] = int32_t(i);
  }

  // Runs the step. group: per node. Groups without a device get one; if `estimates` is not null, it
  // gets, for the node at which a group was placed, when it would have ended on which device.
  // False: the edges close a circle.
  bool run(const std::vector<int32_t>& group, std::vector<GroupPlace>& places,
           const DeviceSets& sets,
           std::unordered_map<int32_t, std::vector<DeviceEstimate>>* estimates) {
    const size_t n = graph_.size();
    const size_t n_devices = machine_.task_of.size();
    start.assign(n, 0);
    finish.assign(n, 0);
    busy.assign(n_devices, 0);
    device_free_.assign(n_devices, 0);
    link_free_.assign(size_t(n_tasks_), 0);
    arrived_.clear();
    start_cores();
    group_ = &group;
    places_ = &places;
    sets_ = &sets;
    length = 0;
    std::vector<int32_t> missing(n);
    Queue ready;
    for (size_t i = 0; i < n; ++i) {
      missing[i] = graph_.first_input[i + 1] - graph_.first_input[i];
      if (!missing[i]) ready.emplace(0.0, graph_.rank[i], int32_t(i));
    }
    size_t done = 0;
    while (!ready.empty()) {
      const int32_t i = std::get<2>(ready.top());
      ready.pop();
      ++done;
      GroupPlace& place = places[size_t(group[size_t(i)])];
      if (place.device < 0 && graph_.presence[size_t(i)] != kFloats)
        place.device = soonest(i, sets.members(place.allowed), estimates);
      if (place.device >= 0) commit(i, place.device);
      for (int32_t k = consumers_first_[size_t(i)]; k < consumers_first_[size_t(i) + 1]; ++k) {
        const int32_t consumer = consumers_[size_t(k)];
        if (--missing[size_t(consumer)]) continue;
        double at = 0;
        for (int32_t m = graph_.first_input[size_t(consumer)];
             m < graph_.first_input[size_t(consumer) + 1]; ++m)
          at = std::max(at, finish[size_t(graph_.inputs[size_t(m)].producer)]);
        ready.emplace(at, graph_.rank[size_t(consumer)], consumer);
      }
    }
    for (size_t i = 0; i < n; ++i) settle(int32_t(i), -1);
    return done == n;
  }

 private:
  using Ready = std::tuple<double, int32_t, int32_t>;  // time, rank, node
  using Queue = std::priority_queue<Ready, std::vector<Ready>, std::greater<Ready>>;
  // Above this number of devices, only those are tried that hold an input or are free first.
  static constexpr size_t kMostTried = 16;

  int32_t device_of(int32_t node) const {
    return (*places_)[size_t((*group_)[size_t(node)])].device;
  }

  // Places what floats and a node on a device needs, beside it where it may.
  void settle(int32_t node, int32_t device) {
    std::vector<int32_t> stack(1, node);
    while (!stack.empty()) {
      const int32_t i = stack.back();
      stack.pop_back();
      GroupPlace& place = (*places_)[size_t((*group_)[size_t(i)])];
      if (place.device >= 0) continue;
      place.device = sets_->has(place.allowed, device) ? device : sets_->lowest(place.allowed);
      for (int32_t k = graph_.first_input[size_t(i)]; k < graph_.first_input[size_t(i) + 1]; ++k)
        stack.push_back(graph_.inputs[size_t(k)].producer);
    }
  }

  void start_cores() {
    std::vector<int32_t> sharing(size_t(n_tasks_), 0);
    for (size_t d = 0; d < machine_.task_of.size(); ++d)
      sharing[size_t(machine_.task_of[d])] += machine_.uses_cores[d];
    core_free_.assign(size_t(n_tasks_), {});
    for (size_t t = 0; t < core_free_.size(); ++t)
      core_free_[t].assign(size_t(std::max(1, std::min(machine_.cores, sharing[t]))), 0.0);
  }

  int32_t soonest(int32_t node, const std::vector<int32_t>& allowed,
                  std::unordered_map<int32_t, std::vector<DeviceEstimate>>* estimates) {
    if (allowed.size() == 1) return allowed.front();
    const std::vector<int32_t>& tried =
        allowed.size() > kMostTried ? likely(node, allowed) : allowed;
    int32_t best = -1;
    double best_finish = std::numeric_limits<double>::max();
    for (int32_t device : tried) {
      double receiving = 0;
      const double there = arrival(node, device, &receiving);
      const double at = begin(node, device, there) + graph_.ns[size_t(node)] + receiving;
      if (estimates) (*estimates)[node].push_back({device, at});
      if (at < best_finish) {
        best = device;
        best_finish = at;
      }
    }
    return best;
  }

  const std::vector<int32_t>& likely(int32_t node, const std::vector<int32_t>& allowed) {
    likely_.assign(1, allowed.front());
    for (int32_t k = graph_.first_input[size_t(node)]; k < graph_.first_input[size_t(node) + 1];
         ++k) {
      const int32_t device = device_of(graph_.inputs[size_t(k)].producer);
      if (std::binary_search(allowed.begin(), allowed.end(), device)) likely_.push_back(device);
    }
    int32_t first_free = allowed.front();
    for (int32_t device : allowed)
      if (device_free_[size_t(device)] < device_free_[size_t(first_free)]) first_free = device;
    likely_.push_back(first_free);
    std::sort(likely_.begin(), likely_.end());
    likely_.erase(std::unique(likely_.begin(), likely_.end()), likely_.end());
    return likely_;
  }

  uint64_t key(const StepInput& input, int32_t task) const {
    const uint64_t what =
        input.value >= 0 ? uint64_t(input.value) : graph_.bytes.size() + uint64_t(input.producer);
    return what * uint64_t(n_tasks_) + uint64_t(task);
  }

  // When an input is there; `sent`: when its task may send the next one.
  double arrival(const StepInput& input, int32_t device, double* sent) const {
    const int32_t source = device_of(input.producer);
    const double made = finish[size_t(input.producer)];
    if (source == device || source < 0) return made;
    const int32_t from = machine_.task_of[size_t(source)], to = machine_.task_of[size_t(device)];
    if (from == to)
      return graph_.presence[size_t(input.producer)] == kOnItsTask
                 ? made
                 : made + machine_.between_devices_ns;
    auto found = arrived_.find(key(input, to));
    if (found != arrived_.end()) return found->second;
    const double bytes = input.value >= 0 ? double(graph_.bytes[size_t(input.value)]) : 0.0;
    *sent = std::max(made, link_free_[size_t(from)]) + bytes * machine_.ns_per_byte;
    return *sent + machine_.between_tasks_ns;
  }
  // When all inputs of a node are there, and how long receiving them occupies the device.
  double arrival(int32_t node, int32_t device, double* receiving) const {
    double last = 0;
    for (int32_t k = graph_.first_input[size_t(node)]; k < graph_.first_input[size_t(node) + 1];
         ++k) {
      const StepInput& input = graph_.inputs[size_t(k)];
      double sent = 0;
      last = std::max(last, arrival(input, device, &sent));
      if (sent > 0) *receiving += machine_.sending_to_task_ns;
      else if (passes_within(input, device)) *receiving += machine_.sending_ns;
    }
    return last;
  }
  bool passes_within(const StepInput& input, int32_t device) const {
    const int32_t source = device_of(input.producer);
    return source >= 0 && source != device &&
           machine_.task_of[size_t(source)] == machine_.task_of[size_t(device)] &&
           graph_.presence[size_t(input.producer)] != kOnItsTask;
  }

  // When a node can begin whose inputs are there at a time.
  double begin(int32_t node, int32_t device, double at) const {
    at = std::max(at, device_free_[size_t(device)]);
    if (graph_.ns[size_t(node)] <= 0 || !machine_.uses_cores[size_t(device)]) return at;
    const std::vector<double>& cores = core_free_[size_t(machine_.task_of[size_t(device)])];
    return std::max(at, graph_.wide[size_t(node)] ? *std::max_element(cores.begin(), cores.end())
                                                  : *std::min_element(cores.begin(), cores.end()));
  }

  void commit(int32_t node, int32_t device) {
    const int32_t task = machine_.task_of[size_t(device)];
    double at = 0, receiving = 0;
    for (int32_t k = graph_.first_input[size_t(node)]; k < graph_.first_input[size_t(node) + 1];
         ++k) {
      const StepInput& input = graph_.inputs[size_t(k)];
      if (device_of(input.producer) < 0) settle(input.producer, device);
      double sent = 0;
      const double there = arrival(input, device, &sent);
      at = std::max(at, there);
      const size_t source = size_t(device_of(input.producer));
      if (sent > 0) {
        arrived_[key(input, task)] = there;
        link_free_[size_t(machine_.task_of[source])] = sent;
        device_free_[source] += machine_.sending_to_task_ns;
        receiving += machine_.sending_to_task_ns;
      } else if (passes_within(input, device)) {
        device_free_[source] += machine_.sending_ns;
        receiving += machine_.sending_ns;
      }
    }
    const double ns = graph_.ns[size_t(node)] + receiving;
    if (ns > 0) at = begin(node, device, at);
    start[size_t(node)] = at;
    finish[size_t(node)] = at + ns;
    length = std::max(length, at + ns);
    if (ns <= 0) return;  // it does not wait for its device
    busy[size_t(device)] += ns;
    device_free_[size_t(device)] = at + ns;
    if (!machine_.uses_cores[size_t(device)]) return;
    std::vector<double>& cores = core_free_[size_t(task)];
    if (graph_.wide[size_t(node)]) cores.assign(cores.size(), at + ns);
    else *std::min_element(cores.begin(), cores.end()) = at + ns;
  }

  const StepGraph& graph_;
  const Machine& machine_;
  const int32_t n_tasks_;
  std::vector<int32_t> consumers_first_, consumers_, likely_;
  const std::vector<int32_t>* group_ = nullptr;
  std::vector<GroupPlace>* places_ = nullptr;
  const DeviceSets* sets_ = nullptr;
  std::vector<double> device_free_, link_free_;
  std::vector<std::vector<double>> core_free_;  // per task
  std::unordered_map<uint64_t, double> arrived_;
};

}  // namespace headrace
