// How a reader makes records of a work unit, mostly of the file that the unit names.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "headrace/kernel.h"

namespace hr::readers {

enum class Found { kRecord, kLastRecord, kEnd };

// The functions throw Failure.
class RecordFormat {
 public:
  virtual ~RecordFormat() = default;
  virtual void open(const std::string& unit) = 0;
  // `value` is valid until the next call.
  virtual Found next(std::string* key, std::string_view* value) = 0;
  virtual void close() {}
  // Whether a position in a unit needs no state but the reader's own.
  virtual bool is_stateless() const { return false; }
};

// The format that a node declares by its op and attributes; null, with an error of the node, for
// values that are not allowed.
std::unique_ptr<RecordFormat> format_of(const hr_node* node);

}  // namespace hr::readers
