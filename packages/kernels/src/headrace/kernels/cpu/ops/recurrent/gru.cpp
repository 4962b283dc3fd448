// GRUBlockCell and GRUBlockCellGrad: one step of a gated recurrent unit.
#include <algorithm>

#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "math/vector_math.hpp"
#include "ops/recurrent/lstm_sizes.hpp"
#include "ops/recurrent/step_product.hpp"
#include "processor/parallel.hpp"
#include "processor/simd.hpp"

namespace hr {
namespace {

using namespace recurrent;

constexpr int64_t least_cells = 4096;

struct GruPlan {
  int64_t batch, inputs, cells;
  Division division;
  StepProduct of_gates, of_candidate;
  int64_t at_products, at_scratch, scratch;  // places in the workspace, in floats
  int64_t joint() const { return inputs + cells; }
};

// ---- loops over the cells of a row ----------------------------------------------------------

// r, u and what the candidate multiplies with h's weights.
HR_CLONES void gates_of_row(const float* product, const float* bias, const float* h, float* r,
                            float* u, float* gated, int64_t n) {
  HR_INDEPENDENT
  for (int64_t j = 0; j < n; ++j) {
    const float reset = vm::sigmoid(product[j] + bias[j]);
    u[j] = vm::sigmoid(product[n + j] + bias[n + j]);
    r[j] = reset;
    gated[j] = h[j] * reset;
  }
}

HR_CLONES void output_of_row(const float* product, const float* bias, const float* h,
                             const float* u, float* c, float* out, int64_t n) {
  HR_INDEPENDENT
  for (int64_t j = 0; j < n; ++j) {
    const float candidate = vm::tanh(product[j] + bias[j]);
    c[j] = candidate;
    out[j] = u[j] * h[j] + (1 - u[j]) * candidate;
  }
}

// The gradients of candidate and update gate before their activations.
HR_CLONES void candidate_gradient(const float* d_h, const float* h, const float* u, const float* c,
                                  float* d_c, float* d_u, int64_t n) {
  HR_INDEPENDENT
  for (int64_t j = 0; j < n; ++j) {
    d_c[j] = d_h[j] * (1 - u[j]) * (1 - c[j] * c[j]);
    d_u[j] = d_h[j] * (h[j] - c[j]) * u[j] * (1 - u[j]);
  }
}

HR_CLONES void reset_gradient(const float* d_hr, const float* h, const float* r, float* d_r,
                              int64_t n) {
  HR_INDEPENDENT
  for (int64_t j = 0; j < n; ++j) d_r[j] = d_hr[j] * h[j] * r[j] * (1 - r[j]);
}

HR_CLONES void state_gradient(const float* by_gates, const float* d_hr, const float* r,
                              const float* d_h, const float* u, float* out, int64_t n) {
  HR_INDEPENDENT
  for (int64_t j = 0; j < n; ++j) out[j] = by_gates[j] + d_hr[j] * r[j] + d_h[j] * u[j];
}

// ---- the steps of a kernel, on the pool or by parts of the batch ------------------------------

// Where a stage's rows are and how its products are computed.
struct Worker {
  hr_ctx* ctx;
  bool alone;
  int64_t first, rows;
  float* scratch;

