// Parses the maps of features of a batch of messages into tensors: those of Examples, and the
// contexts of SequenceExamples.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "files/disk.hpp"
#include "headrace/kernel.h"
#include "ops/parsing/feature.hpp"

namespace hr::parsing {

using Dims = std::vector<int64_t>;

// A feature that an op looks for, and where its values go.
struct Column {
  enum Kind { kSparse, kDense, kRagged } kind = kDense;
  std::string key;
  hr_dtype dtype = HR_INVALID;
  hr_tensor* values = nullptr;
  hr_tensor *indices = nullptr, *shape = nullptr;  // sparse
  hr_tensor* splits = nullptr;                     // ragged; int32 or int64
  // Dense: the shape of a value. Of variable length, its first dimension is left out.
  Dims dims;
  bool variable = false;
  const hr_tensor* default_value = nullptr;  // empty: the feature is required

  int64_t size() const;  // the product of dims
};

struct Batch {
  hr_ctx* ctx;
  const hr_string* messages;
  int64_t n;
  bool has_batch;          // whether the outputs have a dimension for it; else n is 1
  const hr_tensor* names;  // for errors; may be empty
};

// Throws Failure: the error of the first message that has one.
void parse_batch(const Batch& batch, const std::vector<Column>& columns);

// "Name: it, Key: k, Index: 3.  "
std::string place_text(const Batch& batch, int64_t i, const std::string& key);
std::string name_of(const Batch& batch, int64_t i);
std::string dims_text(const Dims& dims, bool variable = false);

// Throws Failure for values of another dtype.
void check_dtype(const Batch& batch, int64_t i, const std::string& key, hr_dtype found,
                 hr_dtype expected);

// Keeps the error of the first message of several threads.
class FirstError {
 public:
  void keep(int64_t i, const Failure& failure);
  void rethrow() const;

 private:
  std::mutex lock_;
  int64_t at_ = INT64_MAX;
  Failure first_{HR_OK, ""};
};

// Messages that a thread should at least parse.
int64_t grain_of_messages(const hr_string* messages, int64_t n);

void allocate(hr_ctx* ctx, hr_tensor* out, const Dims& dims);

}  // namespace hr::parsing
