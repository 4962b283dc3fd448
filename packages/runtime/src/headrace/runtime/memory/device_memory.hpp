// Counted memory on a device, and copies between memories.
#pragma once
#include <condition_variable>
#include <mutex>
#include <new>

#include "headrace/kernel.h"
#include "memory/buffer.hpp"

namespace headrace {

// The device whose memory a counted buffer is; null: the host's.
inline hr_device* memory_of(const hr_buffer* buffer) { return buffer ? buffer->device : nullptr; }

// A buffer of that size on a device, with one reference. `holder` names it in messages. Null: out
// of memory. An empty one has an address that nothing may be read at.
inline hr_buffer* device_buffer(hr_device* device, int64_t bytes, const char* holder) noexcept {
  auto* made = new (std::nothrow) hr_buffer();
  if (!made) return nullptr;
  made->data = bytes > 0 ? device->allocate(device, bytes, holder) : made;
  if (!made->data) {
    delete made;
    return nullptr;
  }
  made->references.store(1, std::memory_order_relaxed);
  made->elements = HR_UINT8;
  made->size_class = -1;
  made->bytes = bytes;
  made->device = device;
  made->destroy = [](hr_buffer* buffer) {
    if (buffer->bytes > 0) buffer->device->release(buffer->device, buffer->data);
    delete buffer;
  };
  return made;
}

// Gives a tensor, whose `bytes` are set, a buffer of its own on a device.
inline hr_code allocate_on(hr_device* device, hr_tensor* t, const char* holder) noexcept {
  hr_buffer* made = device_buffer(device, t->bytes, holder);
  if (!made) return HR_RESOURCE_EXHAUSTED;
  t->owner = made;
  // A device finds memory by its address: that of no memory must be none.
  t->data = t->bytes > 0 ? made->data : nullptr;
  t->layout = 0;
  return HR_OK;
}

// Copies bytes of a device to the host, and waits for them.
inline hr_code read_device(hr_device* device, void* to, const void* from, int64_t bytes) noexcept {
  struct Wait {
    std::mutex lock;
    std::condition_variable changed;
    bool over = false;
    int32_t code = HR_OK;
  } wait;
  if (bytes <= 0) return HR_OK;
  const auto done = [](void* argument, int32_t code, const char*) {
    auto* waiting = static_cast<Wait*>(argument);
    std::lock_guard<std::mutex> hold(waiting->lock);
    waiting->code = code;
    waiting->over = true;
    waiting->changed.notify_all();
  };
  const int32_t code = device->copy_out(device, to, from, bytes, nullptr, done, &wait);
  if (code != HR_OK) return code;
  std::unique_lock<std::mutex> hold(wait.lock);
  wait.changed.wait(hold, [&] { return wait.over; });
  return wait.code;
}

}  // namespace headrace
