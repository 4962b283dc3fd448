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
        Item item;
        item.value.share(*value);
        item.dead = dead;
        return items_.emplace(key, std::move(item)).second ? HR_OK : HR_ALREADY_EXISTS;
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
        item = std::move(found->second);
        items_.erase(found);
      }
    }
    if (code == HR_OK) {
      const hr_tensor value = item.value.take();
      done(argument, HR_OK, "", &value, item.dead);
    } else {
      done(argument, code, message.c_str(), nullptr, 0);
    }
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
  std::unordered_map<std::string, Item> items_;
  std::unordered_map<std::string, Waiter> waiters_;
  hr_code code_ = HR_OK;
  std::string message_;
};

}  // namespace headrace
