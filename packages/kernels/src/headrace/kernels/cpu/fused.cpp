// _FusedElementwise: a small program of elementwise ops in one pass over memory.
//
// Each instruction is "Op target operand [operand]": operands are inputs i0, i1, ..., earlier
// targets t0, t1, ... and constants c<number>. The last target is the output. A block of about
// a thousand elements goes through the whole program while it lies in the L1 cache; blocks are
// shared among threads. Operands of one element stay numbers; what depends on nothing else is
// computed once.
#include "fused.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "arithmetic.hpp"
#include "attributes.hpp"
#include "parallel.hpp"
#include "rows.hpp"
#include "shape_rules.hpp"
#include "shapes.hpp"
#include "simd.hpp"
#include "strided.hpp"
#include "vector_math.hpp"

namespace hr {
namespace {

constexpr int64_t kBlock = 1024;

// ---- instructions -----------------------------------------------------------------------------

#define HR_FUSED_UNARY(X)                                                             \
  X(Neg, -a) X(Square, a * a) X(Sqrt, std::sqrt(a)) X(Rsqrt, vm::rsqrt(a))            \
  X(Exp, vm::exp(a)) X(Expm1, vm::expm1(a)) X(Log, vm::log(a)) X(Log1p, vm::log1p(a)) \
  X(Tanh, vm::tanh(a)) X(Sigmoid, vm::sigmoid(a)) X(Abs, std::fabs(a))                \
  X(Reciprocal, T(1) / a) X(Inv, T(1) / a)                                            \
  X(Relu, a < T(0) ? T(0) : a) X(Relu6, a < T(0) ? T(0) : (a > T(6) ? T(6) : a))      \
  X(Elu, a < T(0) ? vm::expm1(a) : a) X(Softsign, a / (T(1) + std::fabs(a)))          \
  X(Softplus, (a > T(0) ? a : T(0)) + vm::log1p(vm::exp(-std::fabs(a))))              \
  X(Erf, std::erf(a)) X(Erfc, std::erfc(a)) X(Floor, std::floor(a)) X(Ceil, std::ceil(a)) X(Rint, std::nearbyint(a))            \
  X(Sign, a != a ? a : T((a > T(0)) - (a < T(0)))) X(Identity, a) X(StopGradient, a)

#define HR_FUSED_BINARY(X)                                                            \
  X(Add, a + b) X(AddV2, a + b) X(Sub, a - b) X(Mul, a * b)                           \
  X(RealDiv, a / b) X(Div, a / b) X(Maximum, larger(a, b)) X(Minimum, smaller(a, b))  \
  X(SquaredDifference, (a - b) * (a - b))                                             \
  X(DivNoNan, b == T(0) ? T(0) : a / b) X(MulNoNan, b == T(0) ? T(0) : a * b)         \
  X(ReluGrad, a * T(b > T(0))) X(Relu6Grad, a * T(b > T(0) && b < T(6)))              \
  X(EluGrad, b < T(0) ? (b + T(1)) * a : a)                                           \
  X(SigmoidGrad, b * a * (T(1) - a)) X(TanhGrad, b * (T(1) - a * a))                  \
  X(SqrtGrad, b * T(0.5) / a) X(RsqrtGrad, b * T(-0.5) * a * a * a)                   \
  X(ReciprocalGrad, -b * a * a) X(InvGrad, -b * a * a)                                \
  X(BiasAdd, a + b) X(AddN, a + b) X(SoftplusGrad, a / (T(1) + vm::exp(-b)))          \
  X(SoftsignGrad, a / ((T(1) + std::fabs(b)) * (T(1) + std::fabs(b))))                \
  X(Pow, std::pow(a, b))

template <class T> using Loop1 = void (*)(const T*, T*, int64_t);
template <class T> using Loop2 = void (*)(const T*, const T*, T*, int64_t);

#define UNARY(Name, expression)                                                        \
  struct Name##1 {                                                                     \
    template <class T> static HR_INLINE T apply(T a) { return expression; }            \
  };
#define BINARY(Name, expression)                                                       \
  struct Name##2 {                                                                     \
    template <class T> static HR_INLINE T apply(T a, T b) { return expression; }       \
  };
