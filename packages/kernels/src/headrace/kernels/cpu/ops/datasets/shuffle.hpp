// Shuffles whose input is read several times.
#pragma once

#include <memory>

#include "ops/datasets/dataset.hpp"
#include "ops/datasets/pipeline.hpp"

namespace hr::data {

// The rounds of a shuffle as one stage, which begins to read the next round before the buffer is
// empty. Null: `input` is no shuffle that has another order in each round. Throws InvalidArgument
// for a count that shuffle_and_repeat does not take.
std::unique_ptr<Stage> shuffle_and_repeat(Pipeline& pipeline, const Dataset& input, int64_t count);

}  // namespace hr::data
