#include "codegen/strided_copy.hpp"

#include <algorithm>

#include "codegen/copied_types.hpp"
#include "codegen/tiled_transpose.hpp"

namespace hr::cl {
namespace {

Walk::Strides strides_of(int32_t rank, const int64_t* strides) {
  Walk::Strides result{};
  std::copy_n(strides, rank, result.begin());
  return result;
}

Walk walk_of(int32_t rank, const int64_t* dims) {
  Walk walk;
  walk.rank = rank;
  std::copy_n(dims, rank, walk.dims.begin());
  return walk;
}

}  // namespace

Element copy_element(hr_dtype dtype) {
  const hr_dtype as = copied_as(dtype);
  return cast_element(as, as, false);
}

Walk reading_walk(int32_t rank, const int64_t* dims, const int64_t* from, int64_t from_begin) {
  Walk walk = walk_of(rank, dims);
  walk.strides.push_back(strides_of(rank, from));
  walk.begins.push_back(from_begin);
  return walk;
}

Walk writing_walk(int32_t rank, const int64_t* dims, const int64_t* to, int64_t to_begin) {
  Walk walk = walk_of(rank, dims);
  Walk::Strides packed{};
  row_major(rank, dims, packed.data());
  walk.strides = {packed, strides_of(rank, to)};
  walk.begins = {0, to_begin};
  return walk;
}

hr_code plan_copy(hr_request* r, const Walk& walk) {
  if (is_tiled_transpose(device_of(r), walk)) return plan_tiled_transpose(r, walk);
  return plan_elementwise(r, copy_element(r->inputs[0]->dtype), walk, {0});
}

}  // namespace hr::cl