HR_FUSED_UNARY(UNARY)
HR_FUSED_BINARY(BINARY)

template <class Op, class T> HR_CLONES void one(const T* a, T* out, int64_t n) {
  HR_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) out[i] = Op::apply(a[i]);
}
template <class Op, class T, bool a_moves, bool b_moves>
HR_CLONES void two(const T* a, const T* b, T* out, int64_t n) {
  HR_INDEPENDENT
#pragma GCC unroll 4
  for (int64_t i = 0; i < n; ++i) out[i] = Op::apply(a[a_moves ? i : 0], b[b_moves ? i : 0]);
}

constexpr FusedInstruction kInstructions[] = {
#define NAME1(Name, expression) {#Name, 1},
#define NAME2(Name, expression) {#Name, 2},
    HR_FUSED_UNARY(NAME1) HR_FUSED_BINARY(NAME2)};
constexpr int kCount = int(sizeof kInstructions / sizeof kInstructions[0]);

template <class T> struct Code {
  Loop1<T> unary;
  Loop2<T> both, with_right, with_left;
};

template <class T> const Code<T>* code_of(int instruction) {
  static const Code<T> table[] = {
#define CODE1(Name, expression) {one<Name##1, T>, nullptr, nullptr, nullptr},
#define CODE2(Name, expression) \
  {nullptr, two<Name##2, T, 1, 1>, two<Name##2, T, 1, 0>, two<Name##2, T, 0, 1>},
      HR_FUSED_UNARY(CODE1) HR_FUSED_BINARY(CODE2)};
  return &table[instruction];
}

// ---- programs -----------------------------------------------------------------------------------

struct Operand {
  enum From { kInput, kTemporary, kConstant } from;
  int32_t index;
};

struct Step {
  int32_t instruction;
  Operand a, b;
  int32_t target;  // a temporary; of the last step, none
};

struct Program {
  std::vector<Step> steps;
  std::vector<double> constants;
  int32_t temporaries = 0;
};

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> result;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    if (end > at) result.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return result;
}

bool read_operand(std::string_view word, int32_t inputs, Program* program, Operand* operand) {
  if (word.size() < 2) return false;
  const std::string number(word.substr(1));
  char* end = nullptr;
  if (word[0] == 'c') {
    program->constants.push_back(std::strtod(number.c_str(), &end));
    *operand = {Operand::kConstant, int32_t(program->constants.size()) - 1};
    return *end == 0;
  }
  const long index = std::strtol(number.c_str(), &end, 10);
  if (*end != 0 || index < 0) return false;
  *operand = {word[0] == 'i' ? Operand::kInput : Operand::kTemporary, int32_t(index)};
  if (word[0] == 'i') return index < inputs;
  if (word[0] != 't') return false;
  for (const Step& step : program->steps)
    if (step.target == index) return true;
  return false;  // never computed
}

hr_code create_program(hr_node* node, void** state) {
  const auto lines = attr_strings(node, "program");
  auto* program = new Program;
  const auto refuse = [&](std::string_view line, const char* why) {
    delete program;
    return node->api->fail(node, HR_INVALID_ARGUMENT, "instruction '%.*s': %s", int(line.size()),
                           line.data(), why);
  };
  for (const hr_string& text : lines) {
    const std::string_view line(text.data, text.size);
    const auto parts = words(line);
    Step step{-1, {}, {}, -1};
    for (int i = 0; i < kCount && !parts.empty(); ++i)
      if (parts[0] == kInstructions[i].name) step.instruction = i;
    if (step.instruction < 0) return refuse(line, "unknown op");
    const int operands = kInstructions[step.instruction].operands;
    if (int(parts.size()) != 2 + operands) return refuse(line, "wrong number of words");
    if (!read_operand(parts[2], node->n_inputs, program, &step.a) ||
        (operands == 2 && !read_operand(parts[3], node->n_inputs, program, &step.b)))
      return refuse(line, "an operand is not there");
    if (parts[1][0] == 't')
      step.target = int32_t(std::strtol(std::string(parts[1].substr(1)).c_str(), nullptr, 10));
    if (step.target < 0 && &text != lines.end() - 1) return refuse(line, "no target");
    if (step.target > 4096) return refuse(line, "target out of range");
    for (const Step& before : program->steps)
      if (step.target >= 0 && before.target == step.target)
        return refuse(line, "the target is set twice");
    program->temporaries = std::max(program->temporaries, step.target + 1);
    program->steps.push_back(step);
  }
  if (program->steps.empty()) return refuse("", "the program is empty");
  *state = program;
  return HR_OK;
}

