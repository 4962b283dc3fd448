// _FusedElementwise runs a program of elementwise ops in one pass over memory; _FusedReduction also
// reduces the program's result over the last dimensions.
//
// A block of about a thousand values passes through the whole program while it is in the L1 cache;
// threads share the blocks. Operands of one element stay scalars; steps that depend only on these
// run once. The results equal those of the separate ops bit for bit.
#include <algorithm>
#include <cstring>

#include "library/attributes.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "ops/elementwise/fused/plan.hpp"
#include "processor/parallel.hpp"
#include "table/element_types.hpp"

namespace hr {
namespace fused {
namespace {

template <class U> void spread(const Walk<1>& walk, const U* from, int64_t begin, int64_t n,
                               U* to) {
  const int32_t last = walk.rank - 1;
  const int64_t inner = walk.dims[last], stride = walk.strides[0][last];
  for (int64_t done = 0; done < n;) {
    const int64_t row = (begin + done) / inner, at = (begin + done) % inner;
    const int64_t m = std::min(n - done, inner - at);
    walk.rows(row, row + 1, [&](int64_t, const int64_t* offset) {
      for (int64_t i = 0; i < m; ++i) to[done + i] = from[offset[0] + (at + i) * stride];
    });
    done += m;
  }
}

void spread_bytes(const InputLoad& load, const void* from, int64_t begin, int64_t n, void* to) {
  const auto as = [&](auto tag) {
    using U = typename decltype(tag)::type;
    spread(load.walk, static_cast<const U*>(from), begin, n, static_cast<U*>(to));
  };
  switch (load.from_size) {
    case 1: return as(Type<uint8_t>{});
    case 2: return as(Type<uint16_t>{});
    case 4: return as(Type<uint32_t>{});
    default: return as(Type<uint64_t>{});
  }
}

void store_constant(const Constant& c, void* to) {
  switch (rep_of(c.dtype)) {
    case kFloat: {
      float value = float(c.value);
      if (is_rounded(c.dtype)) round_block(c.dtype, &value, 1);
      std::memcpy(to, &value, sizeof value);
      return;
    }
    case kDouble: std::memcpy(to, &c.value, sizeof c.value); return;
    case kInt32: {
      const auto v = int32_t(c.value);
      std::memcpy(to, &v, sizeof v);
      return;
    }
    case kInt64: {
      const auto v = int64_t(c.value);
      std::memcpy(to, &v, sizeof v);
      return;
    }
    default: *static_cast<bool*>(to) = c.value != 0;
  }
}

// One thread at work on a program.
struct Run {
  const Plan& plan;
  const hr_tensor* const* in;
  char* out;
  char* numbers;
  char* scratch;

  char* buffer(int32_t i) const { return scratch + i * kBlock * plan.value_size; }
  char* number(int32_t i) const { return numbers + i * 8; }

  char* at(const Place& p, int64_t begin) const {
    switch (p.kind) {
      case Place::kNumber: return number(p.index);
      case Place::kBuffer: return buffer(p.index);
      case Place::kTiled: return buffer(p.index) + begin % plan.vector * p.size;
      case Place::kWhole: return data(p.index) + begin * p.size;
      case Place::kRow: return data(p.index) + begin % plan.vector * p.size;
      case Place::kOne: return data(p.index);
      default: return out + begin * p.size;
    }
  }
  char* data(int32_t input) const { return static_cast<char*>(in[input]->data); }

  void step(const PlannedStep& s, int64_t begin, int64_t n) const {
    const void* operands[kMostOperands];
    for (int k = 0; k < s.operands; ++k) operands[k] = at(s.operand[k], begin);
    char* to = at(s.target, begin);
    s.loop(operands, to, n);
    if (s.rounds_to != HR_INVALID) round_block(s.rounds_to, reinterpret_cast<float*>(to), n);
  }

  // What is the same for all threads: numbers.
  void begin() const {
    for (size_t i = 0; i < plan.constants.size(); ++i)
      store_constant(plan.constants[i], number(int32_t(i)));
    for (const InputLoad& l : plan.once) load_block(l.dtype, data(l.input), number(l.to), 1);
    for (const PlannedStep& s : plan.numbers) step(s, 0, 1);
  }

  // What every block needs the same way: vectors, repeated over more than a block.
  void begin_thread() const {
    for (const InputLoad& l : plan.per_thread) {
      char* to = buffer(l.to);
      load_block(l.dtype, data(l.input), to, plan.vector);
      for (int64_t i = plan.vector; i < kBlock + plan.vector; i += plan.vector)
        std::memcpy(to + i * l.to_size, to,
                    size_t(std::min(plan.vector, 2 * kBlock - i) * l.to_size));
    }
  }