  hr_code multiply(const StepProduct& product, const gemm::Problem<float>& p) const {
    if (!alone) return product.on_pool(ctx, p, scratch);
    product.alone(p, scratch);
    return HR_OK;
  }
  // stage(row) for each row.
  template <class Stage> void each(int64_t cells, Stage&& stage) const {
    const auto range = [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) stage(row);
    };
    if (alone) range(first, first + rows);
    else
      parallel_ranges(ctx, rows, std::max<int64_t>(1, least_cells / std::max<int64_t>(1, cells)),
                      range);
  }
};

template <hr_code (*stages)(const GruPlan&, const Worker&, const hr_tensor* const*,
                            hr_tensor* const*, float*)>
hr_code compute(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* inputs,
                hr_tensor* const* outputs, void* workspace) {
  const auto& p = *static_cast<const GruPlan*>(plan);
  float* memory = static_cast<float*>(workspace);
  float* scratch = memory + p.at_scratch;
  if (!p.division.parts)
    return stages(p, {ctx, false, 0, p.batch, scratch}, inputs, outputs, memory);
  const bool all =
      parallel_tasks(ctx, p.division.parts, p.division.threads, [&](int64_t part, int64_t thread) {
        const int64_t first = piece_start(p.batch, part, p.division.parts);
        const int64_t rows = piece_start(p.batch, part + 1, p.division.parts) - first;
        stages(p, {ctx, true, first, rows, scratch + thread * p.scratch}, inputs, outputs, memory);
      });
  return all ? HR_OK : hr_ctx_fail(ctx, HR_CANCELLED, "cancelled in a recurrent network");
}

hr_code forward(const GruPlan& p, const Worker& worker, const hr_tensor* const* inputs,
                hr_tensor* const* outputs, float* memory) {
  const int64_t n = p.cells, joint = p.joint(), first = worker.first;
  const auto in = [&](int i) { return read<float>(inputs[i]); };
  const auto out = [&](int i) { return write<float>(outputs[i]); };
  float *rows = memory, *products = memory + p.at_products;
  worker.each(joint, [&](int64_t row) {
    std::copy_n(in(0) + row * p.inputs, p.inputs, rows + row * joint);
    std::copy_n(in(1) + row * n, n, rows + row * joint + p.inputs);
  });
  const gemm::Problem<float> of_gates{
      worker.rows, 2 * n, joint, rows + first * joint,     joint, false,
      in(2),       2 * n, false, products + first * 2 * n, 2 * n};
  if (hr_code code = worker.multiply(p.of_gates, of_gates)) return code;
  worker.each(n, [&](int64_t row) {
    const int64_t at = row * n;
    gates_of_row(products + 2 * at, in(4), in(1) + at, out(0) + at, out(1) + at,
                 rows + row * joint + p.inputs, n);
  });
  const gemm::Problem<float> of_candidate{
      worker.rows, n, joint, rows + first * joint,     joint, false,
      in(3),       n, false, products + first * 2 * n, 2 * n};
  if (hr_code code = worker.multiply(p.of_candidate, of_candidate)) return code;
  worker.each(n, [&](int64_t row) {
    const int64_t at = row * n;
    output_of_row(products + 2 * at, in(5), in(1) + at, out(1) + at, out(2) + at, out(3) + at, n);
  });
  return HR_OK;
}

hr_code backward(const GruPlan& p, const Worker& worker, const hr_tensor* const* inputs,
                 hr_tensor* const* outputs, float* memory) {
  const int64_t n = p.cells, joint = p.joint(), first = worker.first;
  const auto in = [&](int i, int64_t at = 0) { return read<float>(inputs[i]) + at; };
  const auto out = [&](int i, int64_t at = 0) { return write<float>(outputs[i]) + at; };
  // The gradients of [x, h * r] and of [x, h].
  float *by_candidate = memory, *by_gates = memory + p.at_products;
  worker.each(n, [&](int64_t row) {
    const int64_t at = row * n;
    candidate_gradient(in(9, at), in(1, at), in(7, at), in(8, at), out(2, at), out(3, 2 * at + n),
                       n);
  });
  const gemm::Problem<float> of_candidate{worker.rows, joint,
                                          n,           out(2, first * n),
                                          n,           false,
                                          in(3),       n,
                                          true,        by_candidate + first * joint,
                                          joint};
  if (hr_code code = worker.multiply(p.of_candidate, of_candidate)) return code;
  worker.each(n, [&](int64_t row) {
    const int64_t at = row * n;
    reset_gradient(by_candidate + row * joint + p.inputs, in(1, at), in(6, at), out(3, 2 * at), n);
  });
  const gemm::Problem<float> of_gates{
      worker.rows, joint, 2 * n, out(3, first * 2 * n),    2 * n, false,
      in(2),       2 * n, true,  by_gates + first * joint, joint};
  if (hr_code code = worker.multiply(p.of_gates, of_gates)) return code;
  worker.each(joint, [&](int64_t row) {
    const float *c = by_candidate + row * joint, *g = by_gates + row * joint;
    float* d_x = out(0, row * p.inputs);
    for (int64_t j = 0; j < p.inputs; ++j) d_x[j] = c[j] + g[j];
    const int64_t at = row * n;
    state_gradient(g + p.inputs, c + p.inputs, in(6, at), in(9, at), in(7, at), out(1, at), n);
  });
  return HR_OK;
}

// ---- preparation
// ---------------------------------------------------------------------------------

hr_code check_inputs(hr_request* r, GruPlan* p) {
  if (hr_code code = need_rank(r, 0, "x", 2)) return code;
  if (hr_code code = need_rank(r, 1, "h_prev", 2)) return code;
  p->batch = r->inputs[0]->dims[0];
  p->inputs = r->inputs[0]->dims[1];
  p->cells = r->inputs[1]->dims[1];
  const char *cells = "cell_size", *joint = "input_size + cell_size";
  if (hr_code code = need_size(r, 1, "h_prev", 0, p->batch, "batch_size")) return code;
  if (hr_code code = need_matrix(r, 2, "w_ru", p->joint(), joint, 2 * p->cells, "cell_size * 2"))
    return code;
  if (hr_code code = need_matrix(r, 3, "w_c", p->joint(), joint, p->cells, cells)) return code;
  if (hr_code code = need_vector(r, 4, "b_ru", 2 * p->cells, "cell_size * 2")) return code;
  return need_vector(r, 5, "b_c", p->cells, cells);
}

hr_code plan_gru(hr_request* r, const GruPlan& sizes, bool is_backward) {
  GruPlan* p = keep_plan(r, new GruPlan(sizes));
  const int64_t joint = p->joint(), n = p->cells;
  p->division = divided(p->batch, joint * 3 * n, r->threads);
  const bool parts = p->division.parts > 0;
  const int64_t rows = parts ? p->division.rows : p->batch;
  const int threads = parts ? 1 : r->threads;
  if (is_backward) {
    p->of_candidate = StepProduct(rows, joint, n, false, true, threads);
    p->of_gates = StepProduct(rows, joint, 2 * n, false, true, threads);
  } else {
    p->of_gates = StepProduct(rows, 2 * n, joint, false, false, threads);
    p->of_candidate = StepProduct(rows, n, joint, false, false, threads);
  }
  p->at_products = on_line(p->batch * joint);
  p->at_scratch = p->at_products + on_line(p->batch * (is_backward ? joint : 2 * n));
  p->scratch = on_line(std::max(p->of_gates.scratch(), p->of_candidate.scratch()));
  r->workspace =
      size_t(p->at_scratch + p->scratch * (parts ? p->division.threads : 1)) * sizeof(float);
  r->flops = p->of_gates.flops() + p->of_candidate.flops();
  r->compute = is_backward ? compute<backward> : compute<forward>;
  return HR_OK;
}

hr_code prepare_cell(void*, hr_request* r) {
  HR_APPLY_RULE(recurrent_cell, r);
  GruPlan p{};
  if (hr_code code = check_inputs(r, &p)) return code;
  return plan_gru(r, p, false);
}

hr_code prepare_gradient(void*, hr_request* r) {
  HR_APPLY_RULE(gru_cell_grad, r);
  GruPlan p{};
  if (hr_code code = check_inputs(r, &p)) return code;
  const char* names[] = {"r", "u", "c", "d_h"};
  for (int i = 0; i < 4; ++i)
    if (hr_code code = need_matrix(r, 6 + i, names[i], p.batch, "batch_size", p.cells, "cell_size"))
      return code;
  return plan_gru(r, p, true);
}

}  // namespace

HR_KERNELS = {
    kernel("GRUBlockCell", "T=float", prepare_cell),
    kernel("GRUBlockCellGrad", "T=float", prepare_gradient),
};

}  // namespace hr
