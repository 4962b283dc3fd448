#include "ops/lookup/lookup_table.hpp"

#include <algorithm>
#include <mutex>

#include "library/shapes.hpp"
#include "library/text.hpp"
#include "processor/parallel.hpp"
#include "table/resources.hpp"

namespace hr::lookup {
namespace {

// Keys that one thread should at least look up: about 20 us.
constexpr int64_t kGrain = 1024;

int64_t elements(const Dims& dims) { return product(dims.data(), 0, int32_t(dims.size())); }

bool has_dims(const hr_tensor* t, const Dims& dims) {
  return std::equal(dims.begin(), dims.end(), t->dims, t->dims + t->rank);
}

std::string text_of_dims(const Dims& dims) {
  return ShapeText(int32_t(dims.size()), dims.data()).text;
}

// What a table holds, for the errors of a key that has two values.
std::string element_text(const Column& column, const void* row) {
  switch (column.dtype()) {
    case HR_STRING: return std::string(text_of(*static_cast<const hr_string*>(row)));
    case HR_INT32: return std::to_string(*static_cast<const int32_t*>(row));
    case HR_INT64: return std::to_string(*static_cast<const int64_t*>(row));
    case HR_FLOAT: return std::to_string(*static_cast<const float*>(row));
    case HR_DOUBLE: return std::to_string(*static_cast<const double*>(row));
    default: return "?";
  }
}

[[noreturn]] void not_supported(const char* what) {
  throw Failure{HR_UNIMPLEMENTED,
                std::string(what) + " not supported by InitializableLookupTable implementations"};
}

}  // namespace

Table::Table(TableSpec s)
    : object(object_of_kind(kTableKind, [](hr_object* o) { delete reinterpret_cast<Table*>(o); })),
      spec(std::move(s)), rows_(new_rows()),
      reserved_(spec.key_dtype, elements(spec.key_dims), HR_BOOL, 0),
      buckets_(spec.initial_buckets) {}

Rows Table::new_rows() const {
  return Rows(spec.key_dtype, elements(spec.key_dims), spec.value_dtype, elements(spec.value_dims));
}

void Table::reserve_keys(hr_ctx* ctx, const hr_tensor* empty_key, const hr_tensor* deleted_key) {
  reserved_.set(ctx, empty_key->data, nullptr);
  if (deleted_key) reserved_.set(ctx, deleted_key->data, nullptr);
}

// ---- checks -------------------------------------------------------------------------------------

int64_t Table::check_keys(const hr_tensor* keys) const {
  const int32_t inner = int32_t(spec.key_dims.size()), outer = keys->rank - inner;
  if (outer < 0 || !std::equal(spec.key_dims.begin(), spec.key_dims.end(), keys->dims + outer))
    throw Failure{HR_INVALID_ARGUMENT, std::string("Input key shape ") + ShapeText(keys).text +
                                           " must end with the table's key shape " +
                                           text_of_dims(spec.key_dims)};
  return product(keys->dims, 0, outer);
}

Dims Table::values_dims(const hr_tensor* keys) const {
  Dims dims(keys->dims, keys->dims + keys->rank - spec.key_dims.size());
  dims.insert(dims.end(), spec.value_dims.begin(), spec.value_dims.end());
  return dims;
}

void Table::check_values(const hr_tensor* keys, const hr_tensor* values) const {
  const Dims expected = values_dims(keys);
  if (!has_dims(values, expected))
    throw Failure{HR_INVALID_ARGUMENT, "Expected shape " + text_of_dims(expected) +
                                           " for value, got " + ShapeText(values).text};
}

void Table::check_not_reserved(hr_ctx* ctx, const hr_tensor* keys, int64_t n) const {
  if (spec.kind != Kind::kDense) return;
  for (int64_t i = 0; i < n; ++i) {
    poll_at(ctx, i);
    const int64_t found = reserved_.find(rows_.keys.row_of(keys->data, i));
    if (found >= 0)
      throw Failure{HR_INVALID_ARGUMENT, std::string("Using the ") +
                                             (found ? "deleted_key" : "empty_key") +
                                             " as a table key is not allowed"};
  }
}

// ---- rows ---------------------------------------------------------------------------------------

void Table::find(hr_ctx* ctx, const hr_tensor* keys, const hr_tensor* default_value,
                 hr_tensor* values) {
  const int64_t n = check_keys(keys);
  const Dims all = values_dims(keys);
  const bool is_one = has_dims(default_value, spec.value_dims);
  if (!is_one && !has_dims(default_value, all))
    throw Failure{HR_INVALID_ARGUMENT, "Expected shape " + text_of_dims(spec.value_dims) + " or " +
                                           text_of_dims(all) + " for default value, got " +
                                           ShapeText(default_value).text};
  // As in TensorFlow, only a mutable table has a default for each key.
  const bool each = !is_one && spec.kind == Kind::kMutable;
  check_not_reserved(ctx, keys, n);
  const int32_t outer = keys->rank - int32_t(spec.key_dims.size());
  if (outer + int32_t(spec.value_dims.size()) > HR_MAX_RANK)
    throw Failure{HR_UNIMPLEMENTED,
                  "values of more than " + std::to_string(HR_MAX_RANK) + " dimensions"};
  set_shape(values, outer, keys->dims);
  for (const int64_t size : spec.value_dims) values->dims[values->rank++] = size;
  check(ctx->api->allocate(ctx, values));
  std::shared_lock<std::shared_mutex> hold(lock_);
  if (spec.kind == Kind::kStatic && !initialised_)
    throw Failure{HR_FAILED_PRECONDITION, "Table not initialized."};
  const Column& column = rows_.values;
  const int64_t bytes = column.width() * hr_dtype_size(column.dtype());
  parallel_ranges(ctx, n, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = rows_.find(rows_.keys.row_of(keys->data, i));
      void* to = static_cast<char*>(values->data) + i * bytes;
      const void* otherwise = column.row_of(default_value->data, each ? i : 0);
      share_row(ctx, column.dtype(), column.width(), row < 0 ? otherwise : column.at(row), to);
    }
  });
}

