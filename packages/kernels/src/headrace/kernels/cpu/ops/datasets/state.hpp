// The saved position of an iterator: a string of tagged values, one group for each stage.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "headrace/kernel.h"
#include "ops/datasets/tensor.hpp"

namespace hr::data {

struct Spec;

class StateWriter {
 public:
  void number(int64_t value);
  void text(std::string_view value);
  void tensor(const Tensor& value);  // throws Unimplemented for resources and variants
  void element(const Element& value);
  // What StateReader::element_unless reads.
  void element_unless(bool none, const Element& value);
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// Throws DataLoss for bytes that are no state.
class StateReader {
 public:
  StateReader(hr_ctx* ctx, std::string_view bytes) : ctx_(ctx), left_(bytes) {}
  int64_t number();
  // How many elements have been read.
  int64_t position() { return number(0, INT64_MAX / 2); }
  // A number from `low` to `high`.
  int64_t number(int64_t low, int64_t high);
  std::string_view text();
  // An element of these types and shapes: stages rely on them. Throws Failure for any other, since
  // a saved position may come from another program.
  Element element(const Spec& spec);
  // The same behind a flag or failure that leaves no element.
  Element element_unless(bool none, const Spec& spec);
  // Checks the tag of a stage, which another pipeline would not have here.
  void expect(std::string_view tag);
  bool at_end() const { return left_.empty(); }
  hr_ctx* ctx() const { return ctx_; }

 private:
  hr_ctx* ctx_;
  std::string_view left_;

  Tensor tensor();
};

// A saved position is a string, which SerializeIterator returns in a variant.
// Null where a scalar variant holds something else.
const std::string* saved_position(const hr_tensor* variant);
// Puts a position into a new variant.
void set_saved_position(const hr_tensor* variant, std::string position);

}  // namespace hr::data
