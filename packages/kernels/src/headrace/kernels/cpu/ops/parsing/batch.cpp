#include "ops/parsing/batch.hpp"

#include <algorithm>

#include "library/dtype_names.hpp"
#include "library/shapes.hpp"
#include "library/text.hpp"
#include "loops/elements.hpp"

namespace hr::parsing {
namespace {

constexpr int64_t kGrainOfBytes = 32 << 10;

const char* list_name(hr_dtype dtype) { return dtype == HR_STRING ? "bytes" : dtype_name(dtype); }

void fill_values(hr_ctx* ctx, hr_dtype dtype, void* to, const void* from, int64_t n) {
  copy_elements(ctx, dtype, hr_dtype_size(dtype), to, from, n);
}

char* element(hr_tensor* t, int64_t i) {
  return static_cast<char*>(t->data) + i * hr_dtype_size(t->dtype);
}

// What pass 1 does with a feature of one message.
class Parser {
 public:
  Parser(const Batch& batch, const std::vector<Column>& columns)
      : batch_(batch), columns_(columns), keys_(keys_of(columns)),
        found_(size_t(batch.n) * columns.size()) {}

  void run() {
    for (const Column& column : columns_)
      if (is_fixed(column)) allocate(batch_.ctx, column.values, outer(column.dims));
    // Values whose place depends on the messages before are counted first, and copied then.
    parallel([this](int64_t begin, int64_t end) { find(begin, end); });
    bool more = false;
    for (size_t c = 0; c < columns_.size(); ++c) {
      if (is_fixed(columns_[c])) continue;
      place(c);
      more = true;
    }
    if (more) parallel([this](int64_t begin, int64_t end) { copy(begin, end); });
  }

 private:
  const Batch& batch_;
  const std::vector<Column>& columns_;
  const WantedKeys keys_;
  std::vector<Values> found_;                // of message i and column c: i * columns + c
  std::vector<std::vector<int64_t>> begin_;  // of column c: where the values of message i begin
  std::vector<int64_t> longest_;

  static std::vector<std::string> keys_of(const std::vector<Column>& columns) {
    std::vector<std::string> keys;
    for (const Column& column : columns) keys.push_back(column.key);
    return keys;
  }
  static bool is_fixed(const Column& column) {
    return column.kind == Column::kDense && !column.variable;
  }
  Dims outer(const Dims& dims) const {
    Dims all;
    if (batch_.has_batch) all.push_back(batch_.n);
    all.insert(all.end(), dims.begin(), dims.end());
    return all;
  }
  Values& found(int64_t i, size_t c) { return found_[size_t(i) * columns_.size() + c]; }

  template <class Body> void parallel(Body&& body) {
    FirstError error;
    parallel_ranges(batch_.ctx, batch_.n, grain_of_messages(batch_.messages, batch_.n),
                    [&](int64_t begin, int64_t end) {
                      int64_t i = begin;
                      try {
                        for (; i < end; ++i) body(i, i + 1);
                      } catch (const Failure& failure) { error.keep(i, failure); }
                    });
    error.rethrow();
  }

  void find(int64_t i, int64_t) {
    Bytes few[32];
    std::vector<Bytes> many;
    Bytes* entries = few;
    if (columns_.size() > 32) {
      many.resize(columns_.size());
      entries = many.data();
    }
    if (!find_entries(text_of(batch_.messages[i]), 1, keys_, entries))
      throw Failure{HR_INVALID_ARGUMENT, "Name: " + name_of(batch_, i) +
                                             ", Index: " + std::to_string(i) +
                                             ".  Could not parse example input"};
    for (size_t c = 0; c < columns_.size(); ++c) {
      const Column& column = columns_[c];
      Values& values = found(i, c);
      if (entries[c].data && !read_feature(entries[c].data, entries[c].size, &values))
        throw Failure{HR_INVALID_ARGUMENT,
                      place_text(batch_, i, column.key) + "Can't parse serialized Example."};
      if (values.dtype != HR_INVALID)
        check_dtype(batch_, i, column.key, values.dtype, column.dtype);
      if (column.kind == Column::kDense) find_dense(i, column, &values);
    }
  }

  void find_dense(int64_t i, const Column& column, Values* values) {
    const int64_t size = column.size();
    if (column.variable) {
      if (size ? values->count % size : values->count)
        throw Failure{HR_INVALID_ARGUMENT,
                      place_text(batch_, i, column.key) + "Number of " + list_name(column.dtype) +
                          " values is not a multiple of stride length. Saw " +
                          std::to_string(values->count) +
                          " values but output shape is: " + dims_text(column.dims, true)};
      return;
    }
    char* to = element(column.values, i * size);
    if (values->dtype == HR_INVALID) {
      if (hr_elements(column.default_value) == 0 && size)
        throw Failure{HR_INVALID_ARGUMENT,
                      "Name: " + name_of(batch_, i) + ", Feature: " + column.key + " (data type: " +
                          dtype_name(column.dtype) + ") is required but could not be found."};
      return fill_values(batch_.ctx, column.dtype, to, column.default_value->data, size);
    }
    if (values->count != size)
      throw Failure{HR_INVALID_ARGUMENT,
                    place_text(batch_, i, column.key) + "Number of " + list_name(column.dtype) +
                        " values != expected.  values size: " + std::to_string(values->count) +
                        " but output shape: " + dims_text(column.dims)};
    copy_values(batch_.ctx, *values, batch_.messages[i], to);
  }

