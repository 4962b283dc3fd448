/* Images. */
#ifndef HEADRACE_SHAPE_RULES_IMAGE_H
#define HEADRACE_SHAPE_RULES_IMAGE_H

#include "random.h"

static inline hr_code hr_resize(hr_request* r, int32_t size_at) {
  hr_shape sizes;
  int known;
  const hr_tensor* x = r->inputs[0];
  HR_TRY(hr_with_rank(r, 0, 4, "images"));
  HR_TRY(hr_read_sizes(r, size_at, &sizes, &known));
  if (!known) return hr_depends(r);
  HR_TRY(hr_size_rank(r, &sizes, 2, "size"));
  int64_t dims[4] = {x->dims[0], sizes.dims[0], sizes.dims[1], x->dims[3]};
  return hr_set_dims(r, 0, dims, 4);
}

static inline hr_code hr_shape_resize(hr_request* r) { return hr_resize(r, 1); }
static inline hr_code hr_shape_resize_by_input_2(hr_request* r) { return hr_resize(r, 2); }

static inline hr_code hr_shape_crop_and_resize(hr_request* r) {
  hr_text s, t;
  hr_shape sizes;
  int known;
  const hr_tensor *boxes = r->inputs[1], *which = r->inputs[2];
  HR_TRY(hr_with_rank(r, 0, 4, "image"));
  HR_TRY(hr_with_rank(r, 1, 2, "boxes"));
  HR_TRY(hr_with_rank(r, 2, 1, "box_ind"));
  HR_TRY(hr_read_sizes(r, 3, &sizes, &known));
  if (known) HR_TRY(hr_size_rank(r, &sizes, 2, "crop_size"));
  if (boxes->dims[0] != which->dims[0] || boxes->dims[1] != 4)
    HR_BAD(r, "boxes %s and box_ind %s are not [n, 4] and [n]", hr_show(boxes, &s),
           hr_show(which, &t));
  if (!known) return hr_depends(r);
  int64_t dims[4] = {boxes->dims[0], sizes.dims[0], sizes.dims[1], r->inputs[0]->dims[3]};
  return hr_set_dims(r, 0, dims, 4);
}

static inline hr_code hr_shape_sample_distorted_bounding_box(hr_request* r) {
  static const int64_t box[3] = {1, 1, 4};
  HR_TRY(hr_set_vector(r, 0, 3));
  HR_TRY(hr_set_vector(r, 1, 3));
  return hr_set_dims(r, 2, box, 3);
}

static inline hr_code hr_shape_non_max_suppression(hr_request* r) {
  hr_text s, t;
  const hr_tensor *boxes = r->inputs[0], *scores = r->inputs[1];
  HR_TRY(hr_with_rank(r, 0, 2, "boxes"));
  HR_TRY(hr_with_rank(r, 1, 1, "scores"));
  if (boxes->dims[0] != scores->dims[0])
    HR_BAD(r, "boxes %s and scores %s differ in number", hr_show(boxes, &s), hr_show(scores, &t));
  if (!hr_attr_bool(r->node, "pad_to_max_output_size", 0)) return hr_depends(r);
  int64_t n;
  int known;
  HR_TRY(hr_read_int(r, 2, "max_output_size", &n, &known));
  if (!known) return hr_depends(r);
  int32_t last = r->node->n_outputs - 1;
  for (int32_t i = 0; i < last; ++i) HR_TRY(hr_set_vector(r, i, n));
  r->outputs[last]->rank = 0;
  return HR_OK;
}

static inline hr_code hr_shape_combined_non_max_suppression(hr_request* r) {
  HR_TRY(hr_with_rank(r, 0, 4, "boxes"));
  return hr_depends(r);
}

static inline hr_code hr_shape_extract_jpeg_shape(hr_request* r) { return hr_set_vector(r, 0, 3); }

static inline hr_code hr_shape_encode_png(hr_request* r) {
  HR_TRY(hr_at_least(r, 0, 3, "image"));
  return hr_set_dims(r, 0, r->inputs[0]->dims, r->inputs[0]->rank - 3);
}

#endif
