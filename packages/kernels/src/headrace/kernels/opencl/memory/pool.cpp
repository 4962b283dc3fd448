#include "memory/pool.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <utility>

namespace hr::cl {

namespace {

constexpr int64_t kMiB = int64_t(1) << 20;
// The first slabs of a device; later ones are as large as the last.
constexpr int64_t kSlabBytes[] = {64 * kMiB, 256 * kMiB, 1024 * kMiB};
// Memory of the host is taken when it is touched, so a large slab costs nothing.
constexpr int64_t kHostSlabBytes[] = {1024 * kMiB, 2048 * kMiB};
constexpr int64_t kSlabGranularity = 2 * kMiB;

int64_t rounded(int64_t bytes, int64_t to) { return (bytes + to - 1) / to * to; }

template <size_t n> int64_t at_most_last(const int64_t (&sizes)[n], int64_t i) {
  return sizes[std::min<int64_t>(i, n - 1)];
}

std::string size_text(int64_t bytes) {
  const char* units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  double value = double(bytes);
  int unit = 0;
  while (value >= 1024 && unit < 4) value /= 1024, ++unit;
  char text[32];
  std::snprintf(text, sizeof text, unit ? "%.2f %s" : "%.0f %s", value, units[unit]);
  return text;
}

}  // namespace

Pool::Pool(SlabSource* source, Roots* roots, int64_t limit) : source_(source), roots_(roots) {
  counts_.limit = limit;
}

Pool::~Pool() {
  for (const auto& slab : slabs_) {
    for (Block* block = slab->first; block;) delete std::exchange(block, block->after);
    roots_->remove(slab->root.id);
    source_->destroy(slab->root);
  }
  for (Block* block : unused_) delete block;
}

void* Pool::allocate(int64_t bytes, const char* holder) {
  if (!holder) holder = "";
  if (bytes <= 0 || bytes > source_->max_bytes) {
    const std::lock_guard<std::mutex> hold(mutex_);
    fail(bytes, holder,
         "the device allocates at most " + size_text(source_->max_bytes) +
             " at once (CL_DEVICE_MAX_MEM_ALLOC_SIZE): use smaller tensors");
    return nullptr;
  }
  bytes = rounded(bytes, kAlignment);
  if (void* data = take(bytes, holder)) return data;
  const std::lock_guard<std::mutex> grow_alone(growing_);
  std::string error;
  for (;;) {
    // Another thread may have grown the pool or released memory meanwhile.
    if (void* data = take(bytes, holder)) return data;
    {
      const std::lock_guard<std::mutex> hold(mutex_);
      if (counts_.in_use + bytes > counts_.limit) {
        fail(bytes, holder, "the limit is " + size_text(counts_.limit));
        return nullptr;
      }
    }
    if (!grow(bytes, &error)) {
      const std::lock_guard<std::mutex> hold(mutex_);
      fail(bytes, holder, error);
      return nullptr;
    }
  }
}

// Serves an allocation from what is there; null: there is no free block that large, or the limit
// forbids it.
void* Pool::take(int64_t bytes, const char* holder) {
  const std::lock_guard<std::mutex> hold(mutex_);
  if (counts_.in_use + bytes > counts_.limit) return nullptr;
  Block least{};
  least.bytes = bytes;
  const auto found = free_.lower_bound(&least);
  if (found == free_.end()) return nullptr;
  Block* block = *found;
  free_.erase(found);
  if (block->bytes > bytes) {
    Block* rest = new_block();
    *rest = {block->address + uintptr_t(bytes),
             block->bytes - bytes,
             block->slab,
             block,
             block->after,
             true,
             {}};
    if (rest->after) rest->after->before = rest;
    block->after = rest;
    block->bytes = bytes;
    free_.insert(rest);
  }
  block->free = false;
  std::snprintf(block->holder, sizeof block->holder, "%s", holder);
  live_[block->address] = block;
  counts_.in_use += bytes;
  counts_.peak = std::max(counts_.peak, counts_.in_use);
  ++counts_.live;
  ++counts_.allocated;
  return reinterpret_cast<void*>(block->address);
}

void Pool::release(void* data) {
  if (!data) return;
  const std::lock_guard<std::mutex> hold(mutex_);
  const auto found = live_.find(reinterpret_cast<uintptr_t>(data));
  if (found == live_.end()) return;
  Block* block = found->second;
  live_.erase(found);
  counts_.in_use -= block->bytes;
  --counts_.live;
  block->free = true;
  if (Block* after = block->after; after && after->free) {
    free_.erase(after);
    block->bytes += after->bytes;
    block->after = after->after;
    if (block->after) block->after->before = block;
    end_block(after);
  }
  if (Block* before = block->before; before && before->free) {
    free_.erase(before);
    before->bytes += block->bytes;
    before->after = block->after;
    if (before->after) before->after->before = before;
    end_block(block);
    block = before;
  }
  free_.insert(block);
}

Pool::Block* Pool::new_block() {
  if (unused_.empty()) return new Block;
  Block* block = unused_.back();
  unused_.pop_back();
  return block;
}

void Pool::end_block(Block* block) { unused_.push_back(block); }

// ---- slabs
// ----------------------------------------------------------------------------------------

int64_t Pool::next_slab_bytes(int64_t needed) {
  const std::lock_guard<std::mutex> hold(mutex_);
  int64_t usual =
      source_->on_host ? at_most_last(kHostSlabBytes, grown_) : at_most_last(kSlabBytes, grown_);
  usual = std::min({usual, source_->max_bytes, counts_.limit - counts_.reserved});
  return std::max(needed, usual);
}

// Adds a slab for an allocation: of the usual size, or else of the size needed, or else of that
// size after empty slabs went back to the driver. Slabs count towards the limit, too: other
// processes need the rest.
bool Pool::grow(int64_t bytes, std::string* error) {
  const int64_t least =
      std::max(bytes, std::min(rounded(bytes, kSlabGranularity), source_->max_bytes));
  if (!fits_limit(least)) give_back_empty();
  const bool fits = fits_limit(least);
  const int64_t needed = fits ? least : bytes;
  if (!fits && !fits_limit(bytes)) {
    *error = "the limit is reached, and free memory is in pieces that are too small";
    return false;
  }
  const int64_t usual = next_slab_bytes(needed);
  if (add_slab(usual, error)) return true;
  if (usual > needed && add_slab(needed, error)) return true;
  give_back_empty();
  return add_slab(needed, error);
}

bool Pool::fits_limit(int64_t slab_bytes) {
  const std::lock_guard<std::mutex> hold(mutex_);
  return counts_.reserved + slab_bytes <= counts_.limit;
}

bool Pool::add_slab(int64_t bytes, std::string* error) {
  Root root;
  if (!source_->create(bytes, &root, error)) return false;
  if (!roots_->add(root)) {
    source_->destroy(root);
    *error = "there are " + std::to_string(Roots::kMost) + " pieces of memory already";
    return false;
  }
  const std::lock_guard<std::mutex> hold(mutex_);
  auto slab = std::make_unique<Slab>();
  Block* block = new_block();
  *block = {root.base, bytes, slab.get(), nullptr, nullptr, true, {}};
  slab->root = root;
  slab->first = block;
  slabs_.push_back(std::move(slab));
  free_.insert(block);
  counts_.reserved += bytes;
  ++grown_;
  return true;
}

void Pool::give_back_empty() {
  std::vector<std::unique_ptr<Slab>> empty;
  {
    const std::lock_guard<std::mutex> hold(mutex_);
    const auto is_used = [](const std::unique_ptr<Slab>& slab) {
      return !slab->first->free || slab->first->after;
    };
    const auto first = std::stable_partition(slabs_.begin(), slabs_.end(), is_used);
    for (auto i = first; i != slabs_.end(); ++i) {
      free_.erase((*i)->first);
      end_block((*i)->first);
      counts_.reserved -= int64_t((*i)->root.bytes);
      empty.push_back(std::move(*i));
    }
    slabs_.erase(first, slabs_.end());
  }
  for (const auto& slab : empty) {
    roots_->remove(slab->root.id);
    source_->destroy(slab->root);
  }
}

// ---- what people read
// -----------------------------------------------------------------------------

void Pool::fail(int64_t bytes, const char* holder, std::string reason) {
  const int64_t largest = free_.empty() ? 0 : (*free_.rbegin())->bytes;
  last_failure_ = size_text(bytes) + " for '" + holder + "' failed: " + reason + " (in use " +
                  size_text(counts_.in_use) + ", largest free block " + size_text(largest) + ")";
}

void Pool::memory(hr_device_memory* memory) {
  const std::lock_guard<std::mutex> hold(mutex_);
  *memory = counts_;
}

void Pool::reset_peak() {
  const std::lock_guard<std::mutex> hold(mutex_);
  counts_.peak = counts_.in_use;
}

void Pool::set_limit(int64_t bytes) {
  const std::lock_guard<std::mutex> hold(mutex_);
  counts_.limit = bytes;
}

std::string Pool::describe() {
  const std::lock_guard<std::mutex> hold(mutex_);
  struct Held {
    int64_t bytes = 0, n = 0;
  };
  std::map<std::string, Held> by_holder;
  for (const auto& [address, block] : live_) {
    Held& held = by_holder[block->holder];
    held.bytes += block->bytes;
    ++held.n;
  }
  std::vector<std::pair<std::string, Held>> sorted(by_holder.begin(), by_holder.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.bytes > b.second.bytes; });
  std::string text = size_text(counts_.in_use) + " in use of " + size_text(counts_.limit) + ", " +
                     size_text(counts_.peak) + " at most; " + size_text(counts_.reserved) +
                     " taken from the driver in " + std::to_string(slabs_.size()) + " pieces\n";
  if (!last_failure_.empty()) text += "last failure: " + last_failure_ + "\n";
  for (const auto& [holder, held] : sorted)
    text += size_text(held.bytes) + "  " + (holder.empty() ? "(unnamed)" : holder) +
            (held.n > 1 ? " (" + std::to_string(held.n) + " allocations)" : "") + "\n";
  return text;
}

}  // namespace hr::cl
