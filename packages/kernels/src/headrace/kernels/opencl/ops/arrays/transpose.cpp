// Transpose, Tile, Reverse and space-to-depth: strided copies.
#include "codegen/copied_types.hpp"
#include "codegen/strided_copy.hpp"
#include "library/attributes.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"

namespace hr::cl {
namespace {

using Dims = int64_t[kMostWalkDims];

hr_code prepare_transpose(void*, hr_request* r) {
  HR_APPLY_RULE(transpose, r);
  const hr_tensor* x = r->inputs[0];
  Dims strides, from;
  row_major(x->rank, x->dims, strides);
  for (int32_t d = 0; d < x->rank; ++d)
    from[d] = strides[axis_of(int_at(r->inputs[1], d), x->rank)];
  return plan_copy(r, reading_walk(x->rank, r->outputs[0]->dims, from));
}

hr_code prepare_tile(void*, hr_request* r) {
  HR_APPLY_RULE(tile, r);
  const hr_tensor* x = r->inputs[0];
  Dims strides, dims, from;
  row_major(x->rank, x->dims, strides);
  for (int32_t d = 0; d < x->rank; ++d) {
    dims[2 * d] = int_at(r->inputs[1], d);
    from[2 * d] = 0;
    dims[2 * d + 1] = x->dims[d];
    from[2 * d + 1] = strides[d];
  }
  return plan_copy(r, reading_walk(2 * x->rank, dims, from));
}

hr_code prepare_reverse_v2(void*, hr_request* r) {
  HR_APPLY_RULE(unchanged, r);
  const hr_tensor* x = r->inputs[0];
  Dims from;
  row_major(x->rank, x->dims, from);
  bool backwards[HR_MAX_RANK] = {};
  int64_t begin = 0;
  for (int64_t i = 0, n = hr_elements(r->inputs[1]); i < n; ++i) {
    const int64_t attribute = int_at(r->inputs[1], i), axis = axis_of(attribute, x->rank);
    if (axis < 0)
      return hr_request_fail(r, HR_INVALID_ARGUMENT, "axis %lld is out of range for rank %d",
                             (long long)attribute, int(x->rank));
    if (backwards[axis])
      return hr_request_fail(r, HR_INVALID_ARGUMENT, "axis %lld is given twice", (long long)axis);
    backwards[axis] = true;
    begin += from[axis] * (x->dims[axis] - 1);
    from[axis] = -from[axis];
  }
  return plan_copy(r, reading_walk(x->rank, x->dims, from, begin));
}

hr_code prepare_space_to_depth(void*, hr_request* r) {
  HR_APPLY_RULE(space_to_depth, r);
  const hr_tensor* x = r->inputs[0];
  const int64_t b = hr_attr_int(r->node, "block_size", 1);
  if (attr_text(r->node, "data_format") == "NCHW") {
    // [n, c, h, i, w, j] -> [n, i, j, c, h, w]
    const int64_t n = x->dims[0], c = x->dims[1], h = x->dims[2] / b, w = x->dims[3] / b;
    const int64_t dims[] = {n, b, b, c, h, w};
    const int64_t row = w * b, plane = h * b * row;
    const int64_t from[] = {c * plane, row, 1, plane, b * row, b};
    return plan_copy(r, reading_walk(6, dims, from));
  }
  // [n, h, i, w, j, c] -> [n, h, w, i, j, c]
  const int64_t n = x->dims[0], h = x->dims[1] / b, w = x->dims[2] / b, c = x->dims[3];
  const int64_t dims[] = {n, h, w, b, b, c};
  const int64_t row = w * b * c;
  const int64_t from[] = {h * b * row, b * row, b * c, row, c, 1};
  return plan_copy(r, reading_walk(6, dims, from));
}

hr_code prepare_depth_to_space(void*, hr_request* r) {
  HR_APPLY_RULE(depth_to_space, r);
  const hr_tensor* x = r->inputs[0];
  const int64_t b = hr_attr_int(r->node, "block_size", 1);
  if (attr_text(r->node, "data_format") == "NCHW") {
    // [n, i, j, c, h, w] -> [n, c, h, i, w, j]
    const int64_t n = x->dims[0], c = x->dims[1] / (b * b), h = x->dims[2], w = x->dims[3];
    const int64_t dims[] = {n, c, h, b, w, b};
    const int64_t plane = h * w;
    const int64_t from[] = {c * b * b * plane, plane, w, b * c * plane, 1, c * plane};
    return plan_copy(r, reading_walk(6, dims, from));
  }
  // [n, h, w, i, j, c] -> [n, h, i, w, j, c]
  const int64_t n = x->dims[0], h = x->dims[1], w = x->dims[2], c = x->dims[3] / (b * b);
  const int64_t dims[] = {n, h, b, w, b, c};
  const int64_t depth = c * b * b;
  const int64_t from[] = {h * w * depth, w * depth, b * c, depth, c, 1};
  return plan_copy(r, reading_walk(6, dims, from));
}

}  // namespace

HR_KERNELS = {
    kernel("Transpose", "T=" HR_COPIED, prepare_transpose).constant(1),
    kernel("ConjugateTranspose", "T=" HR_COPIED_REALS, prepare_transpose).constant(1),
    kernel("Tile", "T=" HR_COPIED, prepare_tile).constant(1),
    kernel("ReverseV2", "T=" HR_COPIED, prepare_reverse_v2).constant(1),
    kernel("SpaceToDepth", "T=" HR_COPIED, prepare_space_to_depth),
    kernel("DepthToSpace", "T=" HR_COPIED, prepare_depth_to_space),
};

}  // namespace hr::cl
