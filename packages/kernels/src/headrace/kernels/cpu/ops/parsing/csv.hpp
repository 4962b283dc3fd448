// Records of comma-separated values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/kernel.h"

namespace hr::parsing {

struct CsvFormat {
  int64_t n = 0;  // fields
  char delimiter = ',';
  bool quotes = true;
  std::string missing;           // also means an empty field
  std::vector<int64_t> columns;  // ascending; empty: all
};

// Reads a record into element i of the outputs, one for each field. A missing field takes its
// default, unless that is empty. Throws Failure.
void decode_csv(hr_ctx* ctx, const CsvFormat& format, std::string_view text, int64_t i,
                const hr_tensor* const* defaults, hr_tensor* const* out);

}  // namespace hr::parsing
