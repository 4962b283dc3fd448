// Datasets of elements that are held in memory.
#pragma once

#include <vector>

#include "ops/datasets/dataset.hpp"

namespace hr::data {

DatasetRef dataset_of(Spec spec, std::vector<Element> elements);

}  // namespace hr::data
