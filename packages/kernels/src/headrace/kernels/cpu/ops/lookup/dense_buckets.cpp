// The order of keys in the buckets of a MutableDenseHashTable. TensorFlow's checkpoints hold the
// buckets, and it looks keys up in them after a restore, so that hashes and probing are its own.
#include "library/memory_needs.hpp"
#include "library/text.hpp"
#include "ops/lookup/lookup_table.hpp"
#include "processor/parallel.hpp"

namespace hr::lookup {
namespace {

uint64_t word_at(const char* data, size_t size) {  // little-endian
  uint64_t word = 0;
  for (size_t i = 0; i < size; ++i)
    word |= uint64_t(static_cast<unsigned char>(data[i])) << (8 * i);
  return word;
}

// MurmurHash64A with the seed 0xdecafcaffe.
uint64_t text_hash(std::string_view text) {
  constexpr uint64_t kFactor = 0xc6a4a7935bd1e995u;
  uint64_t h = 0xdecafcaffeu ^ (text.size() * kFactor);
  const char* data = text.data();
  size_t left = text.size();
  for (; left >= 8; data += 8, left -= 8) {
    uint64_t word = word_at(data, 8) * kFactor;
    word = (word ^ (word >> 47)) * kFactor;
    h = (h ^ word) * kFactor;
  }
  if (left) h = (h ^ word_at(data, left)) * kFactor;
  h = (h ^ (h >> 47)) * kFactor;
  return h ^ (h >> 47);
}

uint64_t element_hash(hr_dtype dtype, const void* elements, int64_t i) {
  switch (dtype) {
    case HR_INT32: return uint64_t(int64_t(static_cast<const int32_t*>(elements)[i]));
    case HR_INT64: return uint64_t(static_cast<const int64_t*>(elements)[i]);
    default: return text_hash(text_of(static_cast<const hr_string*>(elements)[i]));
  }
}

uint64_t key_hash(const Column& keys, int64_t row) {
  if (keys.width() == 1) return element_hash(keys.dtype(), keys.at(row), 0);
  uint64_t h = 0;
  for (int64_t i = 0; i < keys.width(); ++i)
    h ^= element_hash(keys.dtype(), keys.at(row), i) + 0x9e3779b97f4a7800u + (h << 10) + (h >> 4);
  return h;
}

}  // namespace

std::vector<int64_t> places_in_buckets(hr_ctx* ctx, const Column& keys, int64_t n,
                                       int64_t buckets) {
  need_memory(buckets, int64_t(sizeof(int64_t)));
  std::vector<int64_t> places(size_t(buckets), -1);
  const uint64_t mask = uint64_t(buckets) - 1;
  for (int64_t row = 0; row < n; ++row) {
    poll_at(ctx, row);
    uint64_t at = key_hash(keys, row) & mask;
    for (uint64_t step = 1; places[at] >= 0; ++step) at = (at + step) & mask;
    places[at] = row;
  }
  return places;
}

}  // namespace hr::lookup
