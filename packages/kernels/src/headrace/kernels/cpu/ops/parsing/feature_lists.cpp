#include "ops/parsing/feature_lists.hpp"

#include <algorithm>
#include <cstring>

#include "library/dtype_names.hpp"
#include "library/shapes.hpp"
#include "library/text.hpp"
#include "loops/elements.hpp"

namespace hr::parsing {
namespace {

void set_split(hr_tensor* splits, int64_t i, int64_t value) {
  if (splits->dtype == HR_INT32) write<int32_t>(splits)[i] = int32_t(value);
  else write<int64_t>(splits)[i] = value;
}

class Parser {
 public:
  Parser(const Batch& batch, const std::vector<ListColumn>& columns)
      : batch_(batch), columns_(columns), keys_(keys_of(columns)),
        steps_(size_t(batch.n) * columns.size()), totals_(columns.size()) {}

  void run() {
    parallel([this](int64_t i) { find(i); });
    for (size_t c = 0; c < columns_.size(); ++c) place(c);
    parallel([this](int64_t i) {
      for (size_t c = 0; c < columns_.size(); ++c) copy(i, c);
    });
  }

 private:
  struct Totals {
    std::vector<int64_t> steps, values;  // of the messages before message i
    int64_t most_steps = 0, most_values = 0;
  };
  const Batch& batch_;
  const std::vector<ListColumn>& columns_;
  const WantedKeys keys_;
  std::vector<std::vector<Values>> steps_;  // of message i and column c: i * columns + c
  std::vector<Totals> totals_;

  static std::vector<std::string> keys_of(const std::vector<ListColumn>& columns) {
    std::vector<std::string> keys;
    for (const ListColumn& column : columns) keys.push_back(column.key);
    return keys;
  }
  std::vector<Values>& steps(int64_t i, size_t c) {
    return steps_[size_t(i) * columns_.size() + c];
  }
  static int64_t size_of(const ListColumn& column) {
    return product(column.dims.data(), 0, int32_t(column.dims.size()));
  }

  template <class Body> void parallel(Body&& body) {
    FirstError error;
    parallel_ranges(batch_.ctx, batch_.n, grain_of_messages(batch_.messages, batch_.n),
                    [&](int64_t begin, int64_t end) {
                      int64_t i = begin;
                      try {
                        for (; i < end; ++i) body(i);
                      } catch (const Failure& failure) { error.keep(i, failure); }
                    });
    error.rethrow();
  }

  void find(int64_t i) {
    std::vector<Bytes> entries(columns_.size());
    if (!find_entries(text_of(batch_.messages[i]), 2, keys_, entries.data()))
      throw Failure{HR_INVALID_ARGUMENT, "Name: " + name_of(batch_, i) +
                                             ", Index: " + std::to_string(i) +
                                             ".  Could not parse example input"};
    for (size_t c = 0; c < columns_.size(); ++c) {
      const ListColumn& column = columns_[c];
      if (!entries[c].data) {
        if (column.kind == Column::kDense && !column.may_lack)
          throw Failure{HR_INVALID_ARGUMENT,
                        "Name: " + name_of(batch_, i) + ", Feature list '" + column.key +
                            "' is required but could not be found.  Did you mean to include it in "
                            "feature_list_dense_missing_assumed_empty or "
                            "feature_list_dense_defaults?"};
        continue;
      }
      const bool valid = each_feature(entries[c], [&](const uint8_t* data, uint64_t size) {
        Values values;
        if (!read_feature(data, size, &values)) return false;
        check_step(i, column, values, int64_t(steps(i, c).size()));
        steps(i, c).push_back(values);
        return true;
      });
      if (!valid)
        throw Failure{HR_INVALID_ARGUMENT,
                      place_text(batch_, i, column.key) + "Can't parse serialized Example."};
    }
  }

  void check_step(int64_t i, const ListColumn& column, const Values& values, int64_t step) {
    if (values.dtype != HR_INVALID) check_dtype(batch_, i, column.key, values.dtype, column.dtype);
    if (column.kind != Column::kDense || values.count == size_of(column)) return;
    throw Failure{HR_INVALID_ARGUMENT,
                  place_text(batch_, i, column.key) + "Number of values of step " +
                      std::to_string(step) +
                      " != expected.  values size: " + std::to_string(values.count) +
                      " but output shape: " + dims_text(column.dims)};
  }

  Dims outer(const Dims& dims) const {
    Dims all;
    if (batch_.has_batch) all.push_back(batch_.n);
    all.insert(all.end(), dims.begin(), dims.end());
    return all;
  }

