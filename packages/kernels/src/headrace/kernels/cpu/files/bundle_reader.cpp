#include "files/bundle_reader.hpp"

#include <algorithm>

#include "library/shapes.hpp"

namespace hr::bundle {

Reader::Reader(const std::string& prefix) {
  if (remote::is_remote(prefix)) ranges_ = std::make_unique<BundleRanges>();
  const bool is_there = ranges_ || disk::exists(index_path(prefix));
  const hr_bundle_code opened =
      is_there
          ? hr_bundle_open_from(&bundle_, prefix.c_str(), ranges_ ? ranges_->source() : nullptr)
          : HR_BUNDLE_NOT_FOUND;
  if (opened == HR_BUNDLE_NOT_FOUND)
    throw Failure{HR_NOT_FOUND,
                  prefix + ": no checkpoint of this name; " + index_path(prefix) + " is missing"};
  check(opened);
  const hr_table_code code = hr_table_walk(&bundle_.table, bundle_.scratch, remember, this);
  if (code == HR_TABLE_OK || code == HR_TABLE_END) return;
  hr_bundle_from_table(&bundle_, code);
  hr_bundle_close(&bundle_);
  fail();
}

int Reader::remember(void* self, const uint8_t* key, uint64_t key_size, const uint8_t* value,
                     uint64_t value_size) {
  auto* reader = static_cast<Reader*>(self);
  if (!key_size) return 0;  // the header
  reader->keys_.emplace_back(reinterpret_cast<const char*>(key), size_t(key_size));
  reader->values_[reader->keys_.back()] = {value, value_size};
  return 0;
}

// As Python's reader words it: where there is an offset it stands in the text.
void Reader::fail() {
  if (ranges_) ranges_->rethrow();
  std::string text = bundle_.path;
  if (bundle_.code == HR_BUNDLE_DATA_LOSS || bundle_.offset)
    text += ": at byte " + std::to_string(int64_t(bundle_.offset));
  text = text + ": " + bundle_.what;
  if (!tensor_.empty()) text += "; reading '" + tensor_ + "'";
  throw Failure{hr_code(bundle_.code), text};
}

hr_bundle_entry Reader::find(const std::string& name) {
  const auto found = values_.find(name);
  if (name.empty() || found == values_.end())
    throw Failure{HR_NOT_FOUND, "Key " + name + " not found in checkpoint " + bundle_.prefix +
                                    ", which has " + std::to_string(values_.size()) + " tensors"};
  if (name[0]) tensor_ = name;  // not the key of a slice
  hr_bundle_entry entry;
  if (!hr_bundle_parse_entry(found->second.data, found->second.size, &entry)) {
    hr_bundle_lost(&bundle_, ("the entry of '" + name + "' is corrupted").c_str());
    fail();
  }
  return entry;
}

std::vector<std::pair<std::string, Entry>> Reader::entries() {
  std::vector<std::pair<std::string, Entry>> all;
  for (const std::string& key : keys_) {
    const hr_bundle_entry found = find(key);
    Entry entry;
    entry.dtype = found.dtype;
    entry.dims.assign(found.dims, found.dims + found.rank);
    entry.shard = found.shard_id;
    entry.offset = found.offset;
    entry.size = found.size;
    entry.crc = found.crc;
    uint64_t at = 0;
    hr_wire_field field;
    while (hr_wire_next(found.message, found.message_size, &at, &field) > 0)
      if (field.number == 7 && field.wire == 2)
        entry.slices.emplace_back(reinterpret_cast<const char*>(field.data), size_t(field.size));
    all.emplace_back(key, std::move(entry));
  }
  tensor_.clear();
  return all;
}

std::vector<Range> Reader::ranges_of(const std::string& name, const Slice* wanted) {
  std::vector<Range> ranges;
  const hr_bundle_entry whole = find(name);
  if (!whole.slices) {
    ranges.push_back({whole.shard_id, whole.offset, whole.size});
    return ranges;
  }
  int64_t starts[HR_BUNDLE_MAX_RANK], lengths[HR_BUNDLE_MAX_RANK];
  std::string key(2 * name.size() + 24 + 20 * size_t(whole.rank), '\0');
  uint64_t position = 0;
  hr_bundle_entry part;
  const auto overlaps = [&] {
    for (size_t i = 0; wanted && i < size_t(whole.rank) && i < wanted->full.size(); ++i) {
      if (wanted->lengths[i] < 0 || lengths[i] < 0) continue;
      if (wanted->starts[i] >= starts[i] + lengths[i] ||
          starts[i] >= wanted->starts[i] + wanted->lengths[i])
        return false;
    }
    return true;
  };
  while (hr_bundle_next_slice(&whole, &position, starts, lengths) > 0) {
    if (!overlaps()) continue;
    const size_t size = hr_bundle_slice_key(reinterpret_cast<uint8_t*>(key.data()), name.c_str(),
                                            starts, lengths, whole.rank);
    // What is missing or corrupted is found when it is read.
    if (hr_bundle_find_key(&bundle_, key.data(), size, &part) == HR_BUNDLE_OK)
      ranges.push_back({part.shard_id, part.offset, part.size});
  }
  std::sort(ranges.begin(), ranges.end());
  return ranges;
}

void Reader::locate(const hr_bundle_entry& entry) {
  char path[HR_BUNDLE_PATH_BYTES + 64];
  check(hr_bundle_locate(&bundle_, &entry, path, sizeof path));
}

hr_bundle_bytes Reader::bytes(const hr_bundle_entry& entry) {
  hr_bundle_bytes found;
  check(hr_bundle_read(&bundle_, &entry, &found));
  return found;
}

void Reader::whole(const hr_bundle_entry& entry, const hr_bundle_bytes& stored, void* to) {
  std::memcpy(to, stored.data, size_t(stored.size));
  turn_round(entry.dtype, static_cast<char*>(to), int64_t(stored.size));
}

void Reader::region(const std::string& name, const hr_bundle_entry& entry, const int64_t* starts,
                    const int64_t* sizes, void* to) {
  check(hr_bundle_read_region(&bundle_, name.c_str(), &entry, starts, sizes, to));
  const int64_t bytes = product(sizes, 0, entry.rank) * hr_dtype_size(entry.dtype);
  if (to) turn_round(entry.dtype, static_cast<char*>(to), bytes);
}

// Complex numbers are two numbers, each turned round by itself.
void Reader::turn_round(hr_dtype dtype, char* at, int64_t bytes) const {
  if (!bundle_.swapped) return;
  int64_t width = hr_dtype_size(dtype);
  if (dtype == HR_COMPLEX64 || dtype == HR_COMPLEX128) width /= 2;
  for (char* const end = at + bytes; at < end; at += width) std::reverse(at, at + width);
}

void Reader::strings(const hr_bundle_entry& entry,
                     void (*visit)(void*, uint64_t, const uint8_t*, uint64_t), void* argument) {
  check(hr_bundle_strings(&bundle_, &entry, visit, argument));
}

}  // namespace hr::bundle
