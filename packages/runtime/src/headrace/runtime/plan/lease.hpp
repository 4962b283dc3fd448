// An executable in use by one run.
#pragma once
#include <memory>
#include <new>
#include <utility>

#include "plan/executable.hpp"

namespace headrace {

inline hr_code fail_no_room(Run* run, const Executable& executable) noexcept {
  try {
    return run_fail_text(run, HR_RESOURCE_EXHAUSTED, executable.no_room().c_str());
  } catch (const std::bad_alloc&) {  // no memory for the text
    return run_fail_text(run, HR_RESOURCE_EXHAUSTED, "no memory for an arena");
  }
}

// Fails a run for which a device has no memory; says who holds it.
inline hr_code fail_no_room_for(Run* run, hr_device* device, int64_t bytes) noexcept {
  char text[1400], holders[1024];
  device->describe_memory(device, holders, sizeof holders);
  std::snprintf(text, sizeof text, "no memory for %lld bytes on %s, which is held by:\n%s",
                static_cast<long long>(bytes), device->description, holders);
  return run_fail_text(run, HR_RESOURCE_EXHAUSTED, text);
}

// An executable in use by one run, with the buffers of the run. Its end releases the values of
// counted tensors.
class Lease {
 public:
  Lease() = default;
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  ~Lease() { end(); }

  // False: out of memory for the buffers.
  bool begin(std::shared_ptr<Executable> executable) {
    end();
    executable_ = std::move(executable);
    buffers_ = executable_->take_buffers();
    return buffers_ != nullptr;
  }
  void end() {
    if (buffers_) {
      release_values();
      executable_->give_buffers(buffers_);
      buffers_ = nullptr;
    }
    executable_.reset();
  }
  // Between two runs in the same buffers.
  void release_values() {
    for (int32_t i : executable_->counted) release_value(i);
    for (int32_t i : executable_->by_kernel) release_value(i);
    for (int32_t i : executable_->counted_on_host) release_value(i);
  }
  Executable* executable() const { return executable_.get(); }
  RunBuffers* buffers() const { return buffers_; }

 private:
  std::shared_ptr<Executable> executable_;
  RunBuffers* buffers_ = nullptr;

  void release_value(int32_t i) {
    hr_tensor& t = buffers_->tensors[i];
    buffer_release(t.owner);
    t.owner = nullptr;
  }
};

}  // namespace headrace