  void load(const InputLoad& l, int64_t begin, int64_t n) const {
    char* to = buffer(l.to);
    if (l.kind != InputLoad::kSpread) {
      const int64_t first = l.kind == InputLoad::kConvert ? begin : begin % plan.vector;
      load_block(l.dtype, data(l.input) + first * l.from_size, to, n);
    } else if (is_stored_as_computed(l.dtype)) {
      spread_bytes(l, data(l.input), begin, n, to);
    } else {
      alignas(64) char raw[kBlock * 2];
      spread_bytes(l, data(l.input), begin, n, raw);
      load_block(l.dtype, raw, to, n);
    }
  }

  int64_t block_begin(int64_t b, int64_t* n) const {
    if (plan.row == 0) {
      *n = std::min(plan.block, plan.n - b * plan.block);
      return b * plan.block;
    }
    const int64_t per_row = (plan.row + kBlock - 1) / kBlock, within = b % per_row * kBlock;
    *n = std::min(kBlock, plan.row - within);
    return b / per_row * plan.row + within;
  }

  // Runs the program on values [begin, begin + n).
  void block(int64_t begin, int64_t n) const {
    for (const InputLoad& l : plan.per_block) load(l, begin, n);
    for (const PlannedStep& s : plan.steps) step(s, begin, n);
  }
};

struct Workspace {
  char *numbers, *totals, *scratch;
  Workspace(const Plan& plan, void* memory) : numbers(static_cast<char*>(memory)) {
    totals = numbers + (plan.n_numbers + 7) / 8 * 64;
    scratch = totals + (plan.fold && plan.length > kBlock ? (plan.blocks + 8) * 16 : 0);
  }
};

// body(run, b, begin, n) for every block, with its values where the plan says.
template <class Body>
void run_blocks(hr_ctx* ctx, const Plan& plan, const hr_tensor* const* in, hr_tensor* const* out,
                const Workspace& w, Body&& body) {
  char* to = static_cast<char*>(out[0]->data);
  Run{plan, in, to, w.numbers, w.scratch}.begin();
  const int64_t touched = int64_t(plan.inputs + plan.steps.size()) * kBlock * plan.value_size;
  parallel_ranges(ctx, plan.blocks, std::max<int64_t>(2, kGrainBytes / touched),
                  [&](int64_t first, int64_t last) {
                    const Run run{plan, in, to, w.numbers,
                                  w.scratch + this_thread() * plan.scratch};
                    run.begin_thread();
                    for (int64_t b = first; b < last; ++b) {
                      poll(ctx);
                      int64_t n;
                      const int64_t begin = run.block_begin(b, &n);
                      run.block(begin, n);
                      body(run, b, begin, n);
                    }
                  });
}

}  // namespace

hr_code compute_blocks(hr_ctx* ctx, void*, void* plan_, const hr_tensor* const* in,
                       hr_tensor* const* out, void* workspace) {
  const auto& plan = *static_cast<const Plan*>(plan_);
  const int64_t size = hr_dtype_size(plan.result);
  run_blocks(ctx, plan, in, out, Workspace(plan, workspace),
             [&](const Run& run, int64_t, int64_t begin, int64_t n) {
               if (plan.result_buffer >= 0)
                 store_block(plan.result,
                             reinterpret_cast<const float*>(run.buffer(plan.result_buffer)),
                             run.out + begin * size, n);
             });
  return HR_OK;
}

hr_code compute_folded(hr_ctx* ctx, void*, void* plan_, const hr_tensor* const* in,
                       hr_tensor* const* out, void* workspace) {
  const auto& plan = *static_cast<const Plan*>(plan_);
  const Fold& fold = *plan.fold;
  const Workspace w(plan, workspace);
  const int64_t size = hr_dtype_size(plan.result), total = fold.total_size;
  run_blocks(ctx, plan, in, out, w, [&](const Run& run, int64_t b, int64_t begin, int64_t n) {
    const char* values = run.buffer(plan.result_buffer);
    if (!is_stored_as_computed(plan.result)) {
      char* narrow = run.buffer(plan.buffers - 1);
      store_block(plan.result, reinterpret_cast<const float*>(values), narrow, n);
      values = narrow;
    }
    if (plan.length > kBlock) {
      fold.block(values, n, w.totals + b * total);
      return;
    }
    for (int64_t i = 0; i < n; i += plan.length)
      fold.row(values + i * size, plan.length, run.out + (begin + i) / plan.length * size);
  });
  if (plan.length <= kBlock) return HR_OK;
  char* to = static_cast<char*>(out[0]->data);
  const int64_t per_row = (plan.length + kBlock - 1) / kBlock;
  alignas(16) char sum[16];
  if (plan.rows == 1) {
    char* chunks = w.totals + (plan.blocks + 7) * 8;
    int64_t n_chunks = 0;
    for (int64_t b = 0; b < per_row; b += kBlocksOfChunk)
      fold.combine(w.totals + b * total, std::min(kBlocksOfChunk, per_row - b),
                   chunks + n_chunks++ * total);
    fold.combine_chunks(chunks, n_chunks, sum);
    fold.finish(sum, plan.length, to);
    return HR_OK;
  }
  for (int64_t r = 0; r < plan.rows; ++r) {
    fold.combine(w.totals + r * per_row * total, per_row, sum);
    fold.finish(sum, plan.length, to + r * size);
  }
  return HR_OK;
}

namespace {

hr_code compute_nothing(hr_ctx*, void*, void*, const hr_tensor* const*, hr_tensor* const*, void*) {
  return HR_OK;
}

template <bool reduces> hr_code create(hr_node* node, void** state) {
  auto* program = new Program;
  if (hr_code code = read_program(node, reduces, program)) {
    delete program;
    return code;
  }
  *state = program;
  return HR_OK;
}

hr_code finish(hr_request* r, const Program& program, Plan* plan) {
  r->workspace = workspace_of(*plan, r->threads);
  r->flops = double(plan->n) * double(program.steps.size());
  r->bytes_moved = double(hr_elements(r->outputs[0]) * hr_dtype_size(r->outputs[0]->dtype));
  for (int32_t i = 0; i < r->node->n_inputs; ++i)
    r->bytes_moved += double(hr_elements(r->inputs[i]) * hr_dtype_size(r->inputs[i]->dtype));
  return HR_OK;
}

hr_code prepare_elementwise(void* state, hr_request* r) {
  if (hr_code code = hr_shape_broadcast(r)) return code;
  const auto& program = *static_cast<const Program*>(state);
  if (hr_elements(r->outputs[0]) == 0) {
    r->compute = compute_nothing;
    return HR_OK;
  }
  auto* plan = keep_plan(r, new Plan);
  if (!make_plan(program, r, r->outputs[0], nullptr, 0, plan))
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "the last instruction reads only numbers");
  r->compute = compute_blocks;
  return finish(r, program, plan);
}

// Leaves in *values the shape that the program computes and in *length the values of a row.
hr_code shape_reduction(hr_request* r, hr_tensor* values, int64_t* length) {
  if (hr_code code = hr_shape_broadcast(r)) return code;
  *values = *r->outputs[0];
  hr_tensor* out = r->outputs[0];
  const bool keep = hr_attr_bool(r->node, "keep_dims", 0);
  const int64_t n = hr_attr_int(r->node, "reduced", 0);
  if (n < 1 || n > values->rank)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "%lld dimensions of %d cannot be reduced",
                           (long long)n, int(values->rank));
  const auto kept = int32_t(values->rank - n);
  *length = product(values->dims, kept, values->rank);
  out->rank = keep ? values->rank : kept;
  for (int32_t d = kept; d < values->rank; ++d) out->dims[d] = 1;
  return HR_OK;
}

hr_code prepare_reduction(void* state, hr_request* r) {
  hr_tensor values;
  int64_t length = 0;
  if (hr_code code = shape_reduction(r, &values, &length)) return code;
  const auto& program = *static_cast<const Program*>(state);
  const Fold* fold = fold_of(program.reduction, program.steps.back().result);
  if (!fold)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "instruction '%s': unknown reduction",
                           program.reduction.c_str());
  if (length < 2 || hr_elements(&values) == 0)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "there is nothing to reduce");
  auto* plan = keep_plan(r, new Plan);
  if (!make_plan(program, r, &values, fold, length, plan))
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "the last instruction reads only numbers");
  r->compute = compute_folded;
  return finish(r, program, plan);
}

void destroy(void* state) { delete static_cast<Program*>(state); }

}  // namespace
}  // namespace fused

HR_KERNELS = {
    kernel("_FusedElementwise", nullptr, fused::prepare_elementwise)
        .with_state(fused::create<false>, fused::destroy)
        .reuses(0),
    kernel("_FusedReduction", nullptr, fused::prepare_reduction)
        .with_state(fused::create<true>, fused::destroy),
};

// fold_of knows the reductions.
HR_FUSIBLE_OPS(fused::fusible_ops());

}  // namespace hr
