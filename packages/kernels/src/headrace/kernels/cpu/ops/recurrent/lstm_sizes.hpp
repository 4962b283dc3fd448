// Sizes and attributes of the LSTM ops, and the checks of their inputs.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>

#include "library/registration.hpp"
#include "library/shapes.hpp"
#include "ops/recurrent/lstm_gates.hpp"

namespace hr::recurrent {

// Fails unless dimension d of input `at` has the size of `what`.
inline hr_code need_size(hr_request* r, int at, const char* name, int d, int64_t size,
                         const char* what) {
  const int64_t found = r->inputs[at]->dims[d];
  if (found == size) return HR_OK;
  return hr_request_fail(r, HR_INVALID_ARGUMENT, "%s.dim_size(%d) != %s: %lld vs. %lld", name, d,
                         what, (long long)found, (long long)size);
}

inline hr_code need_rank(hr_request* r, int at, const char* name, int32_t rank) {
  if (r->inputs[at]->rank == rank) return HR_OK;
  return hr_request_fail(r, HR_INVALID_ARGUMENT, "%s must be rank %d but is rank %d", name, rank,
                         r->inputs[at]->rank);
}

inline hr_code need_matrix(hr_request* r, int at, const char* name, int64_t rows,
                           const char* of_rows, int64_t columns, const char* of_columns) {
  if (hr_code code = need_rank(r, at, name, 2)) return code;
  if (hr_code code = need_size(r, at, name, 0, rows, of_rows)) return code;
  return need_size(r, at, name, 1, columns, of_columns);
}

inline hr_code need_vector(hr_request* r, int at, const char* name, int64_t size,
                           const char* what) {
  if (hr_code code = need_rank(r, at, name, 1)) return code;
  return need_size(r, at, name, 0, size, what);
}

struct LstmSizes {
  bool block;  // all steps in one op: input 0 is seq_len_max, the others follow
  int64_t steps, batch, inputs, cells;
  GateOrder order;
  float forget_bias, clip;
  bool peeps;

  int first() const { return block ? 1 : 0; }  // the input x
  int64_t gates() const { return 4 * cells; }
};

// Reads x, cs_prev, h_prev, w, wci, wcf, wco and b. With needs_peepholes they are checked though
// use_peephole is off, because outputs have their shapes.
inline hr_code read_sizes(hr_request* r, bool needs_peepholes, LstmSizes* s) {
  const std::string_view op = r->node->op;
  s->block = op.substr(0, 5) == "Block";
  s->order = op.back() == '2' ? ifco : icfo;
  s->forget_bias = op.back() == '2' ? 0.0f : hr_attr_float(r->node, "forget_bias", 0.0f);
  const float clip = hr_attr_float(r->node, "cell_clip", 0.0f);
  s->clip = clip > 0 ? clip : std::numeric_limits<float>::infinity();
  s->peeps = hr_attr_bool(r->node, "use_peephole", 0) != 0;
  const int at = s->first();
  if (s->block) {
    if (hr_code code = need_rank(r, 0, "seq_len_max", 0)) return code;
  }
  if (hr_code code = need_rank(r, at, "x", s->block ? 3 : 2)) return code;
  if (hr_code code = need_rank(r, at + 1, "cs_prev", 2)) return code;
  const int64_t* x = r->inputs[at]->dims;
  s->steps = s->block ? *x++ : 1;
  s->batch = x[0];
  s->inputs = x[1];
  s->cells = r->inputs[at + 1]->dims[1];
  if (hr_code code = need_size(r, at + 1, "cs_prev", 0, s->batch, "batch_size")) return code;
  if (hr_code code =
          need_matrix(r, at + 2, "h_prev", s->batch, "batch_size", s->cells, "cell_size"))
    return code;
  if (hr_code code = need_matrix(r, at + 3, "w", s->inputs + s->cells, "input_size + cell_size",
                                 s->gates(), "cell_size * 4"))
    return code;
  const char* peepholes[] = {"wci", "wcf", "wco"};
  for (int i = 0; i < 3; ++i) {
    if (!s->peeps && !needs_peepholes) break;
    if (hr_code code = need_vector(r, at + 4 + i, peepholes[i], s->cells, "cell_size")) return code;
  }
  return need_vector(r, at + 7, "b", s->gates(), "cell_size * 4");
}

inline Peepholes peepholes_of(const LstmSizes& s, const hr_tensor* const* inputs) {
  if (!s.peeps) return {nullptr, nullptr, nullptr};
  const int at = s.first() + 4;
  return {read<float>(inputs[at]), read<float>(inputs[at + 1]), read<float>(inputs[at + 2])};
}

// Reads seq_len_max, the number of steps that are computed.
inline hr_code read_length(hr_ctx* ctx, const LstmSizes& s, const hr_tensor* const* inputs,
                           int64_t* length) {
  *length = s.block ? int_at(inputs[0], 0) : 1;
  if (*length >= 0 && *length <= s.steps) return HR_OK;
  return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "seq_len_max %lld is not in [0, %lld]",
                     (long long)*length, (long long)s.steps);
}

// Floats, to a multiple of 64 bytes.
inline int64_t on_line(int64_t floats) { return (floats + 15) & ~int64_t(15); }

}  // namespace hr::recurrent
