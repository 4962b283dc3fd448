// The rows of a lookup table: keys, their values, and an index by key. Not locked.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headrace/kernel.h"

namespace hr::lookup {

// Numbers or strings of one dtype, `width` of them a row.
class Column {
 public:
  Column(hr_dtype dtype, int64_t width);
  Column(const Column&) = delete;
  Column& operator=(const Column&) = delete;
  ~Column() { clear(); }

  hr_dtype dtype() const { return dtype_; }
  int64_t width() const { return width_; }
  // Row i of elements as tensors hold them.
  const void* row_of(const void* elements, int64_t i) const {
    return static_cast<const char*>(elements) + i * row_bytes_;
  }
  void reserve(int64_t rows);
  void append(hr_ctx* ctx, const void* row);  // a copy
  void assign(hr_ctx* ctx, int64_t i, const void* row);
  // The last row takes the place of row i.
  void remove(int64_t i);
  void clear();
  void swap(Column& other) noexcept {  // of the same dtype and width
    bytes_.swap(other.bytes_);
    std::swap(release_, other.release_);
  }
  const void* at(int64_t i) const { return bytes_.data() + i * row_bytes_; }
  bool equals(int64_t i, const void* row) const;
  // To elements of an output. Strings are shared, not copied.
  void copy_to(hr_ctx* ctx, int64_t i, void* row) const;

 private:
  hr_dtype dtype_;
  int64_t width_, row_bytes_;
  std::vector<char> bytes_;  // hr_strings, too
  void (*release_)(hr_buffer*) = nullptr;

  hr_string* strings(int64_t i) {
    return reinterpret_cast<hr_string*>(bytes_.data() + i * row_bytes_);
  }
};

// Copies one row between elements of tensors; strings are shared.
void share_row(hr_ctx* ctx, hr_dtype dtype, int64_t width, const void* from, void* to);

class Rows {
 public:
  Rows(hr_dtype key, int64_t key_width, hr_dtype value, int64_t value_width)
      : keys(key, key_width), values(value, value_width) {}

  int64_t size() const { return int64_t(hashes_.size()); }
  // The number of the row with that key; -1: none.
  int64_t find(const void* key) const;
  // Adds a row, or gives the key that is there a new value.
  void set(hr_ctx* ctx, const void* key, const void* value);
  void remove(const void* key);
  void clear();
  void swap(Rows& other) noexcept;

  Column keys, values;

 private:
  std::vector<uint64_t> hashes_;  // of the rows
  std::vector<int64_t> slots_;    // row + 1, with linear probing; 0: free

  uint64_t hash(const void* key) const;
  size_t slot_of_row(int64_t row) const;
  void grow();
};

}  // namespace hr::lookup
