// LSTMBlockCellGrad, BlockLSTMGrad and BlockLSTMGradV2. Backwards through time a step needs one
// product, that of its gates' gradients with the state's weights, which are transposed once. The
// gradients of the inputs, weights and biases are computed for many steps at a time.
#include <algorithm>

#include "gemm/gemm_tile.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "loops/via_float.hpp"
#include "ops/recurrent/column_sums.hpp"
#include "ops/recurrent/lstm_gates.hpp"
#include "ops/recurrent/lstm_sizes.hpp"
#include "ops/recurrent/step_product.hpp"
#include "processor/parallel.hpp"

namespace hr {
namespace {

using namespace recurrent;

// Floats of gates' gradients that are kept at once.
constexpr int64_t most_kept = 4 << 20;
constexpr int64_t least_cells = 8192;

struct GradientPlan {
  LstmSizes s;
  Division division;
  int64_t kept;  // steps whose gates' gradients are kept at once
  StepProduct of_state, of_x, of_w_x, of_w_h;
  // Places in the workspace, in floats.
  int64_t at_transposed, at_states, at_sum, at_scratch, scratch;
};

// Places of inputs behind x, as in the signature.
enum { X, CsPrev, HPrev, W, I = 8, Cs, F, O, Ci, Co, H, CsGrad, HGrad };

class LstmGradient {
 public:
  LstmGradient(hr_ctx* ctx, const GradientPlan& plan, const hr_tensor* const* inputs,
               hr_tensor* const* outputs, float* workspace)
      : ctx_(ctx), p_(plan), s_(plan.s), inputs_(inputs + plan.s.first()),
        w_(read<float>(inputs_[W])), peepholes_(peepholes_of(plan.s, inputs)), outputs_(outputs),
        gates_(workspace), transposed_(workspace + plan.at_transposed),
        states_(workspace + plan.at_states), sum_(workspace + plan.at_sum),
        scratch_(workspace + plan.at_scratch) {}

  hr_code run(int64_t length) {
    for (int i = 0; i < 8; ++i) std::fill_n(out(i), hr_elements(outputs_[i]), 0.0f);
    if (!length || !state()) return HR_OK;
    transpose_weights();
    for (int64_t end = length; end > 0; end -= std::min(end, p_.kept)) {
      const int64_t begin = std::max<int64_t>(0, end - p_.kept);
      if (hr_code code =
              p_.division.parts ? by_rows(begin, end, length) : by_steps(begin, end, length))
        return code;
      if (hr_code code = weights(begin, end, end == length)) return code;
    }
    return HR_OK;
  }

 private:
  int64_t state() const { return s_.batch * s_.cells; }
  float* out(int i) const { return write<float>(outputs_[i]); }
  const float* in(int i) const { return read<float>(inputs_[i]); }
  const float* at(int i, int64_t t) const { return in(i) + t * state(); }

  // The weights of the state, [cells, gates], become [gates, cells].
  void transpose_weights() {
    constexpr int64_t block = 64;
    const float* from = w_ + s_.inputs * s_.gates();
    parallel_blocks(ctx_, s_.gates(), block, grain_of(s_.cells * 8), [&](int64_t a, int64_t b) {
      for (; a < b; a += block)
        for (int64_t c = 0; c < s_.cells; c += block)
          gemm::transpose(from + c * s_.gates() + a, s_.gates(), std::min(block, s_.cells - c),
                          std::min(block, b - a), transposed_ + a * s_.cells + c, s_.cells);
    });
  }

