// What most transformations have: one input dataset, or one function.
#pragma once

#include <memory>
#include <utility>

#include "ops/datasets/dataset.hpp"

namespace hr::data {

// A dataset with an input, whose stages `S(pipeline, dataset)` are.
template <class Self> class Transformed : public Dataset {
 public:
  Transformed(Spec s, DatasetRef in) : Dataset(std::move(s)), input(std::move(in)) {}
  std::unique_ptr<Stage> iterate(Pipeline& pipeline) const override {
    return std::make_unique<typename Self::Iterating>(pipeline, static_cast<const Self&>(*this));
  }
  const DatasetRef input;
};

// A stage over one input.
class Over : public Stage {
 public:
  Over(Pipeline& pipeline, const DatasetRef& dataset) : Stage(pipeline), input_(iterate(dataset)) {}

 protected:
  std::unique_ptr<Stage> input_;
};

// A function with what it captures.
struct Captured {
  Function function;
  Element captured;

  // `attribute`: of the function; `argument`: the list that it captures.
  static Captured of(const Arguments& arguments, const char* attribute, int32_t argument,
                     const std::vector<hr_dtype>& element) {
    Element captured = arguments.list(argument);
    Function function = arguments.function(attribute, element, captured);
    return {std::move(function), std::move(captured)};
  }
  Element operator()(Pipeline& pipeline, const Element& element) const {
    return call(pipeline, function, element, captured);
  }
};

// a * b, at most kAll.
inline int64_t times(int64_t a, int64_t b) {
  int64_t product;
  return __builtin_mul_overflow(a, b, &product) ? kAll : product;
}
inline int64_t plus(int64_t a, int64_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? kAll : sum;
}

// The number of batches of n elements; n may also be kInfinite or kUnknown.
inline int64_t batches_of(int64_t n, int64_t size, bool drop_remainder) {
  return n < 0 ? n : n / size + (n % size == 0 || drop_remainder ? 0 : 1);
}
// The number of elements of `count` rounds of n; a negative count: forever.
inline int64_t rounds_of(int64_t n, int64_t count) {
  if (n == 0 || count == 0) return 0;
  if (n < 0) return n;
  return count < 0 ? kInfinite : times(n, count);
}

// Beyond this, elements that one call takes in are not read on the thread of a step.
constexpr int64_t kManyAtOnce = 1000;

}  // namespace hr::data
