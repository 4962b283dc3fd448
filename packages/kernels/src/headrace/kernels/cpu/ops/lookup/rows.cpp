#include "ops/lookup/rows.hpp"

#include <algorithm>
#include <utility>

#include "files/disk.hpp"
#include "library/text.hpp"

namespace hr::lookup {
namespace {

uint64_t mixed(uint64_t x) {
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93u;
  x ^= x >> 29;
  return x;
}

uint64_t hash_bytes(const char* data, size_t size, uint64_t seed) {
  uint64_t h = seed ^ (size * 0x9e3779b97f4a7c15u);
  for (; size >= 8; data += 8, size -= 8) {
    uint64_t word;
    std::memcpy(&word, data, 8);
    h = mixed(h ^ word) * 0x9e3779b97f4a7c15u;
  }
  uint64_t rest = 0;
  std::memcpy(&rest, data, size);
  return mixed(h ^ rest);
}

}  // namespace

// ---- columns ------------------------------------------------------------------------------------

Column::Column(hr_dtype dtype, int64_t width)
    : dtype_(dtype), width_(width), row_bytes_(width * hr_dtype_size(dtype)) {}

void Column::reserve(int64_t rows) { bytes_.reserve(size_t(rows * row_bytes_)); }

void Column::append(hr_ctx* ctx, const void* row) {
  const size_t begin = bytes_.size();
  bytes_.resize(begin + size_t(row_bytes_), 0);
  const int64_t i = row_bytes_ ? int64_t(begin) / row_bytes_ : 0;
  if (dtype_ != HR_STRING) {
    if (row_bytes_) std::memcpy(bytes_.data() + begin, row, size_t(row_bytes_));
    return;
  }
  try {
    assign(ctx, i, row);
  } catch (...) {  // bytes_ holds whole rows only
    remove(i);
    throw;
  }
}

void Column::assign(hr_ctx* ctx, int64_t i, const void* row) {
  if (dtype_ != HR_STRING) {
    if (row_bytes_) std::memmove(bytes_.data() + i * row_bytes_, row, size_t(row_bytes_));
    return;
  }
  release_ = ctx->api->release;
  const auto* texts = static_cast<const hr_string*>(row);
  for (int64_t k = 0; k < width_; ++k) {
    // A copy, since the text may be a small part of a large buffer.
    hr_string copy{};
    check(ctx->api->set_string(ctx, &copy, texts[k].data, texts[k].size));
    if (strings(i)[k].owner) release_(strings(i)[k].owner);
    strings(i)[k] = copy;
  }
}

void Column::remove(int64_t i) {
  if (row_bytes_ == 0) return;
  const int64_t last = int64_t(bytes_.size()) / row_bytes_ - 1;
  if (dtype_ == HR_STRING)
    for (int64_t k = 0; k < width_; ++k)
      if (strings(i)[k].owner) release_(strings(i)[k].owner);
  if (i != last)
    std::memcpy(bytes_.data() + i * row_bytes_, bytes_.data() + last * row_bytes_,
                size_t(row_bytes_));
  bytes_.resize(size_t(last * row_bytes_));
}

void Column::clear() {
  if (dtype_ == HR_STRING)
    for (size_t at = 0; at < bytes_.size(); at += sizeof(hr_string))
      if (hr_buffer* owner = reinterpret_cast<hr_string*>(bytes_.data() + at)->owner)
        release_(owner);
  bytes_.clear();
}

bool Column::equals(int64_t i, const void* row) const {
  if (dtype_ != HR_STRING)
    return row_bytes_ == 0 || std::memcmp(at(i), row, size_t(row_bytes_)) == 0;
  const auto *mine = static_cast<const hr_string*>(at(i)),
             *other = static_cast<const hr_string*>(row);
  for (int64_t k = 0; k < width_; ++k)
    if (text_of(mine[k]) != text_of(other[k])) return false;
  return true;
}

void Column::copy_to(hr_ctx* ctx, int64_t i, void* row) const {
  share_row(ctx, dtype_, width_, at(i), row);
}

void share_row(hr_ctx* ctx, hr_dtype dtype, int64_t width, const void* from, void* to) {
  if (dtype != HR_STRING) {
    if (width) std::memcpy(to, from, size_t(width * hr_dtype_size(dtype)));
    return;
  }
  const auto* texts = static_cast<const hr_string*>(from);
  auto* out = static_cast<hr_string*>(to);
  for (int64_t k = 0; k < width; ++k) {
    if (!texts[k].owner && texts[k].size) {
      check(ctx->api->set_string(ctx, out + k, texts[k].data, texts[k].size));
      continue;
    }
    if (texts[k].owner) ctx->api->retain(texts[k].owner);
    if (out[k].owner) ctx->api->release(out[k].owner);
    out[k] = texts[k];
  }
}

// ---- rows ---------------------------------------------------------------------------------------

uint64_t Rows::hash(const void* key) const {
  if (keys.dtype() != HR_STRING)
    return hash_bytes(static_cast<const char*>(key),
                      size_t(keys.width() * hr_dtype_size(keys.dtype())), 0);
  const auto* texts = static_cast<const hr_string*>(key);
  uint64_t h = 0;
  for (int64_t k = 0; k < keys.width(); ++k) {
    const std::string_view text = text_of(texts[k]);
    h = hash_bytes(text.data(), text.size(), h);
  }
  return h;
}

int64_t Rows::find(const void* key) const {
  if (slots_.empty()) return -1;
  const uint64_t h = hash(key);
  const size_t mask = slots_.size() - 1;
  for (size_t at = h & mask; slots_[at]; at = (at + 1) & mask) {
    const int64_t row = slots_[at] - 1;
    if (hashes_[size_t(row)] == h && keys.equals(row, key)) return row;
  }
  return -1;
}

void Rows::set(hr_ctx* ctx, const void* key, const void* value) {
  const int64_t found = find(key);
  if (found >= 0) return values.assign(ctx, found, value);
  if (2 * (hashes_.size() + 1) > slots_.size()) grow();
  hashes_.reserve(hashes_.size() + 1 > hashes_.capacity() ? 2 * hashes_.size() + 8
                                                          : hashes_.capacity());
  const uint64_t h = hash(key);
  const int64_t row = size();
  keys.append(ctx, key);
  try {
    values.append(ctx, value);
  } catch (...) {
    keys.remove(row);
    throw;
  }
  hashes_.push_back(h);
  const size_t mask = slots_.size() - 1;
  size_t at = h & mask;
  while (slots_[at]) at = (at + 1) & mask;
  slots_[at] = row + 1;
}

size_t Rows::slot_of_row(int64_t row) const {
  const size_t mask = slots_.size() - 1;
  size_t at = hashes_[size_t(row)] & mask;
  while (slots_[at] != row + 1) at = (at + 1) & mask;
  return at;
}

void Rows::remove(const void* key) {
  const int64_t row = find(key), last = size() - 1;
  if (row < 0) return;
  const size_t mask = slots_.size() - 1;
  size_t free = slot_of_row(row);
  slots_[free] = 0;
  // Later slots of the run move up, so that probing finds them.
  for (size_t at = (free + 1) & mask; slots_[at]; at = (at + 1) & mask) {
    const size_t home = hashes_[size_t(slots_[at] - 1)] & mask;
    if (((at - home) & mask) < ((at - free) & mask)) continue;
    slots_[free] = slots_[at];
    slots_[at] = 0;
    free = at;
  }
  if (row != last) slots_[slot_of_row(last)] = row + 1;
  hashes_[size_t(row)] = hashes_[size_t(last)];
  hashes_.pop_back();
  keys.remove(row);
  values.remove(row);
}

void Rows::grow() {
  std::vector<int64_t> slots(std::max<size_t>(16, 2 * slots_.size()), 0);
  const size_t mask = slots.size() - 1;
  for (size_t row = 0; row < hashes_.size(); ++row) {
    size_t at = hashes_[row] & mask;
    while (slots[at]) at = (at + 1) & mask;
    slots[at] = int64_t(row) + 1;
  }
  slots_.swap(slots);
}

void Rows::clear() {
  keys.clear();
  values.clear();
  hashes_.clear();
  std::fill(slots_.begin(), slots_.end(), 0);
}

void Rows::swap(Rows& other) noexcept {
  std::swap(hashes_, other.hashes_);
  std::swap(slots_, other.slots_);
  keys.swap(other.keys);
  values.swap(other.values);
}

}  // namespace hr::lookup