  // Cells [begin, end) of the batch at step t, one of those from `kept` on.
  void gates(int64_t t, int64_t kept, bool last, int64_t begin, int64_t end) const {
    float* to = gates_ + (t - kept) * s_.batch * s_.gates();
    while (begin < end) {
      const int64_t c = begin / s_.cells * s_.cells, row = begin / s_.cells;
      const int64_t stop = std::min(end, c + s_.cells);
      const float* cs_prev = (t ? at(Cs, t - 1) : in(CsPrev)) + c;
      lstm_step_gradient(
          {s_.cells, s_.order, at(I, t) + c, at(F, t) + c, at(O, t) + c, at(Ci, t) + c,
           at(Co, t) + c, cs_prev, at(CsGrad, t) + c, at(HGrad, t) + c, last ? nullptr : out(1) + c,
           last ? nullptr : out(2) + c, peepholes_, out(1) + c, to + row * s_.gates()},
          begin - c, stop - c);
      begin = stop;
    }
  }

  gemm::Problem<float> product_of_state(int64_t t, int64_t kept, int64_t row, int64_t n) const {
    const float* from = gates_ + ((t - kept) * s_.batch + row) * s_.gates();
    return {n,       s_.cells,    s_.gates(), from,  s_.gates(),
            false,   transposed_, s_.cells,   false, out(2) + row * s_.cells,
            s_.cells};
  }

  hr_code by_steps(int64_t begin, int64_t end, int64_t length) {
    for (int64_t t = end - 1; t >= begin; --t) {
      poll(ctx_);
      parallel_ranges(ctx_, state(), least_cells,
                      [&](int64_t a, int64_t b) { gates(t, begin, t == length - 1, a, b); });
      if (hr_code code =
              p_.of_state.on_pool(ctx_, product_of_state(t, begin, 0, s_.batch), scratch_))
        return code;
    }
    return HR_OK;
  }

  hr_code by_rows(int64_t begin, int64_t end, int64_t length) {
    const bool all = parallel_tasks(
        ctx_, p_.division.parts, p_.division.threads, [&](int64_t part, int64_t thread) {
          const int64_t first = piece_start(s_.batch, part, p_.division.parts);
          const int64_t n = piece_start(s_.batch, part + 1, p_.division.parts) - first;
          for (int64_t t = end - 1; t >= begin && !hr_cancelled(ctx_); --t) {
            gates(t, begin, t == length - 1, first * s_.cells, (first + n) * s_.cells);
            p_.of_state.alone(product_of_state(t, begin, first, n), scratch_ + thread * p_.scratch);
          }
        });
    if (all && !hr_cancelled(ctx_)) return HR_OK;
    return hr_ctx_fail(ctx_, HR_CANCELLED, "cancelled in the gradient of a recurrent network");
  }

  // A gradient of weights: transposed rows times gates, added to what later steps gave.
  hr_code add_product(const StepProduct& product, const float* rows, int64_t size, int64_t n,
                      float* to, bool is_first) {
    gemm::Problem<float> p{size,      s_.gates(), n,          rows,  size,
                           true,      gates_,     s_.gates(), false, is_first ? to : sum_,
                           s_.gates()};
    if (hr_code code = product.on_pool(ctx_, p, scratch_)) return code;
    if (is_first) return HR_OK;
    parallel_ranges(ctx_, size * s_.gates(), grain_of(12), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) to[i] += sum_[i];
    });
    return HR_OK;
  }

  // What steps [begin, end) add to the gradients of x, w, b and the peepholes.
  hr_code weights(int64_t begin, int64_t end, bool is_first) {
    const int64_t rows = (end - begin) * s_.batch, first_row = begin * s_.batch;
    const float* x = in(X) + first_row * s_.inputs;
    const gemm::Problem<float> of_x{
        rows,     s_.inputs, s_.gates(), gates_, s_.gates(),
        false,    w_,        s_.gates(), true,   out(0) + first_row * s_.inputs,
        s_.inputs};
    if (hr_code code = p_.of_x.on_pool(ctx_, of_x, scratch_)) return code;
    if (hr_code code = add_product(p_.of_w_x, x, s_.inputs, rows, out(3), is_first)) return code;
    const float* states = begin ? at(H, begin - 1) : states_;
    if (!begin) {  // the first state lies apart from the others
      std::copy_n(in(HPrev), state(), states_);
      const float* from = in(H);
      float* to = states_ + state();
      parallel_ranges(ctx_, (end - 1) * state(), grain_of(8),
                      [&](int64_t a, int64_t b) { std::copy(from + a, from + b, to + a); });
    }
    if (hr_code code = add_product(p_.of_w_h, states, s_.cells, rows,
                                   out(3) + s_.inputs * s_.gates(), is_first))
      return code;
    add_columns(ctx_, rows, s_.gates(), gates_, s_.gates(), nullptr, 0, out(7));
    if (s_.peeps) add_peepholes(begin, end);
    return HR_OK;
  }

