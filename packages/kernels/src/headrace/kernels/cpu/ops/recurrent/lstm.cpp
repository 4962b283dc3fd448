// LSTMBlockCell, BlockLSTM and BlockLSTMV2: one step or all steps of an LSTM. The inputs' share of
// the gates does not depend on the state: for all steps it is one product. The state's share is a
// product a step.
#include <algorithm>

#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "loops/via_float.hpp"
#include "ops/recurrent/lstm_gates.hpp"
#include "ops/recurrent/lstm_sizes.hpp"
#include "ops/recurrent/step_product.hpp"
#include "processor/parallel.hpp"

namespace hr {
namespace {

using namespace recurrent;

// Floats of the inputs' share that are kept at once: more would not stay in a cache.
constexpr int64_t most_kept = 2 << 20;
// Cells that a thread should have at least: some 10 us.
constexpr int64_t least_cells = 4096;

struct LstmPlan {
  LstmSizes s;
  Division division;
  int64_t kept;  // steps whose inputs' share is computed at once
  StepProduct of_x, of_h;
  int64_t at_h, at_scratch, scratch;  // places in the workspace, in floats; a thread's scratch
};

class Lstm {
 public:
  Lstm(hr_ctx* ctx, const LstmPlan& plan, const hr_tensor* const* inputs, hr_tensor* const* outputs,
       float* workspace)
      : ctx_(ctx), p_(plan), s_(plan.s), inputs_(inputs + plan.s.first()),
        x_(read<float>(inputs_[0])), w_(read<float>(inputs_[3])),
        peepholes_(peepholes_of(plan.s, inputs)), outputs_(outputs), of_x_(workspace),
        of_h_(workspace + plan.at_h), scratch_(workspace + plan.at_scratch) {}

  hr_code run(int64_t length) {
    for (int64_t t = 0; t < length; t += p_.kept) {
      const int64_t end = std::min(length, t + p_.kept);
      if (const hr_code code = steps(t, end)) return code;
    }
    for (int i = 0; i < 7; ++i) std::fill(output(i, length), output(i, s_.steps), 0.0f);
    return HR_OK;
  }

 private:
  int64_t state() const { return s_.batch * s_.cells; }
  float* output(int i, int64_t t) const { return write<float>(outputs_[i]) + t * state(); }
  const float* before(int input, int out, int64_t t) const {
    return t ? output(out, t - 1) : read<float>(inputs_[input]);
  }

  // The product of rows of x or h with their part of the weights.
  gemm::Problem<float> product(const float* rows, int64_t n, int64_t size, const float* weights,
                               float* to) const {
    return {n, s_.gates(), size, rows, size, false, weights, s_.gates(), false, to, s_.gates()};
  }
  gemm::Problem<float> product_of_x(int64_t row, int64_t n, float* to) const {
    return product(x_ + row * s_.inputs, n, s_.inputs, w_, to);
  }
  gemm::Problem<float> product_of_h(int64_t t, int64_t row, int64_t n, float* to) const {
    return product(before(2, 6, t) + row * s_.cells, n, s_.cells, w_ + s_.inputs * s_.gates(), to);
  }

  // Cells [begin, end) of the batch at step t; of_x and of_h begin at `row`.
  void gates(int64_t t, const float* of_x, const float* of_h, int64_t row, int64_t begin,
             int64_t end) const {
    while (begin < end) {
      const int64_t at = begin / s_.cells * s_.cells, r = begin / s_.cells - row;
      const int64_t stop = std::min(end, at + s_.cells);
      LstmOutputs out{output(0, t) + at, output(1, t) + at, output(2, t) + at, output(3, t) + at,
                      output(4, t) + at, output(5, t) + at, output(6, t) + at};
      lstm_step(
          {s_.cells, s_.order, of_x + r * s_.gates(), of_h + r * s_.gates(),
           read<float>(inputs_[7]), s_.forget_bias, s_.clip, before(1, 1, t) + at, peepholes_, out},
          begin - at, stop - at);
      begin = stop;
    }
  }

  hr_code steps(int64_t begin, int64_t end) {
    if (p_.division.parts) return by_rows(begin, end);
    const int64_t rows = (end - begin) * s_.batch;
    if (hr_code code = p_.of_x.on_pool(ctx_, product_of_x(begin * s_.batch, rows, of_x_), scratch_))
      return code;
    for (int64_t t = begin; t < end; ++t) {
      poll(ctx_);
      if (hr_code code = p_.of_h.on_pool(ctx_, product_of_h(t, 0, s_.batch, of_h_), scratch_))
        return code;
      const float* of_x = of_x_ + (t - begin) * s_.batch * s_.gates();
      parallel_ranges(ctx_, state(), least_cells,
                      [&](int64_t a, int64_t b) { gates(t, of_x, of_h_, 0, a, b); });
    }
    return HR_OK;
  }

