// Parses the feature lists of a batch of SequenceExamples into tensors.
#pragma once

#include <string>
#include <vector>

#include "ops/parsing/batch.hpp"

namespace hr::parsing {

// A feature list that an op looks for, and where its values go.
struct ListColumn {
  Column::Kind kind = Column::kDense;
  std::string key;
  hr_dtype dtype = HR_INVALID;
  hr_tensor* values = nullptr;
  hr_tensor *indices = nullptr, *shape = nullptr;  // sparse
  // Ragged: the splits of messages into steps and of steps into values; int32 or int64.
  hr_tensor *outer_splits = nullptr, *inner_splits = nullptr;
  // Dense: the shape of a step, and the number of steps of each message, which may be null.
  Dims dims;
  hr_tensor* lengths = nullptr;
  bool may_lack = false;  // a message without the list has no steps
};

// Throws Failure: the error of the first message that has one.
void parse_feature_lists(const Batch& batch, const std::vector<ListColumn>& columns);

}  // namespace hr::parsing
