// Reads and validates programs of elementwise ops. Execution relies on this and checks nothing.
#include "library/elementwise/program.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string_view>

#include "library/attributes.hpp"
#include "library/dtype_names.hpp"

namespace hr::fused {
namespace {

constexpr size_t kMostWords = 80;

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> result;
  for (size_t at = 0; at < text.size() && result.size() <= kMostWords;) {
    const size_t end = std::min(text.find(' ', at), text.size());
    if (end > at) result.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return result;
}

hr_dtype dtype_of_name(std::string_view name) {
  for (hr_dtype dtype = HR_FLOAT; dtype <= HR_FLOAT8_E4M3FN; ++dtype)
    if (name == dtype_name(dtype)) return dtype;
  return HR_INVALID;
}

class Reader {
 public:
  Reader(const hr_node* node, Program* program) : node_(node), program_(program) {}

  // null, or what is wrong with a line.
  const char* read(std::string_view line, bool is_last) {
    const auto words = words_of(line);
    if (words.empty()) return "unknown op";
    const Instruction* instruction = find_instruction(words[0].data(), words[0].size());
    if (!instruction) return "unknown op";
    const bool many = words[0] == "AddN", casts = instruction->kind == kCast;
    const size_t operands = many ? words.size() - 2 : size_t(instruction->operands);
    if (words.size() < 3 || words.size() > kMostWords ||
        words.size() != 2 + operands + (casts ? 1 : 0))
      return "wrong number of words";
    std::vector<Operand> read(operands);
    for (size_t k = 0; k < operands; ++k)
      if (!read_operand(words[2 + k], &read[k])) return "an operand is not there";
    const int64_t name = words[1][0] == 't' ? number_of(words[1].substr(1)) : -1;
    if (name < 0 && !is_last) return "no target";
    if (targets_.count(name)) return "the target is set twice";
    const hr_dtype to = casts ? dtype_of_name(words.back()) : HR_INVALID;
    const char* why = many ? add_sum(*instruction, read) : add(*instruction, read.data(), to);
    if (!why && name >= 0) targets_[name] = int32_t(program_->temporaries.size()) - 1;
    return why;
  }

  // "Sum o t3": the value must be that of the last line.
  const char* read_reduction(std::string_view line) {
    const auto words = words_of(line);
    if (words.size() != 3) return "wrong number of words";
    Operand operand;
    if (!read_operand(words[2], &operand)) return "an operand is not there";
    if (program_->steps.empty() || operand.from != Operand::kTemporary ||
        operand.index != program_->steps.back().target)
      return "it must reduce the result of the line before";
    program_->reduction = std::string(words[0]);
    return nullptr;
  }

 private:
  static int64_t number_of(std::string_view word) {
    const std::string text(word);
    char* end = nullptr;
    const long number = std::strtol(text.c_str(), &end, 10);
    return text.empty() || *end || number < 0 ? -1 : number;
  }

  bool read_operand(std::string_view word, Operand* operand) {
    if (word.size() < 2) return false;
    if (word[0] == 'c') {
      const std::string number(word.substr(1));
      char* end = nullptr;
      program_->constants.push_back({std::strtod(number.c_str(), &end), HR_INVALID});
      *operand = {Operand::kConstant, int32_t(program_->constants.size()) - 1};
      return *end == 0;
    }
    const int64_t index = number_of(word.substr(1));
    if (word[0] == 'i') {
      *operand = {Operand::kInput, int32_t(index)};
      return index >= 0 && index < node_->n_inputs;
    }
    const auto found = targets_.find(index);
    if (word[0] != 't' || index < 0 || found == targets_.end()) return false;
    *operand = {Operand::kTemporary, found->second};
    return true;
  }

  // HR_INVALID: of a constant, which takes its dtype from the other operands.
  hr_dtype dtype_of(const Operand& o) const {
    if (o.from == Operand::kConstant) return HR_INVALID;
    return o.from == Operand::kInput ? node_->input_dtypes[o.index]
                                     : program_->temporaries[size_t(o.index)];
  }

