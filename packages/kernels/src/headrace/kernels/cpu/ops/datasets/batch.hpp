// Batches of elements.
#pragma once

#include <vector>

#include "ops/datasets/dataset.hpp"

namespace hr::data {

// Stacks elements of equal shapes. Requires at least one.
Element stacked(hr_ctx* ctx, const std::vector<Element>& rows);
// A positive batch size.
int64_t batch_size_of(const Arguments& arguments, int32_t argument);

// The elements of a batch that is not complete.
class Rows {
 public:
  // Reads up to `size` rows. False: there is no batch any more. Throws Failure.
  bool collect(Pipeline& pipeline, Stage& input, int64_t size, bool drop_remainder);
  void save(StateWriter& to) const;
  void restore(StateReader& from, const Spec& row);
  std::vector<Element> rows;

 private:
  bool ended_ = false;
};

}  // namespace hr::data
