// The text of the error of one failing call.
#pragma once
#include <algorithm>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace headrace {

// One text per calling thread, so that concurrent calls of one node's create or prepare do not mix.
class CallError {
 public:
  void assign(std::string text) {
    std::lock_guard<std::mutex> hold(lock_);
    auto found = find();
    if (found == texts_.end()) texts_.emplace_back(std::this_thread::get_id(), std::move(text));
    else found->second = std::move(text);
  }
  // Returns the calling thread's text and clears it.
  std::string take() {
    std::lock_guard<std::mutex> hold(lock_);
    auto found = find();
    if (found == texts_.end()) return std::string();
    std::string text = std::move(found->second);
    texts_.erase(found);
    return text;
  }

 private:
  using Texts = std::vector<std::pair<std::thread::id, std::string>>;
  std::mutex lock_;
  Texts texts_;

  Texts::iterator find() {
    const auto me = std::this_thread::get_id();
    return std::find_if(texts_.begin(), texts_.end(),
                        [me](const auto& entry) { return entry.first == me; });
  }
};

}  // namespace headrace
