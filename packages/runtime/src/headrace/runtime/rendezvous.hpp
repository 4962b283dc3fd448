// Where Send meets Recv in one process (white paper §3.2.2, §5.2).
#pragma once
#include <mutex>
#include <string>
#include <unordered_map>

#include "run.hpp"

namespace headrace {

// One step's meeting places. A key is sent once and received once.
class LocalRendezvous {
 public:
  typedef void (*Done)(void* argument, hr_code code, const char* message, const hr_tensor* value,
                       int32_t dead);

  hr_code send(const char* key, const hr_tensor* value, int32_t dead) {
    Waiter waiter;
    {
      std::lock_guard<std::mutex> hold(lock_);
      if (code_ != HR_OK) return code_;
      auto found = waiters_.find(key);
      if (found == waiters_.end()) {
        Item item{*value, dead};
        buffer_retain(item.value.owner);
        if (!items_.emplace(key, item).second) return HR_ALREADY_EXISTS;
        return HR_OK;
      }
      waiter = found->second;
      waiters_.erase(found);
    }
    buffer_retain(value->owner);
    waiter.done(waiter.argument, HR_OK, "", value, dead);
    return HR_OK;
  }

  void recv(const char* key, Done done, void* argument) {
    Item item;
    hr_code code;
    std::string message;
    {
      std::lock_guard<std::mutex> hold(lock_);
      code = code_;
      message = message_;
      if (code == HR_OK) {
        auto found = items_.find(key);
        if (found == items_.end()) {
          waiters_[key] = Waiter{done, argument};
          return;
        }
        item = found->second;
        items_.erase(found);
      }
    }
    if (code == HR_OK)
      done(argument, HR_OK, "", &item.value, item.dead);
    else
      done(argument, code, message.c_str(), nullptr, 0);
  }

  void abort(hr_code code, const char* message) {
    std::unordered_map<std::string, Waiter> waiters;
    {
      std::lock_guard<std::mutex> hold(lock_);
      if (code_ != HR_OK) return;
      code_ = code;
      message_ = message;
      waiters.swap(waiters_);
    }
    for (auto& entry : waiters)
      entry.second.done(entry.second.argument, code, message, nullptr, 0);
  }

  // Calls release for the owner of every value that nobody received.
  template <typename Release>
  void drain(Release release) {
    std::lock_guard<std::mutex> hold(lock_);
    for (auto& entry : items_) release(entry.second.value.owner);
    items_.clear();
  }

 private:
  struct Item {
    hr_tensor value;
    int32_t dead;
  };
  struct Waiter {
    Done done;
    void* argument;
  };
  std::mutex lock_;
  std::unordered_map<std::string, Item> items_;
  std::unordered_map<std::string, Waiter> waiters_;
  hr_code code_ = HR_OK;
  std::string message_;
};

}  // namespace headrace
