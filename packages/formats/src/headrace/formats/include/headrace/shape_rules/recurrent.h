/* Recurrent cells and networks in one op. */
#ifndef HEADRACE_SHAPE_RULES_RECURRENT_H
#define HEADRACE_SHAPE_RULES_RECURRENT_H

#include "algebra.h"

/* Outputs of [batch, cells], by x and the state. */
static inline hr_code hr_shape_recurrent_cell(hr_request* r) {
  HR_TRY(hr_with_rank(r, 0, 2, "x"));
  HR_TRY(hr_with_rank(r, 1, 2, "the state"));
  const int64_t dims[2] = {r->inputs[0]->dims[0], r->inputs[1]->dims[1]};
  for (int32_t i = 0; i < r->node->n_outputs; ++i) HR_TRY(hr_set_dims(r, i, dims, 2));
  return HR_OK;
}

static inline hr_code hr_shape_lstm_cell_grad(hr_request* r) {
  HR_TRY(hr_with_rank(r, 0, 2, "x"));
  HR_TRY(hr_with_rank(r, 1, 2, "cs_prev"));
  const int64_t cells = r->inputs[1]->dims[1];
  const int64_t state[2] = {r->inputs[0]->dims[0], cells};
  const int64_t gates[2] = {r->inputs[0]->dims[0], hr_times(4, cells)};
  HR_TRY(hr_set_dims(r, 0, state, 2));
  HR_TRY(hr_set_dims(r, 1, gates, 2));
  for (int32_t i = 2; i < 5; ++i) HR_TRY(hr_set_vector(r, i, cells));
  return HR_OK;
}

static inline hr_code hr_shape_gru_cell_grad(hr_request* r) {
  HR_TRY(hr_with_rank(r, 0, 2, "x"));
  HR_TRY(hr_with_rank(r, 1, 2, "h_prev"));
  HR_TRY(hr_with_rank(r, 2, 2, "w_ru"));
  const int64_t batch = r->inputs[0]->dims[0];
  const int64_t state[2] = {batch, r->inputs[1]->dims[1]};
  const int64_t gates[2] = {batch, r->inputs[2]->dims[1]};
  HR_TRY(hr_set_like(r, 0, r->inputs[0]));
  HR_TRY(hr_set_dims(r, 1, state, 2));
  HR_TRY(hr_set_dims(r, 2, state, 2));
  return hr_set_dims(r, 3, gates, 2);
}

/* Outputs of [time, batch, cells], by x and the bias of four gates. */
static inline hr_code hr_shape_block_lstm(hr_request* r) {
  HR_TRY(hr_with_rank(r, 1, 3, "x"));
  HR_TRY(hr_with_rank(r, 8, 1, "b"));
  const int64_t gates = r->inputs[8]->dims[0];
  if (gates % 4) HR_BAD(r, "Dimension size must be evenly divisible by 4 but is %" PRId64, gates);
  const int64_t dims[3] = {r->inputs[1]->dims[0], r->inputs[1]->dims[1], gates / 4};
  for (int32_t i = 0; i < r->node->n_outputs; ++i) HR_TRY(hr_set_dims(r, i, dims, 3));
  return HR_OK;
}

/* A gradient for each input but seq_len_max and what the forward op saved. */
static inline hr_code hr_shape_block_lstm_grad(hr_request* r) {
  static const char* const names[8] = {"x", "cs_prev", "h_prev", "w", "wci", "wcf", "wco", "b"};
  static const int32_t ranks[8] = {3, 2, 2, 2, 1, 1, 1, 1};
  for (int32_t i = 0; i < 8; ++i) {
    HR_TRY(hr_with_rank(r, i + 1, ranks[i], names[i]));
    HR_TRY(hr_set_like(r, i, r->inputs[i + 1]));
  }
  return HR_OK;
}

#endif
