// The steps that have work on devices with memory of their own, for errors that come late.
#pragma once
#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "headrace/kernel.h"

namespace headrace {

// A device reports an error of its work once, to whoever asks next, without the step that it is of.
// So it ends all steps with work there.
class DeviceSteps {
 public:
  using Fail = void (*)(void* step, hr_code code, const char* message);

  // Never freed: callbacks of devices outlive destructors.
  static DeviceSteps& all() {
    static const bool registered = pthread_atfork(nullptr, nullptr, start_anew) == 0;
    (void)registered;
    return *current();
  }

  // From now on errors of the device end the step. `fail` may be called from any thread until `end`
  // returns. False: out of memory.
  bool begin(const hr_device* device, void* step, Fail fail) noexcept {
    std::lock_guard<std::mutex> hold(lock_);
    try {
      entries_.push_back({device, step, fail, 0, {}});
      return true;
    } catch (const std::bad_alloc&) { return false; }
  }

  // Waits for calls of `fail`, except one that this is called from.
  void end(void* step) noexcept {
    std::unique_lock<std::mutex> hold(lock_);
    ended_.wait(hold, [&] {
      return std::none_of(entries_.begin(), entries_.end(), [&](const Entry& entry) {
        return entry.step == step && is_called_by_others(entry);
      });
    });
    entries_.erase(std::remove_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& entry) { return entry.step == step; }),
                   entries_.end());
  }

  void fail(const hr_device* device, hr_code code, const char* message) noexcept {
    const std::thread::id me = std::this_thread::get_id();
    std::unique_lock<std::mutex> hold(lock_);
    const int64_t error = ++errors_;
    for (size_t i = 0; i < entries_.size();) {
      Entry& entry = entries_[i++];
      if (entry.device != device || entry.error >= error) continue;
      entry.error = error;
      try {
        entry.callers.push_back(me);
      } catch (const std::bad_alloc&) { continue; }
      void* step = entry.step;
      const Fail end_step = entry.fail;
      hold.unlock();
      end_step(step, code, message);
      hold.lock();
      for (Entry& called : entries_) {
        auto caller = std::find(called.callers.begin(), called.callers.end(), me);
        if (called.step == step && called.device == device && caller != called.callers.end())
          called.callers.erase(caller);
      }
      ended_.notify_all();
      i = 0;  // others may have come and gone
    }
  }

 private:
  struct Entry {
    const hr_device* device;
    void* step;
    Fail fail;
    int64_t error;  // the last one that it got
    std::vector<std::thread::id> callers;
  };

  static bool is_called_by_others(const Entry& entry) {
    return std::any_of(entry.callers.begin(), entry.callers.end(),
                       [](std::thread::id caller) { return caller != std::this_thread::get_id(); });
  }

  static DeviceSteps*& current() {
    static auto* steps = new DeviceSteps();
    return steps;
  }
  // In a child of a fork, where another thread may have had the lock.
  static void start_anew() {
    if (auto* fresh = new (std::nothrow) DeviceSteps()) current() = fresh;
  }

  std::mutex lock_;
  std::condition_variable ended_;
  int64_t errors_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace headrace
