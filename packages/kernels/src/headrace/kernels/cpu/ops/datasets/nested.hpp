// Datasets that a function makes of elements, and the order in which several of them are read.
#pragma once

#include <memory>
#include <utility>

#include "ops/datasets/stages.hpp"

namespace hr::data {

// A function that takes elements and returns a dataset, whose elements have these types.
struct Nested {
  Captured f;
  std::vector<hr_dtype> types;
  Spec takes;

  static Nested of(const Arguments& arguments, const char* attribute, int32_t captured,
                   const Spec& input);
  DatasetRef make(Pipeline& pipeline, const Element& arguments) const;
};

// The dataset of one element, while it is read.
struct OpenDataset {
  Element arguments;  // of the function: a restored position makes the dataset anew
  DatasetRef dataset;
  std::unique_ptr<Stage> stage;  // null: closed
  int64_t index = 0;             // its place below `reader`

  void open(Pipeline& pipeline, const Stage& reader, const Nested& nested, Element from,
            int64_t index);
  void close();
  void save(StateWriter& to) const;
  void restore(Pipeline& pipeline, const Stage& reader, const Nested& nested, StateReader& from);
};

// The slot to read from: `block` elements of one, then the next.
class Cycle {
 public:
  struct Sizes {
    int64_t cycle, block;
  };
  static Sizes sizes_of(const Arguments& arguments);

  explicit Cycle(Sizes sizes) : sizes_(sizes) {}
  int64_t slot() const { return slot_; }
  void advance() {
    if (++in_block_ == sizes_.block) next_slot();
  }
  void next_slot() {
    in_block_ = 0;
    slot_ = (slot_ + 1) % sizes_.cycle;
  }
  void restart() { slot_ = in_block_ = 0; }
  void save(StateWriter& to) const {
    to.number(slot_);
    to.number(in_block_);
  }
  void restore(StateReader& from) {
    slot_ = from.number(0, sizes_.cycle - 1);
    in_block_ = from.number(0, sizes_.block - 1);
  }

 private:
  Sizes sizes_;
  int64_t slot_ = 0, in_block_ = 0;
};

}  // namespace hr::data
