// The generator of a random op. A session keeps one per node; concurrent runs share it.
#ifndef HEADRACE_LIBRARY_RANDOM_RANDOM_STATE_HPP
#define HEADRACE_LIBRARY_RANDOM_RANDOM_STATE_HPP

#include <mutex>

#include "headrace/kernel.h"
#include "library/random/philox.hpp"

namespace hr {

class RandomState {
 public:
  RandomState(uint64_t seed, uint64_t seed2) : stream_(seed, seed2) {}

  // The stream from here on; the next caller begins `blocks` later.
  Philox reserve(uint64_t blocks) {
    std::lock_guard<std::mutex> hold(mutex_);
    const Philox mine = stream_;
    stream_.skip(blocks);
    return mine;
  }

  // Goes on where another stands.
  void take(RandomState& other) { stream_ = other.reserve(0); }

 private:
  std::mutex mutex_;
  Philox stream_;
};

// For rows: from the attributes seed and seed2; both 0 means a seed of the system's.
hr_code make_random_state(hr_node* node, void** state);
void end_random_state(void* state);

// TensorFlow keeps that many blocks for every output, whatever the distribution takes.
constexpr uint64_t kReservedBlocks = 256;

// The seed pair of a stateless op.
Philox stateless_stream(const hr_tensor* seed);

}  // namespace hr

#endif
