// Conditional accumulators: sums of gradients that steps of the same global step apply, taken once
// enough of them have been applied. Stale gradients are dropped.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "memory/dtype_names.hpp"
#include "state/synchronisation/waiting.hpp"

namespace headrace {

struct AccumulatorSpec {
  hr_dtype dtype = HR_INVALID;
  int32_t rank = -1;          // of the declared shape; -1: any
  std::vector<int64_t> dims;  // -1: any
  bool mean = true;           // divide by the number of gradients
  bool sparse = false;
  std::string name;
};

// The sum so far.
struct GradientSum {
  OwnedTensor value;
  // Of a sparse sum: which rows of the gradient `value` has, and how many gradients each sums.
  std::vector<int64_t> indices, counts;
  int64_t count = 0;  // gradients

  void swap(GradientSum& other) {
    value.swap(other.value);
    indices.swap(other.indices);
    counts.swap(other.counts);
    std::swap(count, other.count);
  }
};

struct TakeGradient : Waiting {
  int64_t required = 1;
  GradientSum sum;
};

class Accumulator : public Waitable<Accumulator, TakeGradient> {
 public:
  AccumulatorSpec spec;
  // Writes the outputs of a take.
  hr_code (*complete_take)(Accumulator*, TakeGradient*) = nullptr;

  // Calls add(&sum) if the gradient is of the current global step or a later one; it adds one
  // gradient to the sum, or returns an error and leaves the sum as it was.
  template <class Add>
  hr_code apply(int64_t local_step, const Add& add) {
    hr_code code = HR_OK;
    change([&](Waiters*) {
      if (local_step < global_step_) return;
      code = add(&sum_);
      if (code == HR_OK) ++sum_.count;
    });
    return code;
  }

  void set_global_step(int64_t step) {
    std::lock_guard<std::mutex> hold(lock_);
    global_step_ = step;
  }

  int64_t count() {
    std::lock_guard<std::mutex> hold(lock_);
    return sum_.count;
  }

 private:
  friend class Waitable<Accumulator, TakeGradient>;
  GradientSum sum_;
  int64_t global_step_ = 0;
  Waiters takes_;

  Waiters& list_of(const TakeGradient*) { return takes_; }
  void withdraw(TakeGradient*) {}
  std::string cancelled_text(const TakeGradient*) const {
    return "TakeGrad operation was cancelled: it waited for accumulator '" + spec.name + "'";
  }

  void settle(Waiters* finished) {
    while (!takes_.empty() && sum_.count >= takes_.front()->required) {
      takes_.front()->sum.swap(sum_);
      ++global_step_;
      finished->splice(finished->end(), takes_, takes_.begin());
    }
  }

  hr_code complete(TakeGradient* take) { return complete_take(this, take); }
};

}  // namespace headrace