  void add_peepholes(int64_t begin, int64_t end) {
    const int64_t ld = s_.gates();
    const float* of_i = gates_ + s_.order.input * s_.cells;
    const float* of_f = gates_ + s_.order.forget * s_.cells;
    if (!begin) {
      add_columns(ctx_, s_.batch, s_.cells, of_i, ld, in(CsPrev), s_.cells, out(4));
      add_columns(ctx_, s_.batch, s_.cells, of_f, ld, in(CsPrev), s_.cells, out(5));
    }
    const int64_t from = std::max<int64_t>(begin, 1), skipped = (from - begin) * s_.batch * ld;
    const int64_t rows = (end - from) * s_.batch;
    if (rows > 0) {
      const float* before = at(Cs, from - 1);
      add_columns(ctx_, rows, s_.cells, of_i + skipped, ld, before, s_.cells, out(4));
      add_columns(ctx_, rows, s_.cells, of_f + skipped, ld, before, s_.cells, out(5));
    }
    add_columns(ctx_, (end - begin) * s_.batch, s_.cells, gates_ + s_.order.output * s_.cells, ld,
                at(Cs, begin), s_.cells, out(6));
  }

  hr_ctx* ctx_;
  const GradientPlan& p_;
  const LstmSizes& s_;
  const hr_tensor* const* inputs_;  // from x on
  const float* w_;
  Peepholes peepholes_;
  hr_tensor* const* outputs_;
  float *gates_, *transposed_, *states_, *sum_, *scratch_;
};

hr_code compute_block(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* inputs,
                      hr_tensor* const* outputs, void* workspace) {
  const auto& p = *static_cast<const GradientPlan*>(plan);
  int64_t length;
  if (hr_code code = read_length(ctx, p.s, inputs, &length)) return code;
  return LstmGradient(ctx, p, inputs, outputs, static_cast<float*>(workspace)).run(length);
}

// The gates' gradients are an output; the caller multiplies them.
hr_code compute_cell(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* inputs,
                     hr_tensor* const* outputs, void*) {
  const LstmSizes& s = *static_cast<const LstmSizes*>(plan);
  const auto in = [&](int i, int64_t at) { return read<float>(inputs[i]) + at; };
  float* gates = write<float>(outputs[1]);
  const Peepholes peepholes = peepholes_of(s, inputs);
  parallel_ranges(ctx, s.batch, std::max<int64_t>(1, least_cells / std::max<int64_t>(1, s.cells)),
                  [&](int64_t begin, int64_t end) {
                    for (int64_t row = begin; row < end; ++row) {
                      const int64_t at = row * s.cells;
                      lstm_step_gradient(
                          {s.cells, s.order, in(I, at), in(F, at), in(O, at), in(Ci, at),
                           in(Co, at), in(CsPrev, at), in(14, at), in(15, at), nullptr, nullptr,
                           peepholes, write<float>(outputs[0]) + at, gates + row * s.gates()},
                          0, s.cells);
                    }
                  });
  for (int i = 2; i < 5; ++i) std::fill_n(write<float>(outputs[i]), s.cells, 0.0f);
  if (!s.peeps) return HR_OK;
  const int64_t places[] = {s.order.input, s.order.forget, s.order.output};
  for (int i = 0; i < 3; ++i)
    add_columns(ctx, s.batch, s.cells, gates + places[i] * s.cells, s.gates(),
                in(i == 2 ? int(Cs) : int(CsPrev), 0), s.cells, write<float>(outputs[2 + i]));
  return HR_OK;
}

