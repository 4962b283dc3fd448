// Parses the step_stats of a RunMetadata into columns without creating a message for each node. A
// trace of a million nodes has 120 MB: as messages it would take seconds and half a gigabyte.
// Source: field numbers of step_stats.proto and run.proto, which are TensorFlow's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <queue>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

namespace headrace_board {

// Times are limited to this value (146 years), so that sums and differences cannot overflow.
constexpr int64_t kMaxNanos = int64_t(1) << 62;

inline int64_t held(int64_t ns) { return ns < 0 ? 0 : std::min(ns, kMaxNanos); }
inline int64_t from_micros(int64_t us) {
  return us < 0 ? 0 : us > kMaxNanos / 1000 ? kMaxNanos : us * 1000;
}
inline int64_t either(int64_t nanos, int64_t micros) {
  return nanos != 0 ? held(nanos) : from_micros(micros);
}

// Eight bytes at a time: names of nodes are 20 to 80 bytes, and there are two a slice.
struct HashOfText {
  size_t operator()(std::string_view text) const {
    // Random in each process, so that a log cannot contain names that are known to collide.
    static const uint64_t seed = std::random_device{}();
    uint64_t hash = (seed ^ text.size()) * 0x9E3779B97F4A7C15u;
    const char* at = text.data();
    size_t left = text.size();
    for (; left >= 8; at += 8, left -= 8) {
      uint64_t word;
      std::memcpy(&word, at, 8);
      hash = (hash ^ word) * 0xFF51AFD7ED558CCDu;
      hash ^= hash >> 32;
    }
    uint64_t word = 0;
    std::memcpy(&word, at, left);
    hash = (hash ^ word) * 0xC4CEB9FE1A85EC53u;
    return hash ^ (hash >> 29);
  }
};

// Numbers for texts, in order of first appearance. A hash table with open addressing, because two
// look-ups per slice take most of the time of a scan.
class Strings {
 public:
  Strings() : slots_(1024) {}
  int32_t id_of(std::string_view text) {
    const uint64_t hash = HashOfText{}(text);
    size_t at = hash & (slots_.size() - 1);
    for (; slots_[at].id >= 0; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at].hash == hash && all[slots_[at].id] == text) return slots_[at].id;
    }
    const auto id = static_cast<int32_t>(all.size());
    slots_[at] = {hash, id};
    all.push_back(text);
    if (all.size() * 2 > slots_.size()) grow();
    return id;
  }
  std::vector<std::string_view> all;

 private:
  struct Slot {
    uint64_t hash = 0;
    int32_t id = -1;
  };
  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.id < 0) continue;
      size_t at = slot.hash & (slots_.size() - 1);
      while (slots_[at].id >= 0) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = slot;
    }
  }
  std::vector<Slot> slots_;
};

struct ThreadName {
  int32_t device;
  uint32_t thread;
  std::string_view name;
};

// Consecutive nodes of one device.
struct Chunk {
  const uint8_t* begin;
  const uint8_t* end;
  int32_t device;
  int64_t row;  // of its first node
};

// The places of the nodes, from a fast pass over their lengths.
struct Layout {
  std::vector<Chunk> chunks;
  int64_t rows = 0;
  Strings devices;
  std::vector<ThreadName> thread_names;
  int64_t bad_at = -1;  // offset at which the bytes are malformed, or -1
};

// One row a node, in order of the bytes.
struct Rows {
  int32_t *device, *name, *label, *length;
  uint32_t* thread;
  int64_t *scheduled, *start, *end, *output_bytes, *offset;
};

// What one thread finds in addition to the rows; its ids are local until they are merged.
struct Part {
  Strings names, labels, allocators;
  // One row per allocation record, and one per state of an allocator (memory_micros is -1).
  std::vector<int32_t> memory_slice, memory_allocator;
  std::vector<int64_t> memory_micros, memory_bytes;
  int64_t bad_at = -1;
};

