// How a GPU finds all updates of one row without looking through all indices for each.
#ifndef HEADRACE_OPENCL_CODEGEN_ROW_ORDER_HPP
#define HEADRACE_OPENCL_CODEGEN_ROW_ORDER_HPP

#include <cstdint>
#include <string>

#include "launch/sequence.hpp"

namespace hr::cl {

// Where sorted indices are, in a workspace: the rows that they name in order, and the numbers, as
// int32, of the indices that named them.
struct RowOrder {
  Place rows{}, numbers{};
};

// Whether n indices are sorted before their rows are updated. Fewer are looked through for each
// row, which costs less than the launches.
bool sorts_rows(const Traits& traits, int64_t n);

// Sorts n indices of the dtype: by the row that they name, and then by number. Reserves the
// workspace of the result.
bool add_row_order(Device& device, hr_dtype dtype, Place indices, int64_t n, Sequence* to,
                   RowOrder* order, std::string* error);

}  // namespace hr::cl

#endif
