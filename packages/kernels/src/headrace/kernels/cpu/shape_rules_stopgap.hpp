// Until formats has them: the shape rules that kernels here call.
#ifndef HEADRACE_CPU_SHAPE_RULES_STOPGAP_HPP
#define HEADRACE_CPU_SHAPE_RULES_STOPGAP_HPP

#include "headrace/kernel.h"
#include "shapes.hpp"

#define HR_RULE(name) static inline hr_code hr_shape_##name(hr_request* r)
#define HR_BAD(...) return hr_request_fail(r, HR_INVALID_ARGUMENT, __VA_ARGS__)
#define HR_TEXT(t) (const char*)hr::ShapeText(t)

HR_RULE(unchanged) { hr::copy_shape(r->inputs[0], r->outputs[0]); return HR_OK; }
HR_RULE(scalar) { r->outputs[0]->rank = 0; return HR_OK; }
HR_RULE(as_input_1) { hr::copy_shape(r->inputs[1], r->outputs[0]); return HR_OK; }
HR_RULE(merge) {
  for (int32_t i = 1; i < r->node->n_inputs; ++i)
    if (!hr::same_shape(r->inputs[0], r->inputs[i]))
      HR_BAD("shapes differ: %s and %s", HR_TEXT(r->inputs[0]), HR_TEXT(r->inputs[i]));
  return hr_shape_unchanged(r);
}
static inline hr_code hr_broadcast_two(hr_request* r, const hr_tensor* a, const hr_tensor* b,
                                       hr_tensor* out) {
  const int32_t rank = a->rank > b->rank ? a->rank : b->rank;
  int64_t dims[HR_MAX_RANK];
  for (int32_t d = 0; d < rank; ++d) {
    const int32_t i = d - (rank - a->rank), j = d - (rank - b->rank);
    const int64_t x = i < 0 ? 1 : a->dims[i], y = j < 0 ? 1 : b->dims[j];
    if (x != y && x != 1 && y != 1)
      HR_BAD("shapes do not broadcast: %s and %s", HR_TEXT(a), HR_TEXT(b));
    dims[d] = x == 1 ? y : x;
  }
  hr::set_shape(out, rank, dims);
  return HR_OK;
}
HR_RULE(broadcast) {
  hr_tensor* out = r->outputs[0];
  hr::copy_shape(r->inputs[0], out);
  for (int32_t i = 1; i < r->node->n_inputs; ++i) {
    hr_tensor so_far = *out;
    if (hr_code code = hr_broadcast_two(r, &so_far, r->inputs[i], out)) return code;
  }
  return HR_OK;
}
HR_RULE(attr_shape) {
  int32_t rank;
  const int64_t* dims;
  if (r->node->api->attr_shape(r->node, "shape", &rank, &dims)) HR_BAD("no attribute shape");
  hr::set_shape(r->outputs[0], rank, dims);
  return HR_OK;
}
HR_RULE(ensure_shape) {
  int32_t rank;
  const int64_t* dims;
  const hr_tensor* x = r->inputs[0];
  if (r->node->api->attr_shape(r->node, "shape", &rank, &dims)) HR_BAD("no attribute shape");
  bool fits = rank < 0 || rank == x->rank;
  for (int32_t d = 0; fits && d < rank; ++d) fits = dims[d] < 0 || dims[d] == x->dims[d];
  if (!fits) HR_BAD("shape %s is not compatible with %s", HR_TEXT(x), (const char*)hr::ShapeText(rank, dims));
  return hr_shape_unchanged(r);
}
HR_RULE(reshape) {
  const hr_tensor *x = r->inputs[0], *s = r->inputs[1];
  const int64_t n = hr_elements(s), have = hr_elements(x);
  int64_t dims[HR_MAX_RANK], known = 1;
  int32_t free_dim = -1;
  if (n > HR_MAX_RANK) return hr_request_fail(r, HR_UNIMPLEMENTED, "rank %d", int(n));
  for (int64_t d = 0; d < n; ++d) {
    dims[d] = hr::int_at(s, d);
    if (dims[d] == -1 && free_dim < 0) free_dim = int32_t(d);
    else if (dims[d] < 0) HR_BAD("shape has a negative size or two sizes of -1");
    else known *= dims[d];
  }
  if (free_dim >= 0) dims[free_dim] = known ? have / known : 0;
  if (free_dim >= 0 ? known * dims[free_dim] != have : known != have)
    HR_BAD("%lld elements do not fit shape %s", (long long)have, (const char*)hr::ShapeText(int32_t(n), dims));
  hr::set_shape(r->outputs[0], int32_t(n), dims);
  return HR_OK;
}
HR_RULE(expand_dims) {
  const hr_tensor* x = r->inputs[0];
  const int64_t asked = hr::int_at(r->inputs[1], 0), axis = hr::axis_of(asked, x->rank + 1);
  if (axis < 0) HR_BAD("dim is %lld, out of range for rank %d", (long long)asked, int(x->rank));
  int64_t dims[HR_MAX_RANK + 1];
  for (int32_t d = 0, s = 0; d <= x->rank; ++d) dims[d] = d == axis ? 1 : x->dims[s++];
  hr::set_shape(r->outputs[0], x->rank + 1, dims);
  return HR_OK;
}
HR_RULE(squeeze) {
  const hr_tensor* x = r->inputs[0];
  const int64_t* axes = nullptr;
  size_t n = 0;
  r->node->api->attr_ints(r->node, "squeeze_dims", &axes, &n);
  bool drop[HR_MAX_RANK] = {};
  for (size_t i = 0; i < n; ++i) {
    const int64_t axis = hr::axis_of(axes[i], x->rank);
    if (axis < 0 || x->dims[axis] != 1) HR_BAD("cannot squeeze dimension %lld of %s", (long long)axes[i], HR_TEXT(x));
    drop[axis] = true;
  }
  int32_t rank = 0;
  for (int32_t d = 0; d < x->rank; ++d)
    if (n ? !drop[d] : x->dims[d] != 1) r->outputs[0]->dims[rank++] = x->dims[d];
  r->outputs[0]->rank = rank;
  return HR_OK;
}
HR_RULE(bitcast) {
  const hr_tensor* x = r->inputs[0];
  hr_tensor* y = r->outputs[0];
  const int64_t from = hr_dtype_size(x->dtype), to = hr_dtype_size(y->dtype);
  hr::copy_shape(x, y);
  if (from > to) y->dims[y->rank++] = from / to;
  else if (from < to) {
    if (!x->rank || x->dims[x->rank - 1] != to / from) HR_BAD("cannot bitcast %s", HR_TEXT(x));
    --y->rank;
  }
  return HR_OK;
}
HR_RULE(shape) { hr::set_shape(r->outputs[0], {r->inputs[0]->rank}); return HR_OK; }
HR_RULE(shape_n) {
  for (int32_t i = 0; i < r->node->n_inputs; ++i) hr::set_shape(r->outputs[i], {r->inputs[i]->rank});
  return HR_OK;
}
HR_RULE(concat_offset) {
  for (int32_t i = 0; i < r->node->n_outputs; ++i) hr::copy_shape(r->inputs[1], r->outputs[i]);
  return HR_OK;
}
static inline hr_code hr_concat_of(hr_request* r, const hr_tensor* const* in, int32_t n,
                                   int64_t asked) {
  const int64_t axis = hr::axis_of(asked, in[0]->rank);
  if (axis < 0) HR_BAD("axis %lld is out of range for rank %d", (long long)asked, int(in[0]->rank));
  hr_tensor* out = r->outputs[0];
  hr::copy_shape(in[0], out);
  for (int32_t i = 1; i < n; ++i) {
    bool fits = in[i]->rank == out->rank;
    for (int32_t d = 0; fits && d < out->rank; ++d) fits = d == axis || in[i]->dims[d] == out->dims[d];
    if (!fits) HR_BAD("shapes differ: %s and %s", HR_TEXT(in[0]), HR_TEXT(in[i]));
    out->dims[axis] += in[i]->dims[axis];
  }
  return HR_OK;
}
HR_RULE(concat_v2) {
  const int32_t n = r->node->n_inputs - 1;
  return hr_concat_of(r, r->inputs, n, hr::int_at(r->inputs[n], 0));
}
HR_RULE(concat) { return hr_concat_of(r, r->inputs + 1, r->node->n_inputs - 1, hr::int_at(r->inputs[0], 0)); }
HR_RULE(pack) {
  const hr_tensor* x = r->inputs[0];
  for (int32_t i = 1; i < r->node->n_inputs; ++i)
    if (!hr::same_shape(x, r->inputs[i])) HR_BAD("shapes differ: %s and %s", HR_TEXT(x), HR_TEXT(r->inputs[i]));
  const int64_t axis = hr::axis_of(hr_attr_int(r->node, "axis", 0), x->rank + 1);
  if (axis < 0) HR_BAD("axis is out of range");
  int64_t dims[HR_MAX_RANK + 1];
  for (int32_t d = 0, s = 0; d <= x->rank; ++d) dims[d] = d == axis ? r->node->n_inputs : x->dims[s++];
  hr::set_shape(r->outputs[0], x->rank + 1, dims);
  return HR_OK;
}
HR_RULE(unpack) {
  const hr_tensor* x = r->inputs[0];
  const int64_t axis = hr::axis_of(hr_attr_int(r->node, "axis", 0), x->rank);
  if (axis < 0 || x->dims[axis] != r->node->n_outputs) HR_BAD("cannot unpack %s into %d", HR_TEXT(x), int(r->node->n_outputs));
  for (int32_t i = 0; i < r->node->n_outputs; ++i) {
    int32_t rank = 0;
    for (int32_t d = 0; d < x->rank; ++d) if (d != axis) r->outputs[i]->dims[rank++] = x->dims[d];
    r->outputs[i]->rank = rank;
  }
  return HR_OK;
}
HR_RULE(split) {
  const hr_tensor* x = r->inputs[1];
  const int32_t n = r->node->n_outputs;
  const int64_t axis = hr::axis_of(hr::int_at(r->inputs[0], 0), x->rank);
  if (axis < 0 || x->dims[axis] % n) HR_BAD("cannot split %s into %d", HR_TEXT(x), int(n));
  for (int32_t i = 0; i < n; ++i) {
    hr::copy_shape(x, r->outputs[i]);
    r->outputs[i]->dims[axis] /= n;
  }
  return HR_OK;
}
HR_RULE(split_v) {
  const hr_tensor* x = r->inputs[0];
  const int32_t n = r->node->n_outputs;
  const int64_t axis = hr::axis_of(hr::int_at(r->inputs[2], 0), x->rank);
  if (axis < 0) HR_BAD("split_dim is out of range");
  int64_t total = 0;
  int32_t free_part = -1;
  for (int32_t i = 0; i < n; ++i) {
    const int64_t size = hr::int_at(r->inputs[1], i);
    if (size < 0) free_part = i; else total += size;
    hr::copy_shape(x, r->outputs[i]);
    r->outputs[i]->dims[axis] = size;
  }
  if (free_part >= 0) r->outputs[free_part]->dims[axis] = x->dims[axis] - total;
  else if (total != x->dims[axis]) HR_BAD("size_splits sum to %lld, not %lld", (long long)total, (long long)x->dims[axis]);
  return HR_OK;
}
HR_RULE(transpose) {
  const hr_tensor* x = r->inputs[0];
  bool seen[HR_MAX_RANK] = {};
  if (hr_elements(r->inputs[1]) != x->rank) HR_BAD("perm has %lld elements for rank %d", (long long)hr_elements(r->inputs[1]), int(x->rank));
  r->outputs[0]->rank = x->rank;
  for (int32_t d = 0; d < x->rank; ++d) {
    const int64_t s = hr::axis_of(hr::int_at(r->inputs[1], d), x->rank);
    if (s < 0 || seen[s]) HR_BAD("perm is no permutation");
    seen[s] = true;
    r->outputs[0]->dims[d] = x->dims[s];
  }
  return HR_OK;
}
HR_RULE(tile) {
  const hr_tensor* x = r->inputs[0];
  if (hr_elements(r->inputs[1]) != x->rank) HR_BAD("multiples has %lld elements for rank %d", (long long)hr_elements(r->inputs[1]), int(x->rank));
  hr::copy_shape(x, r->outputs[0]);
  for (int32_t d = 0; d < x->rank; ++d) {
    if (hr::int_at(r->inputs[1], d) < 0) HR_BAD("multiples must not be negative");
    r->outputs[0]->dims[d] *= hr::int_at(r->inputs[1], d);
  }
  return HR_OK;
}
static inline hr_code hr_shape_from(hr_request* r, const hr_tensor* s) {
  const int64_t n = hr_elements(s);
  if (n > HR_MAX_RANK) return hr_request_fail(r, HR_UNIMPLEMENTED, "rank %d", int(n));
  r->outputs[0]->rank = int32_t(n);
  for (int64_t d = 0; d < n; ++d) {
    r->outputs[0]->dims[d] = hr::int_at(s, d);
    if (r->outputs[0]->dims[d] < 0) HR_BAD("a size is negative");
  }
  return HR_OK;
}
HR_RULE(shape_from_input_0) { return hr_shape_from(r, r->inputs[0]); }
HR_RULE(broadcast_to) {
  hr_tensor target = *r->inputs[0];
  if (hr_code code = hr_shape_from(r, r->inputs[1])) return code;
  target = *r->outputs[0];
  if (hr_code code = hr_broadcast_two(r, r->inputs[0], &target, r->outputs[0])) return code;
  if (!hr::same_shape(&target, r->outputs[0])) HR_BAD("%s does not broadcast to %s", HR_TEXT(r->inputs[0]), HR_TEXT(&target));
  return HR_OK;
}
HR_RULE(space_to_depth) {
  const hr_tensor* x = r->inputs[0];
  const int64_t b = hr_attr_int(r->node, "block_size", 1);
  const char* f = "NHWC"; size_t n;
  r->node->api->attr_string(r->node, "data_format", &f, &n);
  const int c = f[1] == 'C' ? 1 : 3, h = f[1] == 'C' ? 2 : 1;
  if (x->rank != 4 || x->dims[h] % b || x->dims[h + 1] % b) HR_BAD("block_size %lld does not divide %s", (long long)b, HR_TEXT(x));
  hr::copy_shape(x, r->outputs[0]);
  r->outputs[0]->dims[c] *= b * b; r->outputs[0]->dims[h] /= b; r->outputs[0]->dims[h + 1] /= b;
  return HR_OK;
}
HR_RULE(depth_to_space) {
  const hr_tensor* x = r->inputs[0];
  const int64_t b = hr_attr_int(r->node, "block_size", 1);
  const char* f = "NHWC"; size_t n;
  r->node->api->attr_string(r->node, "data_format", &f, &n);
  const int c = f[1] == 'C' ? 1 : 3, h = f[1] == 'C' ? 2 : 1;
  if (x->rank != 4 || x->dims[c] % (b * b)) HR_BAD("block_size %lld does not divide %s", (long long)b, HR_TEXT(x));
  hr::copy_shape(x, r->outputs[0]);
  r->outputs[0]->dims[c] /= b * b; r->outputs[0]->dims[h] *= b; r->outputs[0]->dims[h + 1] *= b;
  return HR_OK;
}

#endif
