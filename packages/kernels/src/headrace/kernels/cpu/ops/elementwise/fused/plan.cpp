#include "ops/elementwise/fused/plan.hpp"

#include <algorithm>

#include "library/shapes.hpp"
#include "ops/elementwise/fused/pairs.hpp"

namespace hr::fused {
namespace {

class Planner {
 public:
  Planner(const Program& program, hr_request* r, const hr_tensor* values, Plan* plan)
      : program_(program), request_(r), values_(values), plan_(plan) {
    plan->constants = program.constants;
    plan->n_numbers = int32_t(program.constants.size());
    plan->value_size = program.value_size;
    plan->result = program.steps.back().result;
  }

  void lay_inputs(bool one_row_a_vector) {
    const int64_t last = values_->rank ? values_->dims[values_->rank - 1] : 1;
    for (int32_t i = 0; i < request_->node->n_inputs; ++i)
      inputs_.push_back(lay(i, request_->inputs[i], last, one_row_a_vector));
  }

  bool lay_steps() {
    temporaries_.assign(program_.temporaries.size(), Place{Place::kNumber, -1, 0});
    find_last_reads();
    for (size_t i = 0; i < program_.steps.size(); ++i) {
      if (lay_pair(i)) ++i;
      else if (!lay_step(i)) return false;
    }
    return true;
  }

 private:
  Place lay(int32_t i, const hr_tensor* x, int64_t last, bool one_row_a_vector) {
    const int64_t n = hr_elements(x);
    const bool as_is = is_stored_as_computed(x->dtype);
    const auto size = int32_t(rep_size(rep_of(x->dtype)));
    InputLoad load{InputLoad::kSpread, i, x->dtype, int32_t(hr_dtype_size(x->dtype)), size, -1, {}};
    if (n == 1) {
      if (as_is) return {Place::kOne, i, size};
      load.kind = InputLoad::kNumber;
      load.to = plan_->n_numbers++;
      plan_->once.push_back(load);
      return {Place::kNumber, load.to, size};
    }
    if (n == plan_->n) {
      if (as_is) return {Place::kWhole, i, size};
      load.kind = InputLoad::kConvert;
    } else if (n == last && x->dims[x->rank - 1] == last && (last <= kBlock || one_row_a_vector)) {
      plan_->vector = last;
      if (last > kBlock && as_is) return {Place::kRow, i, size};
      load.kind = last > kBlock ? InputLoad::kConvertRow : InputLoad::kTile;
    } else {
      load.walk = broadcast_walk<1>(values_, {x});
    }
    load.to = plan_->buffers++;
    if (load.kind == InputLoad::kTile) {
      plan_->buffers++;  // blocks may begin within a vector
      plan_->per_thread.push_back(load);
      return {Place::kTiled, load.to, size};
    }
    plan_->per_block.push_back(load);
    return {Place::kBuffer, load.to, size};
  }

  void find_last_reads() {
    last_read_.assign(temporaries_.size(), 0);
    reads_.assign(temporaries_.size(), 0);
    for (size_t i = 0; i < program_.steps.size(); ++i)
      for (int k = 0; k < program_.steps[i].operands; ++k)
        if (program_.steps[i].operand[k].from == Operand::kTemporary) {
          last_read_[size_t(program_.steps[i].operand[k].index)] = i;
          ++reads_[size_t(program_.steps[i].operand[k].index)];
        }
  }

  Place place_of(const Operand& o) const {
    if (o.from == Operand::kInput) return inputs_[size_t(o.index)];
    if (o.from == Operand::kTemporary) return temporaries_[size_t(o.index)];
    const Constant& c = program_.constants[size_t(o.index)];
    return {Place::kNumber, o.index, int32_t(rep_size(rep_of(c.dtype)))};
  }

  bool lay_step(size_t i) {
    const Step& s = program_.steps[i];
    const bool is_last = i + 1 == program_.steps.size();
    PlannedStep p{};
    p.operands = s.operands;
    p.rounds_to = s.rounds ? s.result : HR_INVALID;
    int moves = 0;
    for (int k = 0; k < s.operands; ++k) {
      p.operand[k] = place_of(s.operand[k]);
      if (p.operand[k].kind != Place::kNumber && p.operand[k].kind != Place::kOne) moves |= 1 << k;
    }
    const bool is_number = moves == 0 && !is_last;
    // Every loop has an operand that moves: one value is a block of one.
    if (moves == 0) {
      if (is_last && plan_->n != 1) return false;
      moves = 1;
    }
    p.loop = s.instruction->kind == kCast ? cast_loop(s.rep, rep_of(s.result))
                                          : loops_of(*s.instruction, s.rep).by_moves[moves];
    p.target = target_of(s, is_last, is_number);
    (is_number ? plan_->numbers : plan_->steps).push_back(p);
    free_operands(s, i);
    temporaries_[size_t(s.target)] = p.target;
    return true;
  }