class Reader {
 public:
  Reader(const uint8_t* begin, const uint8_t* end) : at_(begin), end_(end) {}
  bool more() const { return ok_ && at_ < end_; }
  bool ok() const { return ok_; }
  const uint8_t* at() const { return at_; }

  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      if (at_ >= end_) break;
      const uint8_t byte = *at_++;
      if (shift < 64) value |= static_cast<uint64_t>(byte & 127) << shift;
      if (byte < 128) return value;
    }
    ok_ = false;
    return 0;
  }
  // Reads the key of the next field. Returns: its number and wire type, or 0 at the end.
  uint32_t tag() {
    if (!more()) return 0;
    const uint64_t read = varint();
    if (read < 8 || read > UINT32_MAX) ok_ = false;
    return ok_ ? static_cast<uint32_t>(read) : 0;
  }
  std::string_view bytes() {
    const uint64_t n = varint();
    if (!ok_ || n > static_cast<uint64_t>(end_ - at_)) {
      ok_ = false;
      return {};
    }
    std::string_view created(reinterpret_cast<const char*>(at_), n);
    at_ += n;
    return created;
  }
  Reader message() {
    std::string_view inside = bytes();
    const auto* begin = reinterpret_cast<const uint8_t*>(inside.data());
    return Reader(begin, begin + inside.size());
  }
  void skip(uint32_t tag, int depth = 0) {
    switch (tag & 7) {
      case 0: varint(); return;
      case 1: forward(8); return;
      case 2: bytes(); return;
      case 3:  // a group, which ends with its own number
        while (ok_ && depth < 64) {
          const uint32_t inner = this->tag();
          if (inner == 0) break;
          if ((inner & 7) == 4) {
            if (inner >> 3 != tag >> 3) ok_ = false;
            return;
          }
          skip(inner, depth + 1);
        }
        ok_ = false;
        return;
      case 5: forward(4); return;
      default: ok_ = false;
    }
  }
  void fail() { ok_ = false; }

 private:
  void forward(int n) {
    if (end_ - at_ < n) ok_ = false;
    else at_ += n;
  }
  const uint8_t* at_;
  const uint8_t* end_;
  bool ok_ = true;
};

constexpr uint32_t varint_field(uint32_t number) { return number << 3; }
constexpr uint32_t bytes_field(uint32_t number) { return number << 3 | 2; }

// TensorDescription (in NodeOutput): requested_bytes of its allocation, or allocated_bytes.
inline int64_t bytes_of_output(Reader output, bool& ok) {
  int64_t requested = 0, allocated = 0;
  while (uint32_t tag = output.tag()) {
    if (tag != bytes_field(3)) {
      output.skip(tag);
      continue;
    }
    Reader tensor = output.message();
    while (uint32_t inner = tensor.tag()) {
      if (inner != bytes_field(4)) {
        tensor.skip(inner);
        continue;
      }
      Reader allocation = tensor.message();
      while (uint32_t field = allocation.tag()) {
        if (field == varint_field(1)) requested = static_cast<int64_t>(allocation.varint());
        else if (field == varint_field(2)) allocated = static_cast<int64_t>(allocation.varint());
        else allocation.skip(field);
      }
      ok = ok && allocation.ok();
    }
    ok = ok && tensor.ok();
  }
  ok = ok && output.ok();
  return held(requested != 0 ? requested : allocated);
}

inline void scan_memory(Reader memory, int32_t slice, Part& to, bool& ok) {
  std::string_view allocator;
  int64_t in_use = 0;
  const size_t first = to.memory_slice.size();
  while (uint32_t tag = memory.tag()) {
    if (tag == bytes_field(1)) allocator = memory.bytes();
    else if (tag == varint_field(5)) in_use = static_cast<int64_t>(memory.varint());
    else if (tag == bytes_field(6)) {
      Reader record = memory.message();
      int64_t micros = 0, bytes = 0;
      while (uint32_t field = record.tag()) {
        if (field == varint_field(1)) micros = static_cast<int64_t>(record.varint());
        else if (field == varint_field(2)) bytes = static_cast<int64_t>(record.varint());
        else record.skip(field);
      }
      ok = ok && record.ok();
      to.memory_slice.push_back(slice);
      to.memory_allocator.push_back(0);
      to.memory_micros.push_back(micros < 0 ? 0 : micros);
      to.memory_bytes.push_back(std::clamp(bytes, -kMaxNanos, kMaxNanos));
    } else memory.skip(tag);
  }
  ok = ok && memory.ok();
  if (in_use != 0) {
    to.memory_slice.push_back(slice);
    to.memory_allocator.push_back(0);
    to.memory_micros.push_back(-1);
    to.memory_bytes.push_back(std::clamp(in_use, -kMaxNanos, kMaxNanos));
  }
  if (first == to.memory_slice.size()) return;
  const int32_t id = to.allocators.id_of(allocator);
  std::fill(to.memory_allocator.begin() + static_cast<std::ptrdiff_t>(first),
            to.memory_allocator.end(), id);
}