void Table::fill(hr_ctx* ctx, Rows* rows, const hr_tensor* keys, const hr_tensor* values,
                 int64_t n) const {
  for (int64_t i = 0; i < n; ++i) {
    poll_at(ctx, i);
    rows->set(ctx, rows->keys.row_of(keys->data, i), rows->values.row_of(values->data, i));
  }
}

void Table::insert(hr_ctx* ctx, const hr_tensor* keys, const hr_tensor* values) {
  if (spec.kind == Kind::kStatic) not_supported("Insert");
  const int64_t n = check_keys(keys);
  check_values(keys, values);
  check_not_reserved(ctx, keys, n);
  std::unique_lock<std::shared_mutex> hold(lock_);
  if (spec.kind == Kind::kDense) buckets_ = grown_buckets(buckets_, rows_.size() + n);
  fill(ctx, &rows_, keys, values, n);
}

void Table::remove(hr_ctx* ctx, const hr_tensor* keys) {
  if (spec.kind == Kind::kStatic) not_supported("Remove");
  const int64_t n = check_keys(keys);
  check_not_reserved(ctx, keys, n);
  std::unique_lock<std::shared_mutex> hold(lock_);
  for (int64_t i = 0; i < n; ++i) {
    poll_at(ctx, i);
    rows_.remove(rows_.keys.row_of(keys->data, i));
  }
}

int64_t Table::size() {
  std::shared_lock<std::shared_mutex> hold(lock_);
  return rows_.size();
}

bool Table::initialise(Rows& rows) {
  std::unique_lock<std::shared_mutex> hold(lock_);
  if (initialised_) return false;
  rows_.swap(rows);
  initialised_ = true;
  return true;
}

void Table::import_rows(hr_ctx* ctx, const hr_tensor* keys, const hr_tensor* values) {
  if (spec.kind == Kind::kDense) return import_buckets(ctx, keys, values);
  const int64_t n = check_keys(keys);
  check_values(keys, values);
  Rows rows = new_rows();
  if (spec.kind == Kind::kMutable) {
    fill(ctx, &rows, keys, values, n);
    std::unique_lock<std::shared_mutex> hold(lock_);
    rows_.swap(rows);
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    poll_at(ctx, i);
    add_to_static(ctx, &rows, rows.keys.row_of(keys->data, i), rows.values.row_of(values->data, i));
  }
  if (!initialise(rows) && size() != n)
    throw Failure{HR_FAILED_PRECONDITION, "Table was already initialized with different data."};
}

void add_to_static(hr_ctx* ctx, Rows* rows, const void* key, const void* value) {
  const int64_t found = rows->find(key);
  if (found < 0) return rows->set(ctx, key, value);
  if (!rows->values.equals(found, value))
    throw Failure{HR_FAILED_PRECONDITION, "HashTable has different value for same key. Key " +
                                              element_text(rows->keys, key) + " has " +
                                              element_text(rows->values, rows->values.at(found)) +
                                              " and trying to add value " +
                                              element_text(rows->values, value)};
}

