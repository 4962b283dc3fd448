// The arithmetic of an LSTM's gates for some cells of one row of the batch.
#pragma once

#include <cstdint>

namespace hr::recurrent {

// Where the quarter of each gate begins in a row of gates, in cells.
struct GateOrder {
  int64_t input, cell, forget, output;
};
constexpr GateOrder icfo{0, 1, 2, 3}, ifco{0, 2, 1, 3};

struct Peepholes {
  const float *input, *forget, *output;  // of length cells; null without peepholes
};

// Outputs of a step, each a row of cells, in the order of the op's outputs.
struct LstmOutputs {
  float *i, *cs, *f, *o, *ci, *co, *h;
};

struct LstmStep {
  int64_t cells;  // from one gate to the next
  GateOrder order;
  const float *of_x, *of_h, *bias;  // of the four gates
  float forget_bias, clip;          // clip: infinity for none
  const float* cs_prev;
  Peepholes peepholes;
  LstmOutputs out;
};
// For cells [begin, end).
void lstm_step(const LstmStep& step, int64_t begin, int64_t end);

struct LstmStepGradient {
  int64_t cells;
  GateOrder order;
  const float *i, *f, *o, *ci, *co, *cs_prev;
  const float *cs_grad, *h_grad;  // by the outputs of this step
  const float *d_cs, *d_h;        // by the state from the step behind it; may be null
  Peepholes peepholes;
  float *cs_prev_grad, *gates;  // cs_prev_grad may be d_cs
};
void lstm_step_gradient(const LstmStepGradient& step, int64_t begin, int64_t end);

}  // namespace hr::recurrent
