// Lookup tables: resources of a session, used by many steps at once.
#pragma once

#include <shared_mutex>
#include <string>
#include <vector>

#include "files/disk.hpp"
#include "headrace/kernel.h"
#include "ops/lookup/rows.hpp"

namespace hr::lookup {

using Dims = std::vector<int64_t>;

inline constexpr char kTableKind[] = "Table";

enum class Kind {
  kStatic,   // HashTable: filled once, by its initializer
  kMutable,  // MutableHashTable and MutableHashTableOfTensors
  kDense     // MutableDenseHashTable: two keys are reserved, and an export has its buckets
};

struct TableSpec {
  Kind kind = Kind::kStatic;
  hr_dtype key_dtype = HR_INVALID, value_dtype = HR_INVALID;
  Dims key_dims, value_dims;  // of one key and one value
  int64_t initial_buckets = 0;
  float max_load = 0;
};

// Every function throws Failure.
class Table {
 public:
  explicit Table(TableSpec spec);

  hr_object object;  // first; kind kTableKind
  const TableSpec spec;

  // The keys that a dense table reserves, which differ, before any other thread has the table.
  void reserve_keys(hr_ctx* ctx, const hr_tensor* empty_key, const hr_tensor* deleted_key);

  // Allocates `values`. The default is one value, or one for each key.
  void find(hr_ctx* ctx, const hr_tensor* keys, const hr_tensor* default_value, hr_tensor* values);
  void insert(hr_ctx* ctx, const hr_tensor* keys, const hr_tensor* values);
  void remove(hr_ctx* ctx, const hr_tensor* keys);
  // Replaces all rows; a static table is initialised by it.
  void import_rows(hr_ctx* ctx, const hr_tensor* keys, const hr_tensor* values);
  void export_rows(hr_ctx* ctx, hr_tensor* keys, hr_tensor* values);
  int64_t size();

  // Initialises a static table with rows that have no key twice; takes them. False: it is
  // initialised already.
  bool initialise(Rows& rows);
  Rows new_rows() const;

 private:
  std::shared_mutex lock_;
  Rows rows_;
  Rows reserved_;  // the reserved keys of a dense table; empty key first
  int64_t buckets_;
  bool initialised_ = false;

  int64_t check_keys(const hr_tensor* keys) const;  // returns how many there are
  Dims values_dims(const hr_tensor* keys) const;    // of the values of these keys
  void check_values(const hr_tensor* keys, const hr_tensor* values) const;
  void check_not_reserved(hr_ctx* ctx, const hr_tensor* keys, int64_t n) const;
  void fill(hr_ctx* ctx, Rows* rows, const hr_tensor* keys, const hr_tensor* values,
            int64_t n) const;
  // How many buckets of a dense table n keys need, `buckets` at least, at its load factor.
  int64_t grown_buckets(int64_t buckets, int64_t n) const;
  void import_buckets(hr_ctx* ctx, const hr_tensor* keys, const hr_tensor* values);
  void export_buckets(hr_ctx* ctx, hr_tensor* keys, hr_tensor* values);
};

// The table of a handle; throws Failure if there is none.
Table& table_of(const hr_tensor* handle);

// Adds a row of a static table. Throws Failure if the key has another value.
void add_to_static(hr_ctx* ctx, Rows* rows, const void* key, const void* value);

// Where the rows of a dense table lie in its buckets, as TensorFlow places them: checkpoints hold
// the buckets. -1: empty.
std::vector<int64_t> places_in_buckets(hr_ctx* ctx, const Column& keys, int64_t n, int64_t buckets);

// Reads a table's rows from a text file. Throws Failure.
struct TextFileFormat {
  int64_t key_index, value_index;  // a column, or one of the next two
  int64_t vocabulary_size;         // -1: all lines
  char delimiter;
  int64_t offset;  // added to line numbers
};
constexpr int64_t kLineNumber = -1, kWholeLine = -2;
void read_text_file(hr_ctx* ctx, const std::string& path, const TextFileFormat& format, Rows* rows);

}  // namespace hr::lookup
