#include "memory/roots.hpp"

namespace hr::cl {

namespace {
constexpr auto relaxed = std::memory_order_relaxed;
}

Root Roots::load(const Entry& entry) noexcept {
  return {entry.base.load(relaxed), entry.bytes.load(relaxed), entry.memory.load(relaxed),
          entry.id.load(relaxed)};
}

void Roots::store(Entry& entry, const Root& root) noexcept {
  entry.base.store(root.base, relaxed);
  entry.bytes.store(root.bytes, relaxed);
  entry.memory.store(root.memory, relaxed);
  entry.id.store(root.id, relaxed);
}

bool Roots::find(const void* address, Root* root) const noexcept {
  const auto at = reinterpret_cast<uintptr_t>(address);
  for (;;) {
    const uint32_t version = version_.load(std::memory_order_acquire);
    if (version & 1) continue;
    int first = 0, last = n_.load(relaxed);
    while (first < last) {
      const int middle = (first + last) / 2;
      if (entries_[middle].base.load(relaxed) <= at) first = middle + 1;
      else last = middle;
    }
    if (first > 0) *root = load(entries_[first - 1]);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (version_.load(relaxed) != version) continue;
    return first > 0 && at - root->base < root->bytes;
  }
}

template <class Change> void Roots::change(Change&& change) {
  version_.fetch_add(1, relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  change();
  version_.fetch_add(1, std::memory_order_release);
}

bool Roots::add(const Root& root) {
  const std::lock_guard<std::mutex> hold(writing_);
  int i = n_.load(relaxed);
  if (i == kMost) return false;
  change([&] {
    for (; i > 0 && entries_[i - 1].base.load(relaxed) > root.base; --i)
      store(entries_[i], load(entries_[i - 1]));
    store(entries_[i], root);
    n_.store(n_.load(relaxed) + 1, relaxed);
  });
  return true;
}

void Roots::remove(uint64_t id) {
  const std::lock_guard<std::mutex> hold(writing_);
  const int n = n_.load(relaxed);
  int i = 0;
  while (i < n && entries_[i].id.load(relaxed) != id) ++i;
  if (i == n) return;
  change([&] {
    for (; i + 1 < n; ++i) store(entries_[i], load(entries_[i + 1]));
    n_.store(n - 1, relaxed);
  });
}

}  // namespace hr::cl
