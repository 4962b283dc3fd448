// A cache of the executables of one segment, by input shapes.
//
// Sixteen are kept whatever their size. If shapes come back whose executables were dropped, more
// are kept as long as they are small: for a small program, planning costs ten times a run. The
// least recently used ones are dropped first.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "plan/executable.hpp"

namespace headrace {

// Hashes the key of an executable: shapes, and the values that are part of it.
inline uint64_t key_hash(const hr_tensor* inputs, const uint8_t* by_value, size_t n) {
  uint64_t hash = n;
  const auto mix = [&hash](uint64_t word) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 29;
  };
  for (size_t i = 0; i < n; ++i) {
    const hr_tensor& t = inputs[i];
    mix(uint64_t(t.rank));
    for (int32_t k = 0; k < t.rank; ++k) mix(uint64_t(t.dims[k]));
    if (!by_value[i] || !t.data) continue;
    const auto* data = static_cast<const unsigned char*>(t.data);
    for (int64_t at = 0; at < std::min<int64_t>(t.bytes, 64); ++at) mix(data[at]);
  }
  return hash;
}

class ExecutableCache {
 public:
  using Pointer = std::shared_ptr<Executable>;
  static constexpr size_t ALWAYS = 16;
  static constexpr size_t MOST = 128;
  static constexpr int64_t SMALL_BYTES = 2 << 20;  // of a segment with more than ALWAYS executables
  static constexpr int64_t MOST_SMALL_BYTES = 64 << 20;  // of all such segments

  ExecutableCache() = default;
  ExecutableCache(const ExecutableCache&) = delete;
  ExecutableCache& operator=(const ExecutableCache&) = delete;
  ~ExecutableCache() { all_bytes() -= bytes_; }

  Pointer find(uint64_t hash, const hr_tensor* inputs, int threads, int64_t resets) {
    std::vector<Kept> stale;  // freed after the lock
    std::lock_guard<SpinLock> hold(lock_);
    if (!kept_.empty() && kept_[0].executable->resets != resets) {
      stale.swap(kept_);
      all_bytes() -= bytes_;
      bytes_ = 0;
    }
    for (Kept& kept : kept_) {
      if (kept.hash != hash) continue;
      const Executable& executable = *kept.executable;
      if (executable.resets == resets && executable.threads == threads && executable.fits(inputs) &&
          executable.variables_fit(inputs)) {
        kept.used = ++clock_;
        return kept.executable;
      }
    }
    return nullptr;
  }

  void keep(uint64_t hash, Pointer executable) {
    std::vector<Kept> dropped;  // freed after the lock, and after the runs that hold them
    const int64_t bytes = executable->held_bytes();
    std::lock_guard<SpinLock> hold(lock_);
    kept_.push_back({hash, ++clock_, bytes, std::move(executable)});
    add(bytes);
    if (std::find(gone_.begin(), gone_.end(), hash) != gone_.end()) {
      capacity_ = std::min(MOST, 2 * capacity_);
      new_in_a_row_ = 0;
    } else if (++new_in_a_row_ > MOST) {
      capacity_ = std::max(ALWAYS, capacity_ / 2);
      new_in_a_row_ = 0;
    }
    while (kept_.size() > ALWAYS && is_full()) {
      auto oldest = std::min_element(kept_.begin(), kept_.end(),
                                     [](const Kept& a, const Kept& b) { return a.used < b.used; });
      add(-oldest->bytes);
      gone_[next_gone_++ % MOST] = oldest->hash;
      dropped.push_back(std::move(*oldest));
      *oldest = std::move(kept_.back());
      kept_.pop_back();
    }
  }

  // Most recently used first.
  std::vector<Pointer> all() {
    std::vector<Kept> now;
    {
      std::lock_guard<SpinLock> hold(lock_);
      now = kept_;
    }
    std::sort(now.begin(), now.end(), [](const Kept& a, const Kept& b) { return a.used > b.used; });
    std::vector<Pointer> found;
    for (Kept& kept : now) found.push_back(std::move(kept.executable));
    return found;
  }

 private:
  struct Kept {
    uint64_t hash;
    int64_t used;
    int64_t bytes;
    Pointer executable;
  };
  SpinLock lock_;
  std::vector<Kept> kept_;
  int64_t clock_ = 0, bytes_ = 0;
  size_t capacity_ = ALWAYS;
  std::array<uint64_t, MOST> gone_{};  // hashes of those dropped last
  size_t next_gone_ = 0, new_in_a_row_ = 0;

  bool is_full() const {
    return kept_.size() > capacity_ || bytes_ > SMALL_BYTES || all_bytes() > MOST_SMALL_BYTES;
  }
  void add(int64_t bytes) {
    bytes_ += bytes;
    all_bytes() += bytes;
  }
  static std::atomic<int64_t>& all_bytes() {
    static std::atomic<int64_t> bytes{0};
    return bytes;
  }
};

}  // namespace headrace
