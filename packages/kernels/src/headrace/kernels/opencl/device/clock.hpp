// Times of a device on the system clock.
#ifndef HEADRACE_OPENCL_DEVICE_CLOCK_HPP
#define HEADRACE_OPENCL_DEVICE_CLOCK_HPP

#include <time.h>

#include <cstdint>

namespace hr::cl {

inline int64_t system_time_ns() {
  timespec now;
  ::clock_gettime(CLOCK_REALTIME, &now);
  return int64_t(now.tv_sec) * 1000000000 + now.tv_nsec;
}

// How far the system clock is ahead of a device's. A command's time of enqueueing is known on both:
// on the system's as an interval, the shorter the more exact.
class DeviceClock {
 public:
  // The device recorded `queued` for a call that began and ended at these times.
  void observe(int64_t before, int64_t after, uint64_t queued) {
    const int64_t width = after - before;
    // Clocks drift: after a second a less exact offset is better than an old one.
    if (observed_ && width > width_ && before - observed_ < 1000000000) return;
    offset_ = before + width / 2 - int64_t(queued);
    width_ = width;
    observed_ = before;
  }
  int64_t system_time(uint64_t device_time) const { return int64_t(device_time) + offset_; }

 private:
  int64_t offset_ = 0, width_ = 0, observed_ = 0;
};

}  // namespace hr::cl

#endif
