// SQLite, from the library of the system, which is loaded when a query needs it.
#pragma once

#include <memory>
#include <string>

#include "ops/datasets/tensor.hpp"

namespace hr::data {

// The rows of a query. Throws Failure.
class SqliteQuery {
 public:
  SqliteQuery(const std::string& file, const std::string& query);
  ~SqliteQuery();
  SqliteQuery(const SqliteQuery&) = delete;

  int columns() const;
  bool next();  // false: no further row
  // A value of the current row, as a scalar of a type that SqlDataset has.
  Tensor value(hr_ctx* ctx, int column, hr_dtype dtype) const;

 private:
  void* database_ = nullptr;
  void* statement_ = nullptr;
};

}  // namespace hr::data
