#include "files/bundle_ranges.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "files/disk.hpp"

namespace hr::bundle {
namespace {

constexpr int64_t kWindow = 16 << 20;
constexpr int64_t kGap = 64 << 10;  // fetching so much for nothing takes less than a request

// The shard that the name of a data file speaks of; -1: it is the index.
int64_t shard_of(const std::string& path) {
  const size_t at = path.rfind(".data-");
  return at == path.npos ? -1 : std::strtoll(path.c_str() + at + 6, nullptr, 10);
}

BundleRanges* self_of(void* self) { return static_cast<BundleRanges*>(self); }

}  // namespace

template <class Body> int BundleRanges::guarded(const Body& body) {
  try {
    body();
    return 0;
  } catch (const Failure& failure) {
    // Of a file that is missing, the reader says what it means.
    if (failure.code != HR_NOT_FOUND) thrown_ = std::current_exception();
    return failure.code;
  } catch (...) {
    thrown_ = std::current_exception();
    return HR_UNKNOWN;
  }
}

void BundleRanges::rethrow() {
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
}

BundleRanges::BundleRanges() {
  source_.self = this;
  source_.open = [](void* argument, const char* path, uint64_t* handle, uint64_t* size) {
    BundleRanges& self = *self_of(argument);
    return self.guarded([&] {
      auto file = std::make_unique<remote::Reader>(path);
      *handle = self.next_++;
      *size = uint64_t(file->size());
      self.identities_[*handle] = file->identity();
      self.shards_[*handle] = shard_of(path);
      self.files_[*handle] = std::move(file);
    });
  };
  source_.read = [](void* argument, uint64_t handle, uint64_t offset, uint64_t size, uint8_t* to) {
    BundleRanges& self = *self_of(argument);
    return self.guarded(
        [&] { self.read(handle, int64_t(offset), int64_t(size), reinterpret_cast<char*>(to)); });
  };
  source_.close = [](void* argument, uint64_t handle) { self_of(argument)->files_.erase(handle); };
  source_.is_current = [](void* argument, const char* path, uint64_t handle, int* current) {
    BundleRanges& self = *self_of(argument);
    return self.guarded([&] {
      remote::Request request;
      request.verb = remote::Verb::kIdentity;
      request.path = path;
      *current = remote::call(std::move(request)).bytes == self.identities_[handle];
    });
  };
}

void BundleRanges::plan(std::vector<Range> ranges) {
  std::sort(ranges.begin(), ranges.end());
  windows_.clear();
  for (const Range& range : ranges) {
    if (range.offset < 0 || range.size <= 0 || range.size > kWindow) continue;
    Range* last = windows_.empty() ? nullptr : &windows_.back();
    const int64_t end = range.offset + range.size;
    if (last && last->shard == range.shard && range.offset <= last->offset + last->size + kGap &&
        end - last->offset <= kWindow)
      last->size = std::max(last->size, end - last->offset);
    else windows_.push_back(range);
  }
}

void BundleRanges::read(uint64_t handle, int64_t offset, int64_t size, char* to) {
  const remote::Reader& file = *files_.at(handle);
  const Range wanted{shards_.at(handle), offset, size};
  const auto holds = [&](const Range& window) {
    return window.shard == wanted.shard && window.offset <= offset &&
           offset + size <= window.offset + window.size;
  };
  if (!holds(window_)) {
    const auto found = std::find_if(windows_.begin(), windows_.end(), holds);
    // A corrupted index may plan ranges beyond the file.
    if (found == windows_.end() || found->offset + found->size > file.size())
      return file.read(offset, size_t(size), to);
    window_ = {-1, 0, 0};
    bytes_.resize(size_t(found->size));
    file.read(found->offset, bytes_.size(), bytes_.data());
    window_ = *found;
  }
  std::memcpy(to, bytes_.data() + (offset - window_.offset), size_t(size));
}

}  // namespace hr::bundle