  const char* add(const Instruction& instruction, const Operand* operands, hr_dtype to) {
    const int first = instruction.kind == kChoice ? 1 : 0;
    hr_dtype dtype = HR_INVALID;
    for (int k = first; k < instruction.operands; ++k) {
      const hr_dtype other = dtype_of(operands[k]);
      if (other == HR_INVALID) continue;
      if (dtype != HR_INVALID && other != dtype) return "the operands are of several dtypes";
      dtype = other;
    }
    if (dtype == HR_INVALID) return "all operands are constants";
    if (first && dtype_of(operands[0]) != HR_BOOL) return "the condition must be bool";
    const Rep rep = rep_of(dtype);
    if (rep == kReps) return "the op is not known for that dtype";
    const bool casts = instruction.kind == kCast;
    if (!casts && (!holds(instruction.set, rep) || is_narrow_integer(dtype)))
      return "the op is not known for that dtype";
    if (casts && (rep_of(to) == kReps || is_narrow_integer(to))) return "no cast to that dtype";
    Step step{};
    step.instruction = &instruction;
    step.rep = rep;
    step.operands = instruction.operands;
    for (int k = 0; k < step.operands; ++k) {
      step.operand[k] = operands[k];
      if (operands[k].from == Operand::kConstant)
        program_->constants[size_t(operands[k].index)].dtype =
            instruction.takes_number && is_rounded(dtype) ? HR_FLOAT : dtype;
    }
    step.result = casts ? to : instruction.kind == kPredicate ? HR_BOOL : dtype;
    step.rounds = is_rounded(step.result) && !instruction.exact && !(casts && dtype == to);
    push(step);
    return nullptr;
  }

  // From left to right; sums of half are rounded at the end only.
  const char* add_sum(const Instruction& instruction, const std::vector<Operand>& operands) {
    if (operands.size() == 1)
      return add(*find_instruction("Identity", 8), operands.data(), HR_INVALID);
    Operand pair[2] = {operands[0], operands[1]};
    const hr_dtype dtype = dtype_of(operands[0]);
    for (size_t k = 1; k < operands.size(); ++k) {
      if (dtype_of(operands[k]) != dtype) return "the operands are of several dtypes";
      if (k > 1)  // the sum so far, under the dtype of what is added
        pair[0] = {Operand::kTemporary, program_->steps.back().target};
      pair[1] = operands[k];
      if (const char* why = add(instruction, pair, HR_INVALID)) return why;
      if (k + 1 < operands.size()) program_->steps.back().rounds = false;
    }
    return nullptr;
  }

  void push(Step step) {
    step.target = int32_t(program_->temporaries.size());
    program_->temporaries.push_back(step.result);
    program_->value_size = std::max(program_->value_size, rep_size(rep_of(step.result)));
    program_->steps.push_back(step);
  }

  const hr_node* node_;
  Program* program_;
  std::map<int64_t, int32_t> targets_;
};

}  // namespace

hr_code read_program(hr_node* node, bool reduces, Program* program) {
  const auto lines = attr_strings(node, "program");
  Reader reader(node, program);
  const auto reject = [&](std::string_view line, const char* why) {
    return node->api->fail(node, HR_INVALID_ARGUMENT, "instruction '%.*s': %s", int(line.size()),
                           line.data(), why);
  };
  for (int32_t i = 0; i < node->n_inputs; ++i) {
    const Rep rep = rep_of(node->input_dtypes[i]);
    if (rep == kReps) return reject("", "an input is of a dtype that no instruction knows");
    program->value_size = std::max(program->value_size, rep_size(rep));
  }
  for (size_t i = 0; i < lines.size; ++i) {
    const std::string_view line(lines[i].data, lines[i].size);
    const bool closes = reduces && i + 1 == lines.size;
    const char* why = closes ? reader.read_reduction(line) : reader.read(line, i + 1 == lines.size);
    if (why) return reject(line, why);
  }
  if (program->steps.empty()) return reject("", "the program is empty");
  if (program->steps.back().result != node->output_dtypes[0])
    return reject("", "the result is of another dtype than the output");
  return HR_OK;
}

}  // namespace hr::fused