  hr_code by_rows(int64_t begin, int64_t end) {
    // One step: the threads compute the inputs' share too, and meet only at the end.
    const bool shared = s_.steps > 1;
    const int64_t rows = (end - begin) * s_.batch;
    if (shared)
      if (hr_code code =
              p_.of_x.on_pool(ctx_, product_of_x(begin * s_.batch, rows, of_x_), scratch_))
        return code;
    const bool all = parallel_tasks(
        ctx_, p_.division.parts, p_.division.threads, [&](int64_t part, int64_t thread) {
          const int64_t first = piece_start(s_.batch, part, p_.division.parts);
          const int64_t n = piece_start(s_.batch, part + 1, p_.division.parts) - first;
          float* of_h = of_h_ + part * on_line(p_.division.rows * s_.gates());
          float* scratch = scratch_ + thread * p_.scratch;
          for (int64_t t = begin; t < end && !hr_cancelled(ctx_); ++t) {
            float* of_x = of_x_ + ((t - begin) * s_.batch + first) * s_.gates();
            if (!shared) p_.of_x.alone(product_of_x(first, n, of_x), scratch);
            p_.of_h.alone(product_of_h(t, first, n, of_h), scratch);
            gates(t, of_x, of_h, first, first * s_.cells, (first + n) * s_.cells);
          }
        });
    if (all && !hr_cancelled(ctx_)) return HR_OK;
    return hr_ctx_fail(ctx_, HR_CANCELLED, "cancelled in a recurrent network");
  }

  hr_ctx* ctx_;
  const LstmPlan& p_;
  const LstmSizes& s_;
  const hr_tensor* const* inputs_;  // from x on
  const float *x_, *w_;
  Peepholes peepholes_;
  hr_tensor* const* outputs_;
  float *of_x_, *of_h_, *scratch_;
};

hr_code compute(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* inputs,
                hr_tensor* const* outputs, void* workspace) {
  const auto& p = *static_cast<const LstmPlan*>(plan);
  int64_t length;
  if (hr_code code = read_length(ctx, p.s, inputs, &length)) return code;
  return Lstm(ctx, p, inputs, outputs, static_cast<float*>(workspace)).run(length);
}

hr_code plan_lstm(hr_request* r, const LstmSizes& s) {
  auto* p = keep_plan(r, new LstmPlan{});
  p->s = s;
  p->division = divided(s.batch, s.gates() * (s.inputs + s.cells), r->threads);
  const int64_t of_step = std::max<int64_t>(1, s.batch * s.gates());
  p->kept = std::clamp<int64_t>(most_kept / of_step, 1, std::max<int64_t>(1, s.steps));
  const bool parts = p->division.parts > 0, alone = parts && s.steps <= 1;
  const int64_t rows = parts ? p->division.rows : s.batch;
  p->of_x = StepProduct(alone ? rows : p->kept * s.batch, s.gates(), s.inputs, false, false,
                        alone ? 1 : r->threads);
  p->of_h = StepProduct(rows, s.gates(), s.cells, false, false, parts ? 1 : r->threads);
  p->at_h = on_line(p->kept * s.batch * s.gates());
  p->at_scratch = p->at_h + std::max<int64_t>(1, p->division.parts) * on_line(rows * s.gates());
  p->scratch = on_line(alone ? std::max(p->of_x.scratch(), p->of_h.scratch()) : p->of_h.scratch());
  const int64_t shared = alone ? 0 : p->of_x.scratch();
  const int64_t scratch = std::max(shared, p->scratch * (parts ? p->division.threads : 1));
  r->workspace = size_t(p->at_scratch + scratch) * sizeof(float);
  r->compute = compute;
  r->flops = 2.0 * double(s.steps * s.batch * s.gates()) * double(s.inputs + s.cells);
  return HR_OK;
}

hr_code prepare_cell(void*, hr_request* r) {
  HR_APPLY_RULE(recurrent_cell, r);
  LstmSizes s;
  if (hr_code code = read_sizes(r, false, &s)) return code;
  return plan_lstm(r, s);
}

hr_code prepare_block(void*, hr_request* r) {
  HR_APPLY_RULE(block_lstm, r);
  LstmSizes s;
  if (hr_code code = read_sizes(r, true, &s)) return code;
  return plan_lstm(r, s);
}

}  // namespace

HR_KERNELS = {
    kernel("LSTMBlockCell", "T=float|half", widened<prepare_cell>),
    kernel("BlockLSTM", "T=float|half", widened<prepare_block>),
    kernel("BlockLSTMV2", "T=float|half", widened<prepare_block>),
};

}  // namespace hr
