// Ops that are strided copies: Transpose, Tile, BroadcastTo, Reverse, SpaceToDepth, DepthToSpace.
#include <algorithm>
#include <memory>

#include "library/attributes.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "loops/elements.hpp"
#include "loops/strided_copy.hpp"
#include "math/arithmetic.hpp"

namespace hr {
namespace {

using Dims = int64_t[StridedCopy::kMostDims];

// Output dimension d walks the input's dimension perm[d].
StridedCopy* permuted(const hr_tensor* from, const int64_t* perm) {
  Dims strides, dims, to, source;
  row_major(from->rank, from->dims, strides);
  for (int32_t d = 0; d < from->rank; ++d) {
    dims[d] = from->dims[perm[d]];
    source[d] = strides[perm[d]];
  }
  row_major(from->rank, dims, to);
  return new StridedCopy(from->dtype, from->rank, dims, to, source);
}

hr_code prepare_transpose(void*, hr_request* r) {
  if (hr_code code = hr_shape_transpose(r)) return code;
  int64_t perm[HR_MAX_RANK];
  for (int32_t d = 0; d < r->inputs[0]->rank; ++d)
    perm[d] = axis_of(int_at(r->inputs[1], d), r->inputs[0]->rank);
  return prepare_copy(r, permuted(r->inputs[0], perm));
}

template <class T>
hr_code transpose_conjugated(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                             hr_tensor* const* out, void*) {
  static_cast<const StridedCopy*>(plan)->run(ctx, out[0]->data, in[0]->data);
  T* to = write<T>(out[0]);
  const int64_t n = hr_elements(out[0]);
  for (int64_t i = 0; i < n; ++i) to[i] = conjugate(to[i]);
  return HR_OK;
}

hr_code prepare_conjugate_transpose(void* state, hr_request* r) {
  if (hr_code code = prepare_transpose(state, r)) return code;
  if (r->inputs[0]->dtype == HR_COMPLEX64) r->compute = transpose_conjugated<complex64>;
  if (r->inputs[0]->dtype == HR_COMPLEX128) r->compute = transpose_conjugated<complex128>;
  return HR_OK;
}

hr_code prepare_tile(void*, hr_request* r) {
  if (hr_code code = hr_shape_tile(r)) return code;
  const hr_tensor* x = r->inputs[0];
  Dims strides, dims, to, from;
  row_major(x->rank, x->dims, strides);
  for (int32_t d = 0; d < x->rank; ++d) {
    dims[2 * d] = int_at(r->inputs[1], d);
    from[2 * d] = 0;
    dims[2 * d + 1] = x->dims[d];
    from[2 * d + 1] = strides[d];
  }
  row_major(2 * x->rank, dims, to);
  return prepare_copy(r, new StridedCopy(x->dtype, 2 * x->rank, dims, to, from));
}

hr_code prepare_broadcast_to(void*, hr_request* r) {
  if (hr_code code = hr_shape_broadcast_to(r)) return code;
  const hr_tensor *x = r->inputs[0], *y = r->outputs[0];
  Dims strides, to, from;
  row_major(x->rank, x->dims, strides);
  for (int32_t d = 0; d < y->rank; ++d) {
    const int32_t s = d - (y->rank - x->rank);
    from[d] = s >= 0 && x->dims[s] != 1 ? strides[s] : 0;
  }
  row_major(y->rank, y->dims, to);
  return prepare_copy(r, new StridedCopy(x->dtype, y->rank, y->dims, to, from));
}

StridedCopy* reversed(const hr_tensor* x, const bool* backwards) {
  Dims to, from;
  row_major(x->rank, x->dims, to);
  int64_t offset = 0;
  for (int32_t d = 0; d < x->rank; ++d) {
    from[d] = backwards[d] ? -to[d] : to[d];
    if (backwards[d]) offset += to[d] * (x->dims[d] - 1);
  }
  return new StridedCopy(x->dtype, x->rank, x->dims, to, from, 0, offset);
}

hr_code prepare_reverse_v2(void*, hr_request* r) {
  if (hr_code code = hr_shape_unchanged(r)) return code;
  bool backwards[HR_MAX_RANK] = {};
  const int64_t n = hr_elements(r->inputs[1]);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t attribute = int_at(r->inputs[1], i),
                  axis = axis_of(attribute, r->inputs[0]->rank);
    if (axis < 0)
      return hr_request_fail(r, HR_INVALID_ARGUMENT, "axis %lld is out of range for rank %d",
                             (long long)attribute, int(r->inputs[0]->rank));
    if (backwards[axis])
      return hr_request_fail(r, HR_INVALID_ARGUMENT, "axis %lld is given twice", (long long)axis);
    backwards[axis] = true;
  }
  return prepare_copy(r, reversed(r->inputs[0], backwards));
}

hr_code prepare_reverse(void*, hr_request* r) {
  if (hr_code code = hr_shape_unchanged(r)) return code;
  const bool none[1] = {};
  if (r->inputs[0]->rank == 0) return prepare_copy(r, reversed(r->inputs[0], none));
  if (hr_elements(r->inputs[1]) != r->inputs[0]->rank)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "dims has %lld elements for rank %d",
                           (long long)hr_elements(r->inputs[1]), int(r->inputs[0]->rank));
  return prepare_copy(r, reversed(r->inputs[0], read<bool>(r->inputs[1])));
}