inline void scan_node(Reader node, const Chunk& chunk, int64_t row, int64_t offset, int32_t length,
                      const Rows& rows, Part& to, bool& ok) {
  std::string_view name, label;
  int64_t times[18] = {0};
  int64_t output_bytes = 0;
  uint32_t thread = 0;
  while (uint32_t tag = node.tag()) {
    const uint32_t number = tag >> 3;
    if (tag == bytes_field(1)) name = node.bytes();
    else if (tag == bytes_field(8)) label = node.bytes();
    else if (tag == bytes_field(6)) scan_memory(node.message(), static_cast<int32_t>(row), to, ok);
    else if (tag == bytes_field(7))
      output_bytes += std::min(bytes_of_output(node.message(), ok), kMaxNanos - output_bytes);
    else if ((tag & 7) == 0 && number <= 17) {
      const uint64_t value = node.varint();
      if (number == 10) thread = static_cast<uint32_t>(value);
      else times[number] = static_cast<int64_t>(value);
    } else node.skip(tag);
  }
  ok = ok && node.ok();
  const int64_t start = either(times[13], times[2]);
  const int64_t took = either(times[16], times[5]);
  const int64_t scheduled = either(times[17], times[9]);
  rows.device[row] = chunk.device;
  rows.name[row] = to.names.id_of(name);
  rows.label[row] = to.labels.id_of(label);
  rows.thread[row] = thread;
  rows.start[row] = start;
  rows.end[row] = held(start + std::min(took, kMaxNanos - start));
  rows.scheduled[row] = scheduled == 0 || scheduled > start ? start : scheduled;
  rows.output_bytes[row] = output_bytes;
  rows.offset[row] = offset;
  rows.length[row] = length;
}

constexpr int64_t kRowsOfChunk = 4096;

inline void lay_out_device(Reader device, Layout& to, bool& ok) {
  // The name of a device may come after its nodes.
  const size_t first_chunk = to.chunks.size(), first_thread = to.thread_names.size();
  std::string_view name;
  int64_t in_chunk = kRowsOfChunk;
  const uint8_t* at = device.at();
  while (uint32_t tag = device.tag()) {
    if (tag == bytes_field(1)) name = device.bytes();
    else if (tag == bytes_field(2)) {
      device.bytes();
      if (in_chunk == kRowsOfChunk) {
        to.chunks.push_back({at, at, 0, to.rows});
        in_chunk = 0;
      }
      in_chunk++;
      to.rows++;
      to.chunks.back().end = device.at();
    } else if (tag == bytes_field(3)) {
      Reader entry = device.message();
      ThreadName created{0, 0, {}};
      while (uint32_t field = entry.tag()) {
        if (field == varint_field(1)) created.thread = static_cast<uint32_t>(entry.varint());
        else if (field == bytes_field(2)) created.name = entry.bytes();
        else entry.skip(field);
      }
      ok = ok && entry.ok();
      to.thread_names.push_back(created);
    } else device.skip(tag);
    at = device.at();
  }
  ok = ok && device.ok();
  const int32_t id = to.devices.id_of(name);
  for (size_t i = first_chunk; i < to.chunks.size(); i++) to.chunks[i].device = id;
  for (size_t i = first_thread; i < to.thread_names.size(); i++) to.thread_names[i].device = id;
}