void Table::export_rows(hr_ctx* ctx, hr_tensor* keys, hr_tensor* values) {
  if (spec.kind == Kind::kDense) return export_buckets(ctx, keys, values);
  std::shared_lock<std::shared_mutex> hold(lock_);
  if (spec.kind == Kind::kStatic && !initialised_)
    throw Failure{HR_ABORTED, "HashTable is not initialized."};
  const int64_t n = rows_.size();
  set_shape(keys, {n});
  set_shape(values, {n});
  for (const int64_t size : spec.value_dims) values->dims[values->rank++] = size;
  check(ctx->api->allocate(ctx, keys));
  check(ctx->api->allocate(ctx, values));
  for (int64_t i = 0; i < n; ++i) {
    poll_at(ctx, i);
    rows_.keys.copy_to(ctx, i, const_cast<void*>(rows_.keys.row_of(keys->data, i)));
    rows_.values.copy_to(ctx, i, const_cast<void*>(rows_.values.row_of(values->data, i)));
  }
}

// ---- buckets of dense tables --------------------------------------------------------------------

int64_t Table::grown_buckets(int64_t buckets, int64_t n) const {
  constexpr int64_t kMost = int64_t(1) << 40;
  while (double(n) > double(buckets) * double(spec.max_load)) {
    if (buckets >= kMost)
      throw Failure{HR_RESOURCE_EXHAUSTED,
                    "At its max_load_factor the table needs more than 2^40 buckets for " +
                        std::to_string(n) + " keys"};
    buckets *= 2;
  }
  return buckets;
}

void Table::export_buckets(hr_ctx* ctx, hr_tensor* keys, hr_tensor* values) {
  std::shared_lock<std::shared_mutex> hold(lock_);
  // A scalar is a vector of one element here.
  set_shape(keys, {buckets_, rows_.keys.width()});
  set_shape(values, {buckets_, rows_.values.width()});
  check(ctx->api->allocate(ctx, keys));
  check(ctx->api->allocate(ctx, values));
  const std::vector<int64_t> places = places_in_buckets(ctx, rows_.keys, rows_.size(), buckets_);
  const size_t value_bytes = size_t(rows_.values.width() * hr_dtype_size(spec.value_dtype));
  for (int64_t i = 0; i < buckets_; ++i) {
    poll_at(ctx, i);
    const int64_t row = places[size_t(i)];
    void* key = const_cast<void*>(rows_.keys.row_of(keys->data, i));
    void* value = const_cast<void*>(rows_.values.row_of(values->data, i));
    if (row < 0) {
      reserved_.keys.copy_to(ctx, 0, key);
      if (spec.value_dtype != HR_STRING && value_bytes) std::memset(value, 0, value_bytes);
    } else {
      rows_.keys.copy_to(ctx, row, key);
      rows_.values.copy_to(ctx, row, value);
    }
  }
}

void Table::import_buckets(hr_ctx* ctx, const hr_tensor* keys, const hr_tensor* values) {
  const int64_t n = keys->rank ? keys->dims[0] : 0;
  if (keys->rank != 2 || keys->dims[1] != rows_.keys.width())
    throw Failure{HR_INVALID_ARGUMENT, std::string("Expected key shape [?, ") +
                                           std::to_string(rows_.keys.width()) + "], got " +
                                           ShapeText(keys).text};
  if (values->rank != 2 || values->dims[0] != n || values->dims[1] != rows_.values.width())
    throw Failure{HR_INVALID_ARGUMENT, "Expected shape [" + std::to_string(n) + ", " +
                                           std::to_string(rows_.values.width()) +
                                           "] for value, got " + ShapeText(values).text};
  Rows rows = new_rows();
  for (int64_t i = 0; i < n; ++i) {
    poll_at(ctx, i);
    const void* key = rows.keys.row_of(keys->data, i);
    if (reserved_.find(key) < 0) rows.set(ctx, key, rows.values.row_of(values->data, i));
  }
  int64_t buckets = spec.initial_buckets;
  while (buckets < n) buckets *= 2;
  buckets = grown_buckets(buckets, rows.size());
  std::unique_lock<std::shared_mutex> hold(lock_);
  rows_.swap(rows);
  buckets_ = buckets;
}

}  // namespace hr::lookup
