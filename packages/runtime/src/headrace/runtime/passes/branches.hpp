// The branches of conditions that contain a node: it is dead in runs that do not take all of them.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

namespace headrace {

class Branches {
 public:
  void resize(size_t nodes) { of_.assign(nodes, {}); }
  bool always_runs(int32_t node) const { return of_[node].empty(); }

  // Producers come before their consumers: begin, add for each edge, end.
  void begin(int32_t node, bool merges) {
    node_ = node;
    merges_ = merges;
  }
  // predicate: the value that decides the producer, a Switch; port: the output of the edge. -1: the
  // producer is not a Switch.
  void add(int32_t producer, int32_t predicate, int32_t port) {
    auto& mine = of_[node_];
    mine.insert(mine.end(), of_[producer].begin(), of_[producer].end());
    if (predicate >= 0) mine.push_back(int64_t(predicate) * 2 + (port != 0));
  }
  void end() {
    auto& mine = of_[node_];
    if (mine.empty()) return;
    std::sort(mine.begin(), mine.end());
    mine.erase(std::unique(mine.begin(), mine.end()), mine.end());
    if (!merges_) return;
    // Both branches of a predicate join here, and one of them is taken.
    std::vector<int64_t> left;
    for (size_t i = 0; i < mine.size(); ++i) {
      if (i + 1 < mine.size() && mine[i] % 2 == 0 && mine[i + 1] == mine[i] + 1) ++i;
      else left.push_back(mine[i]);
    }
    mine = left;
  }

 private:
  std::vector<std::vector<int64_t>> of_;  // per node: predicate * 2 + port, sorted
  int32_t node_ = 0;
  bool merges_ = false;
};

}  // namespace headrace
