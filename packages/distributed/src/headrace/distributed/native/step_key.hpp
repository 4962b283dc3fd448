// What a step, and a value in one, is called on every task.
#pragma once
#include <cstddef>
#include <cstdint>

#include "headrace/worker.h"

namespace headrace::distributed {

struct StepKey {
  uint64_t session = 0, step = 0;
  bool operator==(const StepKey& other) const {
    return session == other.session && step == other.step;
  }
};

inline uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}
struct StepKeyHash {
  size_t operator()(const StepKey& key) const {
    return size_t(mixed(key.session + mixed(key.step)));
  }
};
struct EdgeHash {
  size_t operator()(const hr_edge_key& key) const {
    return size_t(
        mixed(uint64_t(key.edge) * 0x9e3779b97f4a7c15u + key.frame + uint64_t(key.iteration)));
  }
};
struct EdgeEqual {
  bool operator()(const hr_edge_key& a, const hr_edge_key& b) const {
    return a.edge == b.edge && a.frame == b.frame && a.iteration == b.iteration;
  }
};

}  // namespace headrace::distributed