// ---- blocks of space ---------------------------------------------------------------------

hr_code prepare_space_to_depth(void*, hr_request* r) {
  HR_APPLY_RULE(space_to_depth, r);
  const hr_tensor* x = r->inputs[0];
  const int64_t b = hr_attr_int(r->node, "block_size", 1);
  Dims to;
  if (attr_text(r->node, "data_format") == "NCHW") {
    // [n, c, h, i, w, j] -> [n, i, j, c, h, w]
    const int64_t n = x->dims[0], c = x->dims[1], h = x->dims[2] / b, w = x->dims[3] / b;
    const int64_t dims[] = {n, b, b, c, h, w};
    const int64_t W = w * b, plane = h * b * W;
    const int64_t from[] = {c * plane, W, 1, plane, b * W, b};
    row_major(6, dims, to);
    return prepare_copy(r, new StridedCopy(x->dtype, 6, dims, to, from));
  }
  // [n, h, i, w, j, c] -> [n, h, w, i, j, c]
  const int64_t n = x->dims[0], h = x->dims[1] / b, w = x->dims[2] / b, c = x->dims[3];
  const int64_t dims[] = {n, h, w, b, b, c};
  const int64_t W = w * b * c;
  const int64_t from[] = {h * b * W, b * W, b * c, W, c, 1};
  row_major(6, dims, to);
  return prepare_copy(r, new StridedCopy(x->dtype, 6, dims, to, from));
}

hr_code prepare_depth_to_space(void*, hr_request* r) {
  HR_APPLY_RULE(depth_to_space, r);
  const hr_tensor* x = r->inputs[0];
  const int64_t b = hr_attr_int(r->node, "block_size", 1);
  Dims to;
  if (attr_text(r->node, "data_format") == "NCHW") {
    // [n, i, j, c, h, w] -> [n, c, h, i, w, j]
    const int64_t n = x->dims[0], c = x->dims[1] / (b * b), h = x->dims[2], w = x->dims[3];
    const int64_t dims[] = {n, c, h, b, w, b};
    const int64_t plane = h * w;
    const int64_t from[] = {c * b * b * plane, plane, w, b * c * plane, 1, c * plane};
    row_major(6, dims, to);
    return prepare_copy(r, new StridedCopy(x->dtype, 6, dims, to, from));
  }
  // [n, h, w, i, j, c] -> [n, h, i, w, j, c]
  const int64_t n = x->dims[0], h = x->dims[1], w = x->dims[2], c = x->dims[3] / (b * b);
  const int64_t dims[] = {n, h, b, w, b, c};
  const int64_t C = c * b * b;
  const int64_t from[] = {h * w * C, w * C, b * c, C, c, 1};
  row_major(6, dims, to);
  return prepare_copy(r, new StridedCopy(x->dtype, 6, dims, to, from));
}

}  // namespace

HR_KERNELS = {
    kernel("Transpose", nullptr, prepare_transpose).constant(1),
    kernel("ConjugateTranspose", nullptr, prepare_conjugate_transpose).constant(1),
    kernel("Tile", nullptr, prepare_tile).constant(1),
    kernel("BroadcastTo", nullptr, prepare_broadcast_to).constant(1),
    kernel("ReverseV2", nullptr, prepare_reverse_v2).constant(1),
    kernel("Reverse", nullptr, prepare_reverse).constant(1),
    kernel("SpaceToDepth", nullptr, prepare_space_to_depth),
    kernel("DepthToSpace", nullptr, prepare_depth_to_space),
};

}  // namespace hr