// The outputs of the forward op and the gradients by its state and output.
hr_code check_saved(hr_request* r, const LstmSizes& s) {
  const char* block_names[] = {"i", "cs", "f", "o", "ci", "co", "h", "cs_grad", "h_grad"};
  const char* cell_names[] = {"i", "cs", "f", "o", "ci", "co", "cs_grad", "h_grad"};
  const int n = s.block ? 9 : 8;
  for (int i = 0; i < n; ++i) {
    const int at = s.first() + I + i;
    const char* name = s.block ? block_names[i] : cell_names[i];
    if (s.block) {
      if (hr_code code = need_rank(r, at, name, 3)) return code;
      if (hr_code code = need_size(r, at, name, 0, s.steps, "timelen")) return code;
      if (hr_code code = need_size(r, at, name, 1, s.batch, "batch_size")) return code;
      if (hr_code code = need_size(r, at, name, 2, s.cells, "cell_size")) return code;
    } else if (hr_code code =
                   need_matrix(r, at, name, s.batch, "batch_size", s.cells, "cell_size")) {
      return code;
    }
  }
  return HR_OK;
}

hr_code prepare_cell(void*, hr_request* r) {
  HR_APPLY_RULE(lstm_cell_grad, r);
  LstmSizes s;
  if (hr_code code = read_sizes(r, true, &s)) return code;
  if (hr_code code = check_saved(r, s)) return code;
  keep_plan(r, new LstmSizes(s));
  r->compute = compute_cell;
  r->flops = 30.0 * double(s.batch * s.cells);
  return HR_OK;
}

hr_code prepare_block(void*, hr_request* r) {
  HR_APPLY_RULE(block_lstm_grad, r);
  LstmSizes s;
  if (hr_code code = read_sizes(r, true, &s)) return code;
  if (hr_code code = check_saved(r, s)) return code;
  auto* p = keep_plan(r, new GradientPlan{});
  p->s = s;
  p->division = divided(s.batch, s.gates() * s.cells, r->threads);
  const int64_t of_step = std::max<int64_t>(1, s.batch * s.gates());
  p->kept = std::clamp<int64_t>(most_kept / of_step, 1, std::max<int64_t>(1, s.steps));
  const bool parts = p->division.parts > 0;
  const int64_t rows = parts ? p->division.rows : s.batch, all = p->kept * s.batch;
  p->of_state = StepProduct(rows, s.cells, s.gates(), false, false, parts ? 1 : r->threads);
  p->of_x = StepProduct(all, s.inputs, s.gates(), false, true, r->threads);
  p->of_w_x = StepProduct(s.inputs, s.gates(), all, true, false, r->threads);
  p->of_w_h = StepProduct(s.cells, s.gates(), all, true, false, r->threads);
  p->at_transposed = on_line(all * s.gates());
  p->at_states = p->at_transposed + on_line(s.gates() * s.cells);
  p->at_sum = p->at_states + on_line(all * s.cells);
  const bool adds = p->kept < s.steps;
  p->at_scratch = p->at_sum + (adds ? on_line(std::max(s.inputs, s.cells) * s.gates()) : 0);
  p->scratch = on_line(p->of_state.scratch());
  const int64_t scratch = std::max({p->scratch * (parts ? p->division.threads : 1),
                                    p->of_x.scratch(), p->of_w_x.scratch(), p->of_w_h.scratch()});
  r->workspace = size_t(p->at_scratch + scratch) * sizeof(float);
  r->compute = compute_block;
  r->flops = 4.0 * double(s.steps * s.batch * s.gates()) * double(s.inputs + s.cells);
  return HR_OK;
}

}  // namespace

HR_KERNELS = {
    kernel("LSTMBlockCellGrad", "T=float|half", widened<prepare_cell>),
    kernel("BlockLSTMGrad", "T=float|half", widened<prepare_block>),
    kernel("BlockLSTMGradV2", "T=float|half", widened<prepare_block>),
};

}  // namespace hr