  // Steps i and i + 1 as one loop, where only the second reads the first one's result.
  bool lay_pair(size_t i) {
    if (i + 1 >= program_.steps.size()) return false;
    const Step &s = program_.steps[i], &u = program_.steps[i + 1];
    if (s.operands != 2 || u.operands != 2 || s.result != HR_FLOAT || u.result != HR_FLOAT ||
        reads_[size_t(s.target)] != 1 || last_read_[size_t(s.target)] != i + 1)
      return false;
    const auto is_first = [&](const Operand& o) {
      return o.from == Operand::kTemporary && o.index == s.target;
    };
    const bool turned = is_first(u.operand[1]);
    const Operand* operands[] = {&s.operand[0], &s.operand[1], &u.operand[turned ? 0 : 1]};
    PlannedStep p{};
    p.operands = 3;
    p.rounds_to = HR_INVALID;
    int moves = 0;
    for (int k = 0; k < 3; ++k) {
      p.operand[k] = place_of(*operands[k]);
      if (p.operand[k].kind != Place::kNumber && p.operand[k].kind != Place::kOne) moves |= 1 << k;
    }
    if ((moves & 3) == 0) return false;  // the first is one number, computed once
    p.loop = pair_loop(s.instruction->name, u.instruction->name, turned, moves);
    if (!p.loop) return false;
    p.target = target_of(u, i + 2 == program_.steps.size(), false);
    plan_->steps.push_back(p);
    free_operands(s, i);
    free_operands(u, i + 1);
    temporaries_[size_t(u.target)] = p.target;
    return true;
  }

  Place target_of(const Step& s, bool is_last, bool is_number) {
    Place target{Place::kBuffer, -1, int32_t(rep_size(rep_of(s.result)))};
    if (is_number) {
      target.kind = Place::kNumber;
      target.index = plan_->n_numbers++;
    } else if (is_last && !plan_->fold && is_stored_as_computed(s.result)) {
      target.kind = Place::kOutput;
    } else {
      target.index = new_buffer();
      if (is_last) plan_->result_buffer = target.index;
    }
    return target;
  }

  int32_t new_buffer() {
    if (free_.empty()) return plan_->buffers++;
    const int32_t buffer = free_.back();
    free_.pop_back();
    return buffer;
  }

  // A temporary's buffer is free again after the last step that reads it, but only once.
  void free_operands(const Step& s, size_t i) {
    for (int k = 0; k < s.operands; ++k) {
      if (s.operand[k].from != Operand::kTemporary) continue;
      const auto t = size_t(s.operand[k].index);
      if (temporaries_[t].kind != Place::kBuffer || last_read_[t] != i) continue;
      last_read_[t] = program_.steps.size();
      free_.push_back(temporaries_[t].index);
    }
  }

  const Program& program_;
  hr_request* request_;
  const hr_tensor* values_;
  Plan* plan_;
  std::vector<Place> inputs_, temporaries_;
  std::vector<size_t> last_read_;
  std::vector<int32_t> reads_;
  std::vector<int32_t> free_;
};

void lay_blocks(Plan* plan) {
  if (plan->fold && plan->length <= kBlock) {
    plan->block = kBlock / plan->length * plan->length;
  } else if (plan->fold || plan->vector > kBlock) {
    plan->row = plan->fold ? plan->length : plan->vector;
    plan->blocks = plan->n / plan->row * ((plan->row + kBlock - 1) / kBlock);
    return;
  } else if (plan->vector) {
    plan->block = kBlock / plan->vector * plan->vector;
  }
  plan->blocks = (plan->n + plan->block - 1) / plan->block;
}

}  // namespace

bool make_plan(const Program& program, hr_request* r, const hr_tensor* values, const Fold* fold,
               int64_t length, Plan* plan) {
  plan->n = hr_elements(values);
  plan->inputs = size_t(r->node->n_inputs);
  plan->fold = fold;
  plan->length = length;
  plan->rows = fold ? plan->n / length : 0;
  const int64_t last = values->rank ? values->dims[values->rank - 1] : 1;
  Planner planner(program, r, values, plan);
  planner.lay_inputs(!fold || length == last);
  if (!planner.lay_steps()) return false;
  // The result as tensors hold it, to be folded or stored.
  if (plan->fold && !is_stored_as_computed(plan->result)) plan->buffers++;
  lay_blocks(plan);
  plan->scratch = plan->buffers * kBlock * plan->value_size;
  return true;
}

size_t workspace_of(const Plan& plan, int32_t threads) {
  const int64_t totals = plan.fold && plan.length > kBlock ? (plan.blocks + 8) * 8 * 2 : 0;
  return size_t((int64_t(plan.n_numbers) + 7) / 8 * 64 + totals +
                std::max<int32_t>(1, threads) * plan.scratch);
}

}  // namespace hr::fused