// ---- plans --------------------------------------------------------------------------------------

// How an input is laid over the output.
enum class Lay { kOne, kFull, kVector, kAny };

struct InputPlan {
  Lay lay;
  int32_t buffer;  // for kVector and kAny
  Walk<1> walk;    // for kAny
};

// A register: a number, or a stretch of each block.
struct Place {
  bool is_number;
  int32_t index;  // number, or buffer
};

struct PlannedStep {
  int32_t instruction;
  Operand a, b;
  bool a_moves, b_moves;
  Place target;
};

struct FusedPlan {
  std::vector<InputPlan> inputs;
  std::vector<PlannedStep> once, each;  // numbers; blocks
  std::vector<Place> temporaries;
  std::vector<double> constants;
  int32_t numbers = 0, buffers = 0;
  int64_t n = 0;
  int64_t vector = 0;  // length of the vectors over the last dimension, or 0
  int64_t block = kBlock, blocks = 0;
  int64_t scratch = 0;  // bytes of a thread
};

template <class T> struct Run {
  const FusedPlan& plan;
  const hr_tensor* const* in;
  T* out;
  T* numbers;  // temporaries that are numbers, then constants
  T* scratch;

  T* buffer(int32_t i) const { return scratch + i * kBlock; }

  const T* operand(const Operand& o, int64_t begin) const {
    switch (o.from) {
      case Operand::kConstant: return numbers + plan.numbers + o.index;
      case Operand::kTemporary: {
        const Place& p = plan.temporaries[size_t(o.index)];
        return p.is_number ? numbers + p.index : buffer(p.index);
      }
      default: break;
    }
    const T* data = read<T>(in[o.index]);
    const InputPlan& input = plan.inputs[size_t(o.index)];
    switch (input.lay) {
      case Lay::kOne: return data;
      case Lay::kFull: return data + begin;
      case Lay::kVector:
        if (plan.vector > kBlock) return data + begin % plan.vector;
        return buffer(input.buffer);
      default: return buffer(input.buffer);
    }
  }

  void step(const PlannedStep& s, int64_t begin, T* to, int64_t n) const {
    const Code<T>& code = *code_of<T>(s.instruction);
    const T* a = operand(s.a, begin);
    if (code.unary) {
      code.unary(a, to, n);
      return;
    }
    const T* b = operand(s.b, begin);
    (s.a_moves && s.b_moves ? code.both : s.a_moves ? code.with_right : code.with_left)(a, b, to,
                                                                                       n);
  }

  // What every block needs the same way: vectors, repeated over the block.
  void begin_thread() const {
    for (size_t i = 0; i < plan.inputs.size(); ++i) {
      if (plan.inputs[i].lay != Lay::kVector || plan.vector > kBlock) continue;
      T* to = buffer(plan.inputs[i].buffer);
      for (int64_t at = 0; at < plan.block; at += plan.vector)
        std::copy_n(read<T>(in[i]), plan.vector, to + at);
    }
  }

  void block(int64_t index) const {
    int64_t begin = index * plan.block, n = std::min(plan.block, plan.n - begin);
    if (plan.vector > kBlock) {  // blocks end where rows end
      const int64_t per_row = (plan.vector + kBlock - 1) / kBlock;
      const int64_t row = index / per_row, at = index % per_row * kBlock;
      begin = row * plan.vector + at;
      n = std::min(kBlock, plan.vector - at);
    }
    for (size_t i = 0; i < plan.inputs.size(); ++i) {
      const InputPlan& input = plan.inputs[i];
      if (input.lay != Lay::kAny) continue;
      spread(input.walk, read<T>(in[i]), begin, n, buffer(input.buffer));
    }
    for (size_t i = 0; i < plan.each.size(); ++i) {
      const PlannedStep& s = plan.each[i];
      T* to = i + 1 == plan.each.size() ? out + begin : buffer(s.target.index);
      step(s, begin, to, n);
    }
  }

  static void spread(const Walk<1>& walk, const T* from, int64_t begin, int64_t n, T* to) {
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
};

template <class T>
hr_code compute_fused(hr_ctx* ctx, void*, void* plan_, const hr_tensor* const* in,
                      hr_tensor* const* out, void* workspace) {
  const auto& plan = *static_cast<const FusedPlan*>(plan_);
  T* numbers = static_cast<T*>(workspace);
  const int64_t constants = int64_t(plan.constants.size());
  for (int64_t i = 0; i < constants; ++i) numbers[plan.numbers + i] = T(plan.constants[size_t(i)]);
  T* scratch = numbers + (plan.numbers + constants + 15) / 16 * 16;
  const Run<T> whole{plan, in, write<T>(out[0]), numbers, scratch};
  for (const PlannedStep& s : plan.once) whole.step(s, 0, numbers + s.target.index, 1);
  const int64_t touched = int64_t(plan.inputs.size() + plan.each.size()) * kBlock * int64_t(sizeof(T));
  parallel_ranges(ctx, plan.blocks, std::max<int64_t>(1, kGrainBytes / touched),
                  [&](int64_t begin, int64_t end) {
                    const Run<T> run{plan, in, write<T>(out[0]), numbers,
                                     scratch + this_thread() * plan.buffers * kBlock};
                    run.begin_thread();
                    for (int64_t b = begin; b < end; ++b) run.block(b);
                  });
  return HR_OK;
}

hr_code compute_nothing(hr_ctx*, void*, void*, const hr_tensor* const*, hr_tensor* const*, void*) {
  return HR_OK;
}

void lay_inputs(hr_request* r, FusedPlan* plan) {
  const hr_tensor* out = r->outputs[0];
  const int64_t last = out->rank ? out->dims[out->rank - 1] : 1;
  for (int32_t i = 0; i < r->node->n_inputs; ++i) {
    const hr_tensor* x = r->inputs[i];
    const int64_t n = hr_elements(x);
    InputPlan input{Lay::kAny, -1, {}};
    if (n == plan->n) input.lay = Lay::kFull;
    else if (n == 1) input.lay = Lay::kOne;
    else if (n == last && x->rank && x->dims[x->rank - 1] == last) input.lay = Lay::kVector;
    else input.walk = broadcast_walk<1>(out, {x});
    if (input.lay == Lay::kVector) plan->vector = last;
    if (input.lay == Lay::kVector || input.lay == Lay::kAny) input.buffer = plan->buffers++;
    plan->inputs.push_back(input);
  }
}

hr_code prepare_fused(void* state, hr_request* r) {
  if (hr_code code = hr_shape_broadcast(r)) return code;
  const auto& program = *static_cast<const Program*>(state);
  const hr_tensor* out = r->outputs[0];
  auto* plan = keep_plan(r, new FusedPlan);
  plan->n = hr_elements(out);
  if (plan->n == 0) {
    r->compute = compute_nothing;
    return HR_OK;
  }
  lay_inputs(r, plan);
  plan->constants = program.constants;
  plan->temporaries.assign(size_t(program.temporaries), Place{true, -1});

  const auto moves = [&](const Operand& o) {
    if (o.from == Operand::kConstant) return false;
    if (o.from == Operand::kInput) return plan->inputs[size_t(o.index)].lay != Lay::kOne;
    return !plan->temporaries[size_t(o.index)].is_number;
  };
  // A temporary's buffer is free again after the last step that reads it.
  const size_t n_steps = program.steps.size();
  std::vector<size_t> last_read(size_t(program.temporaries), 0);
  for (size_t i = 0; i < n_steps; ++i)
    for (const Operand* o : {&program.steps[i].a, &program.steps[i].b})
      if (o->from == Operand::kTemporary &&
          (o == &program.steps[i].a || kInstructions[program.steps[i].instruction].operands == 2))
        last_read[size_t(o->index)] = i;
  std::vector<int32_t> free_buffers;
  for (size_t i = 0; i < n_steps; ++i) {
    const Step& s = program.steps[i];
    const bool two = kInstructions[s.instruction].operands == 2;
    PlannedStep p{s.instruction, s.a, s.b, moves(s.a), two && moves(s.b), {}};
    const bool is_last = i + 1 == n_steps;
    if (!p.a_moves && !p.b_moves && !is_last) {
      p.target = {true, plan->numbers++};
      plan->once.push_back(p);
    } else {
      p.target = {false, -1};
      if (!is_last) {
        if (free_buffers.empty()) free_buffers.push_back(plan->buffers++);
        p.target.index = free_buffers.back();
        free_buffers.pop_back();
      }
      plan->each.push_back(p);
    }
    // Freed only now: a step may not write over what it reads, unless element by element,
    // which these do; but then the target's place must not be taken twice.
    for (const Operand* o : {&s.a, &s.b}) {
      if (o->from != Operand::kTemporary || (o == &s.b && !two)) continue;
      const Place& place = plan->temporaries[size_t(o->index)];
      const bool again = o == &s.b && s.a.from == o->from && s.a.index == o->index;
      if (!place.is_number && last_read[size_t(o->index)] == i && !again && place.index >= 0)
        free_buffers.push_back(place.index);
    }
    if (s.target >= 0) plan->temporaries[size_t(s.target)] = p.target;
  }
  PlannedStep& last = plan->each.back();
  if (!last.a_moves && !last.b_moves) {
    // A result that is one number: every loop needs an operand that moves, so a one-element
    // output takes its first operand as a stretch of one.
    if (plan->n != 1)
      return hr_request_fail(r, HR_INVALID_ARGUMENT, "the last instruction reads only numbers");
    last.a_moves = true;
  }
  if (plan->vector > kBlock) {
    plan->blocks = plan->n / plan->vector * ((plan->vector + kBlock - 1) / kBlock);
  } else {
    if (plan->vector) plan->block = kBlock / plan->vector * plan->vector;
    plan->blocks = (plan->n + plan->block - 1) / plan->block;
  }
  const int64_t size = hr_dtype_size(out->dtype);
  const int64_t numbers = (plan->numbers + int64_t(plan->constants.size()) + 15) / 16 * 16;
  r->workspace = size_t(size * (numbers + std::max<int32_t>(1, r->threads) * plan->buffers * kBlock));
  r->flops = double(plan->n) * double(n_steps);
  double bytes = double(plan->n * size);
  for (int32_t i = 0; i < r->node->n_inputs; ++i)
    bytes += double(hr_elements(r->inputs[i]) * size);
  r->bytes_moved = bytes;
  r->compute = out->dtype == HR_FLOAT ? compute_fused<float> : compute_fused<double>;
  return HR_OK;
}

}  // namespace

const FusedInstruction* const fused_instructions = kInstructions;
const int fused_instruction_count = kCount;

HR_ROWS(fused) = {
    row("_FusedElementwise", "T=" HR_WIDE_FLOATS, prepare_fused)
        .with_state(create_program, [](void* state) { delete static_cast<Program*>(state); })
        .reuses(0),
};
HR_ROWS_END(fused)

}  // namespace hr
