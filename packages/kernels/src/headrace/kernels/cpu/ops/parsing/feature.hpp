// Features of Example and SequenceExample messages, read from their wire format in place.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/kernel.h"
#include "headrace/wire.h"

namespace hr::parsing {

// The values of a serialized Feature.
struct Values {
  const uint8_t* data = nullptr;  // the Feature, from the first field that counts
  uint64_t size = 0;
  hr_dtype dtype = HR_INVALID;  // HR_INVALID: it has none
  int64_t count = 0;
};

// Checks a Feature, and finds its dtype and how many values it has. False: it is malformed.
bool read_feature(const uint8_t* data, uint64_t size, Values* values);

// Copy the values of a feature that read_feature has checked.
void copy_values(const Values& values, int64_t* to);
void copy_values(const Values& values, float* to);
// `message`: the string with the feature. A long value shares its memory.
void copy_values(hr_ctx* ctx, const Values& values, const hr_string& message, hr_string* to);
// The same for elements of any of these dtypes.
void copy_values(hr_ctx* ctx, const Values& values, const hr_string& message, void* to);

// The keys that are looked for in every message of a batch.
class WantedKeys {
 public:
  explicit WantedKeys(std::vector<std::string> keys);
  size_t size() const { return keys_.size(); }
  const std::string& operator[](size_t i) const { return keys_[i]; }
  // The number of a key, or -1.
  int64_t find(std::string_view key) const { return int64_t(slots_[slot_of(key)]) - 1; }
  // The next number with the same key, or -1.
  int64_t same(int64_t number) const { return same_[size_t(number)]; }

 private:
  std::vector<std::string> keys_;
  std::vector<int64_t> same_;
  std::vector<int32_t> slots_;  // number + 1; 0: free

  size_t slot_of(std::string_view key) const;
};

// A field of a message, in place.
struct Bytes {
  const uint8_t* data = nullptr;
  uint64_t size = 0;
};

// Finds the wanted entries of the maps from strings to messages in field `field` of a message:
// Features in field 1 of Example, FeatureLists in field 2 of SequenceExample. found[i].data is null
// for keys that are missing; the last entry of a key counts. False: the message is malformed.
bool find_entries(std::string_view message, uint32_t field, const WantedKeys& keys, Bytes* found);

// As hr_wire_next, which it calls for all but the most common fields: bytes whose tag and size have
// one byte, or a size of two.
inline int next_field(const uint8_t* data, uint64_t size, uint64_t* at, hr_wire_field* field) {
  const uint64_t begin = *at;
  if (size - begin < 3 || (data[begin] & 0x87) != HR_WIRE_BYTES || data[begin] < 8)
    return hr_wire_next(data, size, at, field);
  uint64_t length = data[begin + 1], content = begin + 2;
  if (length >= 128) {
    if (data[content] >= 128) return hr_wire_next(data, size, at, field);
    length = (length & 127) | uint64_t(data[content++]) << 7;
  }
  if (length > size - content) return hr_wire_next(data, size, at, field);
  field->number = data[begin] >> 3;
  field->wire = HR_WIRE_BYTES;
  field->data = data + content;
  field->size = length;
  field->begin = begin;
  *at = content + length;
  return 1;
}

// Calls body(data, size) for each Feature of a FeatureList. False: it is malformed, or body
// returned false.
template <class Body> bool each_feature(const Bytes& list, Body&& body) {
  hr_wire_field field;
  uint64_t at = 0;
  int more;
  while ((more = next_field(list.data, list.size, &at, &field)) > 0)
    if (field.number == 1 && field.wire == HR_WIRE_BYTES && !body(field.data, field.size))
      return false;
  return more == 0;
}

}  // namespace hr::parsing
