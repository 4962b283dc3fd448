#include "ops/parsing/feature.hpp"

#include <cstring>

#include "files/disk.hpp"
#include "headrace/crc32c.h"

namespace hr::parsing {
namespace {

// The numbers of Feature's fields.
constexpr uint32_t kBytesList = 1, kFloatList = 2, kInt64List = 3;

hr_dtype dtype_of(uint32_t list) {
  return list == kBytesList ? HR_STRING : list == kFloatList ? HR_FLOAT : HR_INT64;
}

uint32_t list_of(hr_dtype dtype) {
  return dtype == HR_STRING ? kBytesList : dtype == HR_FLOAT ? kFloatList : kInt64List;
}

// How many numbers a packed list of varints has; -1: it is malformed.
int64_t count_varints(const uint8_t* data, uint64_t size) {
  int64_t ends = 0;
  for (uint64_t i = 0; i < size; ++i) ends += data[i] < 128;
  if (uint64_t(ends) == size) return ends;
  if (data[size - 1] >= 128) return -1;
  for (uint64_t i = 0, begin = 0; i < size; ++i) {
    if (i - begin >= 10) return -1;
    if (data[i] < 128) begin = i + 1;
  }
  return ends;
}

// Calls body(field) for each field with values of the list, which lie in a Feature's submessages.
template <class Body> bool each_field(const uint8_t* data, uint64_t size, uint32_t list,
                                      Body&& body) {
  hr_wire_field outer, inner;
  uint64_t at = 0;
  int more;
  while ((more = next_field(data, size, &at, &outer)) > 0) {
    if (outer.number != list || outer.wire != HR_WIRE_BYTES) continue;
    uint64_t within = 0;
    while ((more = next_field(outer.data, outer.size, &within, &inner)) > 0)
      if (inner.number == 1 && !body(inner)) return false;
    if (more < 0) return false;
  }
  return more == 0;
}

int64_t count_of(const hr_wire_field& field, uint32_t list) {
  const bool packed = field.wire == HR_WIRE_BYTES;
  switch (list) {
    case kBytesList: return packed;
    case kFloatList:
      if (packed) return field.size % 4 ? -1 : int64_t(field.size / 4);
      return field.wire == HR_WIRE_FIXED32;
    default:
      if (packed) return field.size ? count_varints(field.data, field.size) : 0;
      return field.wire == HR_WIRE_VARINT;
  }
}

int64_t* copy_varints(const uint8_t* data, uint64_t size, int64_t* to) {
  for (uint64_t at = 0; at < size;) {
    if (data[at] < 128) {
      *to++ = data[at++];
      continue;
    }
    uint64_t value = 0;
    hr_wire_varint(data, size, &at, &value);
    *to++ = int64_t(value);
  }
  return to;
}

}  // namespace

bool read_feature(const uint8_t* data, uint64_t size, Values* values) {
  *values = Values{};
  hr_wire_field field;
  uint64_t at = 0, begin = 0;
  uint32_t list = 0;
  int more;
  // The lists are a oneof: the last kind counts, and fields of that kind are joined.
  while ((more = next_field(data, size, &at, &field)) > 0) {
    if (field.number < kBytesList || field.number > kInt64List || field.wire != HR_WIRE_BYTES)
      continue;
    if (field.number != list) begin = field.begin;
    list = field.number;
  }
  if (more < 0) return false;
  if (!list) return true;
  int64_t count = 0;
  const bool valid = each_field(data + begin, size - begin, list, [&](const hr_wire_field& f) {
    const int64_t n = count_of(f, list);
    count += n;
    return n >= 0;
  });
  *values = Values{data + begin, size - begin, dtype_of(list), count};
  return valid;
}

void copy_values(const Values& values, int64_t* to) {
  each_field(values.data, values.size, kInt64List, [&](const hr_wire_field& field) {
    if (field.wire == HR_WIRE_BYTES) to = copy_varints(field.data, field.size, to);
    else if (field.wire == HR_WIRE_VARINT) *to++ = int64_t(field.value);
    return true;
  });
}

void copy_values(const Values& values, float* to) {
  each_field(values.data, values.size, kFloatList, [&](const hr_wire_field& field) {
    if (field.wire == HR_WIRE_BYTES) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
      std::memcpy(to, field.data, size_t(field.size));
      to += field.size / 4;
#else
      for (uint64_t i = 0; i < field.size; i += 4) {
        const uint32_t bits = hr_load_u32(field.data + i);
        std::memcpy(to++, &bits, sizeof bits);
      }
#endif
    } else if (field.wire == HR_WIRE_FIXED32) {
      const uint32_t bits = uint32_t(field.value);
      std::memcpy(to++, &bits, sizeof bits);
    }
    return true;
  });
}