inline void lay_out(const uint8_t* begin, size_t size, Layout& to) {
  Reader metadata(begin, begin + size);
  bool ok = true;
  while (uint32_t tag = metadata.tag()) {
    if (tag != bytes_field(1)) {
      metadata.skip(tag);
      continue;
    }
    Reader stats = metadata.message();
    while (uint32_t inner = stats.tag()) {
      if (inner == bytes_field(1)) lay_out_device(stats.message(), to, ok);
      else stats.skip(inner);
    }
    ok = ok && stats.ok();
    if (!ok) break;
  }
  if (!ok || !metadata.ok()) to.bad_at = metadata.at() - begin;
}

// Parses chunks [first, last) of a layout into their rows.
inline void scan_chunks(const Layout& layout, size_t first, size_t last, const uint8_t* origin,
                        const Rows& rows, Part& to) {
  bool ok = true;
  for (size_t i = first; i < last && ok; i++) {
    const Chunk& chunk = layout.chunks[i];
    int64_t row = chunk.row;
    Reader device(chunk.begin, chunk.end);
    while (uint32_t tag = device.tag()) {
      if (tag != bytes_field(2)) {
        device.skip(tag);
        continue;
      }
      std::string_view inside = device.bytes();
      const auto* begin = reinterpret_cast<const uint8_t*>(inside.data());
      scan_node(Reader(begin, begin + inside.size()), chunk, row, begin - origin,
                static_cast<int32_t>(inside.size()), rows, to, ok);
      row++;
    }
    if (!ok) to.bad_at = chunk.end - origin;
  }
}

// Replaces n local ids of a part by the ids of its texts among all parts.
inline void renumber(Strings& all, const Strings& part, int32_t* ids, int64_t n) {
  std::vector<int32_t> to;
  bool same = true;
  to.reserve(part.all.size());
  for (std::string_view text : part.all) {
    same = same && all.id_of(text) == static_cast<int32_t>(to.size());
    to.push_back(all.id_of(text));
  }
  if (same) return;
  for (int64_t i = 0; i < n; i++) ids[i] = to[static_cast<size_t>(ids[i])];
}

// Finds the first row of each label (-1: none). Returns: whether all rows of a label have one name.
inline bool first_of_labels(const int32_t* label, const int32_t* name, int64_t n, int64_t* first) {
  bool one_name = true;
  for (int64_t i = 0; i < n; i++) {
    int64_t& at = first[label[i]];
    if (at < 0) at = i;
    one_name = one_name && name[at] == name[i];
  }
  return one_name;
}

// Numbers the distinct pairs of device and thread in order of appearance. keys gets where each
// first appears.
inline void number_pairs(const int32_t* device, const int64_t* thread, int64_t n, int32_t* group,
                         std::vector<int64_t>& keys) {
  std::map<std::pair<int32_t, int64_t>, int32_t> known;
  for (int64_t i = 0; i < n; i++) {
    if (i > 0 && device[i] == device[i - 1] && thread[i] == thread[i - 1]) {
      group[i] = group[i - 1];
      continue;
    }
    auto [at, fresh] = known.try_emplace({device[i], thread[i]}, static_cast<int32_t>(keys.size()));
    if (fresh) keys.push_back(i);
    group[i] = at->second;
  }
}

// Gives each of n slices, sorted by start, the lowest row that is free when it starts.
// Returns: how many rows that takes.
inline int32_t pack_rows(const int64_t* start, const int64_t* end, int64_t n, int32_t* row) {
  using Busy = std::pair<int64_t, int32_t>;  // until when, which row
  std::priority_queue<Busy, std::vector<Busy>, std::greater<Busy>> busy;
  std::priority_queue<int32_t, std::vector<int32_t>, std::greater<int32_t>> free;
  int32_t rows = 0;
  for (int64_t i = 0; i < n; i++) {
    while (!busy.empty() && busy.top().first <= start[i]) {
      free.push(busy.top().second);
      busy.pop();
    }
    if (free.empty()) row[i] = rows++;
    else {
      row[i] = free.top();
      free.pop();
    }
    busy.emplace(end[i], row[i]);
  }
  return rows;
}

}  // namespace headrace_board