  void place(size_t c) {
    const ListColumn& column = columns_[c];
    Totals& totals = totals_[c];
    totals.steps.assign(size_t(batch_.n) + 1, 0);
    totals.values.assign(size_t(batch_.n) + 1, 0);
    for (int64_t i = 0; i < batch_.n; ++i) {
      int64_t values = 0;
      for (const Values& step : steps(i, c)) {
        values += step.count;
        totals.most_values = std::max(totals.most_values, step.count);
      }
      const int64_t n_steps = int64_t(steps(i, c).size());
      totals.most_steps = std::max(totals.most_steps, n_steps);
      totals.steps[size_t(i) + 1] = totals.steps[size_t(i)] + n_steps;
      totals.values[size_t(i) + 1] = totals.values[size_t(i)] + values;
    }
    switch (column.kind) {
      case Column::kDense: return place_dense(column, totals);
      case Column::kSparse: return place_sparse(column, totals);
      case Column::kRagged: return place_ragged(column, totals);
    }
  }

  void place_dense(const ListColumn& column, const Totals& totals) {
    Dims dims = column.dims;
    dims.insert(dims.begin(), totals.most_steps);
    allocate(batch_.ctx, column.values, outer(dims));
    if (column.dtype != HR_STRING && column.values->bytes) zero_polled(batch_.ctx, column.values);
    if (!column.lengths) return;
    allocate(batch_.ctx, column.lengths, outer({}));
    for (int64_t i = 0; i < batch_.n; ++i)
      write<int64_t>(column.lengths)[i] = totals.steps[size_t(i) + 1] - totals.steps[size_t(i)];
  }

  void place_sparse(const ListColumn& column, const Totals& totals) {
    const int64_t total = totals.values.back();
    allocate(batch_.ctx, column.values, {total});
    allocate(batch_.ctx, column.indices, {total, batch_.has_batch ? 3 : 2});
    allocate(batch_.ctx, column.shape, {batch_.has_batch ? 3 : 2});
    auto* shape = write<int64_t>(column.shape);
    if (batch_.has_batch) *shape++ = batch_.n;
    *shape++ = totals.most_steps;
    *shape = totals.most_values;
  }

  void place_ragged(const ListColumn& column, const Totals& totals) {
    const int64_t total = totals.values.back(), n_steps = totals.steps.back();
    for (const hr_tensor* splits : {column.outer_splits, column.inner_splits})
      if (splits->dtype == HR_INT32 && std::max(total, n_steps) > INT32_MAX)
        throw Failure{HR_INVALID_ARGUMENT,
                      "Key: " + column.key +
                          ": too many values for row splits of int32: " + std::to_string(total)};
    allocate(batch_.ctx, column.values, {total});
    allocate(batch_.ctx, column.inner_splits, {n_steps + 1});
    set_split(column.inner_splits, 0, 0);
    if (!batch_.has_batch) return allocate(batch_.ctx, column.outer_splits, {0});
    allocate(batch_.ctx, column.outer_splits, {batch_.n + 1});
    for (int64_t i = 0; i <= batch_.n; ++i)
      set_split(column.outer_splits, i, totals.steps[size_t(i)]);
  }

  void copy(int64_t i, size_t c) {
    const ListColumn& column = columns_[c];
    const Totals& totals = totals_[c];
    const bool dense = column.kind == Column::kDense, sparse = column.kind == Column::kSparse;
    int64_t at = dense ? i * totals.most_steps * size_of(column) : totals.values[size_t(i)];
    int64_t step_number = 0;
    auto* index =
        sparse ? write<int64_t>(column.indices) + at * (batch_.has_batch ? 3 : 2) : nullptr;
    for (const Values& step : steps(i, c)) {
      if (step.count)
        copy_values(batch_.ctx, step, batch_.messages[i],
                    static_cast<char*>(column.values->data) + at * hr_dtype_size(column.dtype));
      at += step.count;
      for (int64_t k = 0; sparse && k < step.count; ++k) {
        if (batch_.has_batch) *index++ = i;
        *index++ = step_number;
        *index++ = k;
      }
      ++step_number;
      if (column.kind == Column::kRagged)
        set_split(column.inner_splits, totals.steps[size_t(i)] + step_number, at);
    }
  }
};

}  // namespace

void parse_feature_lists(const Batch& batch, const std::vector<ListColumn>& columns) {
  if (!columns.empty()) Parser(batch, columns).run();
}

}  // namespace hr::parsing
