#include "ops/recurrent/lstm_gates.hpp"

#include "math/vector_math.hpp"
#include "processor/simd.hpp"

namespace hr::recurrent {
namespace {

template <bool peeps>
HR_INLINE void step_of(const LstmStep& s, int64_t begin, int64_t end) {
  const int64_t at_i = s.order.input * s.cells, at_c = s.order.cell * s.cells;
  const int64_t at_f = s.order.forget * s.cells, at_o = s.order.output * s.cells;
  const float *x = s.of_x, *h = s.of_h, *b = s.bias, *cs_prev = s.cs_prev;
  const float *wci = s.peepholes.input, *wcf = s.peepholes.forget, *wco = s.peepholes.output;
  float *i = s.out.i, *cs = s.out.cs, *f = s.out.f, *o = s.out.o;
  float *ci = s.out.ci, *co = s.out.co, *out = s.out.h;
  const float forget_bias = s.forget_bias, clip = s.clip;
  HR_INDEPENDENT
  for (int64_t j = begin; j < end; ++j) {
    const float before = cs_prev[j];
    float gate_i = x[at_i + j] + h[at_i + j] + b[at_i + j];
    float gate_f = x[at_f + j] + h[at_f + j] + b[at_f + j] + forget_bias;
    float gate_o = x[at_o + j] + h[at_o + j] + b[at_o + j];
    if (peeps) gate_i += before * wci[j], gate_f += before * wcf[j];
    const float input = vm::sigmoid(gate_i), forget = vm::sigmoid(gate_f);
    const float cell = vm::tanh(x[at_c + j] + h[at_c + j] + b[at_c + j]);
    float state = cell * input + before * forget;
    state = state > clip ? clip : state;
    state = state < -clip ? -clip : state;
    if (peeps) gate_o += state * wco[j];
    const float output = vm::sigmoid(gate_o), shown = vm::tanh(state);
    i[j] = input;
    cs[j] = state;
    f[j] = forget;
    o[j] = output;
    ci[j] = cell;
    co[j] = shown;
    out[j] = shown * output;
  }
}

HR_CLONES void plain_step(const LstmStep& s, int64_t begin, int64_t end) {
  step_of<false>(s, begin, end);
}
HR_CLONES void peephole_step(const LstmStep& s, int64_t begin, int64_t end) {
  step_of<true>(s, begin, end);
}

template <bool peeps, bool last>
HR_INLINE void gradient_of(const LstmStepGradient& s, int64_t begin, int64_t end) {
  const float *i = s.i, *f = s.f, *o = s.o, *ci = s.ci, *co = s.co, *cs_prev = s.cs_prev;
  const float *cs_grad = s.cs_grad, *h_grad = s.h_grad, *d_cs = s.d_cs, *d_h = s.d_h;
  const float *wci = s.peepholes.input, *wcf = s.peepholes.forget, *wco = s.peepholes.output;
  float* to = s.cs_prev_grad;
  float *gate_i = s.gates + s.order.input * s.cells, *gate_c = s.gates + s.order.cell * s.cells;
  float *gate_f = s.gates + s.order.forget * s.cells, *gate_o = s.gates + s.order.output * s.cells;
  HR_INDEPENDENT
  for (int64_t j = begin; j < end; ++j) {
    const float by_h = last ? h_grad[j] : h_grad[j] + d_h[j];
    float by_cs = last ? cs_grad[j] : cs_grad[j] + d_cs[j];
    const float by_o = o[j] * (1 - o[j]) * by_h * co[j];
    by_cs += (1 - co[j] * co[j]) * by_h * o[j];
    if (peeps) by_cs += by_o * wco[j];
    const float by_f = f[j] * (1 - f[j]) * by_cs * cs_prev[j];
    const float by_i = i[j] * (1 - i[j]) * by_cs * ci[j];
    float before = by_cs * f[j];
    if (peeps) before += by_i * wci[j] + by_f * wcf[j];
    gate_c[j] = (1 - ci[j] * ci[j]) * by_cs * i[j];
    gate_i[j] = by_i;
    gate_f[j] = by_f;
    gate_o[j] = by_o;
    to[j] = before;
  }
}

template <bool peeps, bool last>
HR_CLONES void gradient_loop(const LstmStepGradient& s, int64_t begin, int64_t end) {
  gradient_of<peeps, last>(s, begin, end);
}

}  // namespace

void lstm_step(const LstmStep& s, int64_t begin, int64_t end) {
  (s.peepholes.input ? peephole_step : plain_step)(s, begin, end);
}

void lstm_step_gradient(const LstmStepGradient& s, int64_t begin, int64_t end) {
  const bool peeps = s.peepholes.input != nullptr;
  if (s.d_cs) (peeps ? gradient_loop<true, false> : gradient_loop<false, false>)(s, begin, end);
  else (peeps ? gradient_loop<true, true> : gradient_loop<false, true>)(s, begin, end);
}

}  // namespace hr::recurrent