  // Allocates the outputs of a column whose values depend on the messages.
  void place(size_t c) {
    const Column& column = columns_[c];
    begin_.resize(columns_.size());
    longest_.resize(columns_.size());
    std::vector<int64_t>& begin = begin_[c];
    begin.assign(size_t(batch_.n) + 1, 0);
    for (int64_t i = 0; i < batch_.n; ++i) {
      begin[size_t(i) + 1] = begin[size_t(i)] + found(i, c).count;
      longest_[c] = std::max(longest_[c], found(i, c).count);
    }
    const int64_t total = begin.back();
    if (column.kind == Column::kDense) {
      Dims dims = column.dims;
      dims.insert(dims.begin(), column.size() ? longest_[c] / column.size() : 0);
      allocate(batch_.ctx, column.values, outer(dims));
      return;
    }
    allocate(batch_.ctx, column.values, {total});
    if (column.kind == Column::kSparse) {
      allocate(batch_.ctx, column.indices, {total, batch_.has_batch ? 2 : 1});
      allocate(batch_.ctx, column.shape, {batch_.has_batch ? 2 : 1});
      auto* shape = write<int64_t>(column.shape);
      if (batch_.has_batch) *shape++ = batch_.n;
      *shape = longest_[c];
    } else {
      if (column.splits->dtype == HR_INT32 && total > INT32_MAX)
        throw Failure{HR_INVALID_ARGUMENT,
                      "Key: " + column.key +
                          ": too many values for row splits of int32: " + std::to_string(total)};
      if (!batch_.has_batch) return;
      allocate(batch_.ctx, column.splits, {batch_.n + 1});
      for (int64_t i = 0; i <= batch_.n; ++i)
        if (column.splits->dtype == HR_INT32)
          write<int32_t>(column.splits)[i] = int32_t(begin[size_t(i)]);
        else write<int64_t>(column.splits)[i] = begin[size_t(i)];
    }
  }

  void copy(int64_t i, int64_t) {
    for (size_t c = 0; c < columns_.size(); ++c) {
      const Column& column = columns_[c];
      if (is_fixed(column)) continue;
      const Values& values = found(i, c);
      const bool pads = column.kind == Column::kDense;
      const int64_t begin = pads ? i * longest_[c] : begin_[c][size_t(i)];
      char* to = element(column.values, begin);
      if (values.count) copy_values(batch_.ctx, values, batch_.messages[i], to);
      if (pads && values.count < longest_[c])
        fill_elements(batch_.ctx, column.dtype, element(column.values, begin + values.count),
                      column.default_value->data, longest_[c] - values.count);
      if (column.kind != Column::kSparse) continue;
      auto* index = write<int64_t>(column.indices) + begin * (batch_.has_batch ? 2 : 1);
      for (int64_t k = 0; k < values.count; ++k) {
        if (batch_.has_batch) *index++ = i;
        *index++ = k;
      }
    }
  }
};

}  // namespace

int64_t Column::size() const { return product(dims.data(), 0, int32_t(dims.size())); }

void parse_batch(const Batch& batch, const std::vector<Column>& columns) {
  Parser(batch, columns).run();
}

std::string name_of(const Batch& batch, int64_t i) {
  if (!batch.names || hr_elements(batch.names) <= i) return "<unknown>";
  return std::string(text_at(batch.names, i));
}

std::string place_text(const Batch& batch, int64_t i, const std::string& key) {
  return "Name: " + name_of(batch, i) + ", Key: " + key + ", Index: " + std::to_string(i) + ".  ";
}

std::string dims_text(const Dims& dims, bool variable) {
  std::string text = "[";
  if (variable) text += "?";
  for (size_t i = 0; i < dims.size(); ++i)
    text += (i || variable ? "," : "") + std::to_string(dims[i]);
  return text + "]";
}

void check_dtype(const Batch& batch, int64_t i, const std::string& key, hr_dtype found,
                 hr_dtype expected) {
  if (found != expected)
    throw Failure{HR_INVALID_ARGUMENT,
                  place_text(batch, i, key) + "Data types don't match. Data type: " +
                      dtype_name(found) + " but expected type: " + dtype_name(expected)};
}

void FirstError::keep(int64_t i, const Failure& failure) {
  const std::lock_guard<std::mutex> hold(lock_);
  if (i >= at_) return;
  at_ = i;
  first_ = failure;
}

void FirstError::rethrow() const {
  if (at_ != INT64_MAX) throw first_;
}

int64_t grain_of_messages(const hr_string* messages, int64_t n) {
  int64_t bytes = 0;
  const int64_t step = std::max<int64_t>(1, n / 16);  // a sample
  int64_t seen = 0;
  for (int64_t i = 0; i < n; i += step, ++seen) bytes += int64_t(messages[i].size);
  return std::max<int64_t>(1, kGrainOfBytes * seen / (bytes + 64 * seen + 1));
}

void allocate(hr_ctx* ctx, hr_tensor* out, const Dims& dims) {
  if (dims.size() > HR_MAX_RANK)
    throw Failure{HR_UNIMPLEMENTED,
                  "a result of more than " + std::to_string(HR_MAX_RANK) + " dimensions"};
  set_shape(out, int32_t(dims.size()), dims.data());
  check(ctx->api->allocate(ctx, out));
}

}  // namespace hr::parsing
