// The rendezvous of Send and Recv in one process (white paper §3.2.2, §5.2).
#pragma once
#include <mutex>
#include <new>
#include <string>
#include <unordered_map>
#include <utility>

#include "state/run.hpp"

namespace headrace {

// The rendezvous of one step. Each sent value goes to one receive of its key. Several sends or
// receives of one key, possible only in graphs that contain the ops themselves, match in any order.
// Without memory, a send returns an error, and a receive ends with one.
class LocalRendezvous {
 public:
  // value: the receiver takes it; null: there is none.
  typedef void (*Done)(void* argument, hr_code code, const char* message, OwnedTensor* value,
                       int32_t dead);

  hr_code send(const std::string& key, const hr_tensor* value, int32_t dead) noexcept {
    Waiter waiter;
    Item item;
    item.value.share(*value);
    item.dead = dead;
    try {
      std::lock_guard<std::mutex> hold(lock_);
      if (code_ != HR_OK) return code_;
      auto found = waiters_.find(key);
      if (found == waiters_.end()) {
        items_.emplace(key, std::move(item));
        return HR_OK;
      }
      waiter = found->second;
      waiters_.erase(found);
    } catch (const std::bad_alloc&) { return HR_RESOURCE_EXHAUSTED; }
    waiter.done(waiter.argument, HR_OK, "", &item.value, dead);
    return HR_OK;
  }

  void recv(const std::string& key, Done done, void* argument) noexcept {
    Item item;
    hr_code code;
    const char* message = "";
    try {
      std::lock_guard<std::mutex> hold(lock_);
      code = code_;
      message = message_;
      if (code == HR_OK) {
        auto found = items_.find(key);
        if (found == items_.end()) {
          waiters_.emplace(key, Waiter{done, argument});
          return;
        }
        item = std::move(found->second);
        items_.erase(found);
      }
    } catch (const std::bad_alloc&) {
      code = HR_RESOURCE_EXHAUSTED;
      message = "no memory to wait for a value of another device";
    }
    done(argument, code, message, code == HR_OK ? &item.value : nullptr, item.dead);
  }

  // message: a constant.
  void abort(hr_code code, const char* message) {
    std::unordered_multimap<std::string, Waiter> waiters;
    {
      std::lock_guard<std::mutex> hold(lock_);
      if (code_ != HR_OK) return;
      code_ = code;
      message_ = message;
      waiters.swap(waiters_);
    }
    for (auto& entry : waiters) entry.second.done(entry.second.argument, code, message, nullptr, 0);
  }

 private:
  struct Item {
    OwnedTensor value;
    int32_t dead = 0;
  };
  struct Waiter {
    Done done;
    void* argument;
  };
  std::mutex lock_;
  std::unordered_multimap<std::string, Item> items_;
  std::unordered_multimap<std::string, Waiter> waiters_;
  hr_code code_ = HR_OK;
  const char* message_ = "";
};

}  // namespace headrace
