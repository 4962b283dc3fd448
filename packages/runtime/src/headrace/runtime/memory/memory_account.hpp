// The memory limit of a session's plans: arenas, in use or idle, and folded constants. A request
// beyond the limit is rejected, with the names of the largest holders.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace headrace {

class MemoryAccount {
 public:
  explicit MemoryAccount(int64_t limit) : limit_(limit) {}

  // False: the limit is reached. `holder` is named in errors until it has given everything back.
  bool take(const void* holder, int64_t bytes) {
    std::lock_guard<std::mutex> hold(lock_);
    if (bytes > limit_ - taken_) return false;
    taken_ += bytes;
    holders_[holder].bytes += bytes;
    return true;
  }
  void give(const void* holder, int64_t bytes) {
    std::lock_guard<std::mutex> hold(lock_);
    taken_ -= bytes;
    holders_[holder].bytes -= bytes;
  }
  void enter(const void* holder, std::string name) {
    std::lock_guard<std::mutex> hold(lock_);
    holders_[holder].name = std::move(name);
  }
  void leave(const void* holder) {
    std::lock_guard<std::mutex> hold(lock_);
    holders_.erase(holder);
  }

  // The text for errors: the limit, what is in use, and the largest holders.
  std::string text() {
    std::lock_guard<std::mutex> hold(lock_);
    std::vector<Holder> most;
    for (const auto& entry : holders_)
      if (entry.second.bytes) most.push_back(entry.second);
    std::sort(most.begin(), most.end(),
              [](const Holder& a, const Holder& b) { return a.bytes > b.bytes; });
    std::string message = "the session's memory limit is " + size_text(limit_) + ", of which " +
                          size_text(taken_) + " are taken";
    for (size_t i = 0; i < most.size() && i < NAMED; ++i)
      message += (i ? ", " : ": ") + size_text(most[i].bytes) + " by " + most[i].name;
    return message;
  }

 private:
  static constexpr size_t NAMED = 5;
  struct Holder {
    int64_t bytes = 0;
    std::string name;
  };
  std::mutex lock_;
  const int64_t limit_;
  int64_t taken_ = 0;
  std::map<const void*, Holder> holders_;

  static std::string size_text(int64_t bytes) {
    char text[40];
    if (bytes < 10 << 10) {
      std::snprintf(text, sizeof text, "%lld bytes", static_cast<long long>(bytes));
    } else if (bytes < 10 << 20) {
      std::snprintf(text, sizeof text, "%.1f KiB", double(bytes) / (1 << 10));
    } else {
      std::snprintf(text, sizeof text, "%.1f MiB", double(bytes) / (1 << 20));
    }
    return text;
  }
};

}  // namespace headrace
