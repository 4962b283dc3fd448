// Copies to a device that a plan keeps.
#pragma once
#include <condition_variable>
#include <mutex>
#include <new>
#include <string>

#include "headrace/kernel.h"

namespace headrace {

// Copies to a device that are waited for together: memory that is kept must not hold what a copy
// that failed has left there.
class CopiesToDevice {
 public:
  explicit CopiesToDevice(hr_device* device) : device_(device) {}
  ~CopiesToDevice() { wait(); }

  // `from` must live until `wait`.
  void add(void* to, const void* from, int64_t bytes) noexcept {
    {
      std::lock_guard<std::mutex> hold(lock_);
      ++awaited_;
    }
    const int32_t code = device_->copy_in(device_, to, from, bytes, nullptr, done, this);
    if (code != HR_OK) done(this, code, "the device takes no copy");
  }
  // The first error, with its text.
  hr_code wait(std::string* text = nullptr) noexcept {
    device_->flush(device_);  // without the lock, which `done` takes
    std::unique_lock<std::mutex> hold(lock_);
    changed_.wait(hold, [&] { return awaited_ == 0; });
    if (text) text->swap(message_);
    return code_;
  }

 private:
  static void done(void* argument, int32_t code, const char* message) {
    auto* copies = static_cast<CopiesToDevice*>(argument);
    std::lock_guard<std::mutex> hold(copies->lock_);
    if (code != HR_OK && copies->code_ == HR_OK) {
      copies->code_ = code;
      try {
        copies->message_ = message;
      } catch (const std::bad_alloc&) { copies->message_.clear(); }
    }
    --copies->awaited_;
    copies->changed_.notify_all();
  }

  hr_device* device_;
  std::mutex lock_;
  std::condition_variable changed_;
  int32_t awaited_ = 0;
  hr_code code_ = HR_OK;
  std::string message_;
};

}  // namespace headrace