void copy_values(hr_ctx* ctx, const Values& values, const hr_string& message, hr_string* to) {
  each_field(values.data, values.size, kBytesList, [&](const hr_wire_field& field) {
    if (field.wire != HR_WIRE_BYTES) return true;
    const char* text = reinterpret_cast<const char*>(field.data);
    // A value that is most of the message shares its memory: an image, for example.
    if (message.owner && field.size >= 256 && 2 * field.size >= message.size) {
      ctx->api->retain(message.owner);
      if (to->owner) ctx->api->release(to->owner);
      *to = hr_string{text, size_t(field.size), message.owner};
    } else {
      check(ctx->api->set_string(ctx, to, text, size_t(field.size)));
    }
    ++to;
    return true;
  });
}

void copy_values(hr_ctx* ctx, const Values& values, const hr_string& message, void* to) {
  switch (list_of(values.dtype)) {
    case kBytesList: return copy_values(ctx, values, message, static_cast<hr_string*>(to));
    case kFloatList: return copy_values(values, static_cast<float*>(to));
    default: return copy_values(values, static_cast<int64_t*>(to));
  }
}

// ---- keys ---------------------------------------------------------------------------------------

namespace {

uint64_t key_hash(std::string_view key) {
  uint64_t h = key.size();
  for (const char c : key) h = (h ^ static_cast<unsigned char>(c)) * 0x9e3779b97f4a7c15u;
  return h ^ (h >> 32);
}

}  // namespace

WantedKeys::WantedKeys(std::vector<std::string> keys)
    : keys_(std::move(keys)), same_(keys_.size(), -1) {
  size_t slots = 8;
  while (slots < 3 * keys_.size()) slots *= 2;
  slots_.assign(slots, 0);
  for (size_t i = 0; i < keys_.size(); ++i) {
    int32_t& slot = slots_[slot_of(keys_[i])];
    if (slot) same_[i] = slot - 1;
    slot = int32_t(i) + 1;
  }
}

size_t WantedKeys::slot_of(std::string_view key) const {
  const size_t mask = slots_.size() - 1;
  size_t at = key_hash(key) & mask;
  while (slots_[at] && keys_[size_t(slots_[at] - 1)] != key) at = (at + 1) & mask;
  return at;
}

bool find_entries(std::string_view message, uint32_t wanted_field, const WantedKeys& keys,
                  Bytes* found) {
  const auto* data = reinterpret_cast<const uint8_t*>(message.data());
  for (size_t i = 0; i < keys.size(); ++i) found[i] = Bytes{};
  hr_wire_field outer, entry, part;
  uint64_t at = 0;
  int more;
  while ((more = next_field(data, message.size(), &at, &outer)) > 0) {
    if (outer.number != wanted_field || outer.wire != HR_WIRE_BYTES) continue;
    uint64_t in_map = 0;
    while ((more = next_field(outer.data, outer.size, &in_map, &entry)) > 0) {
      if (entry.number != 1 || entry.wire != HR_WIRE_BYTES) continue;
      Bytes key, value;
      value.data = entry.data;  // an entry without a value has an empty message
      uint64_t in_entry = 0;
      while ((more = next_field(entry.data, entry.size, &in_entry, &part)) > 0) {
        if (part.wire != HR_WIRE_BYTES) continue;
        if (part.number == 1) key = {part.data, part.size};
        if (part.number == 2) value = {part.data, part.size};
      }
      if (more < 0) return false;
      const std::string_view text(reinterpret_cast<const char*>(key.data), size_t(key.size));
      for (int64_t i = keys.find(text); i >= 0; i = keys.same(i)) found[i] = value;
    }
    if (more < 0) return false;
  }
  return more == 0;
}

}  // namespace hr::parsing
