// Times of a device on the system clock.
#ifndef HEADRACE_OPENCL_DEVICE_CLOCK_HPP
#define HEADRACE_OPENCL_DEVICE_CLOCK_HPP

#include <time.h>

#include <algorithm>
#include <cstdint>

namespace hr::cl {

inline int64_t system_time_ns() {
  timespec now;
  ::clock_gettime(CLOCK_REALTIME, &now);
  return int64_t(now.tv_sec) * 1000000000 + now.tv_nsec;
}

// How far the system clock is ahead of a device's. The device notes when a command is enqueued, and
// the host when the call began and ended: each command bounds the difference from both sides.
class DeviceClock {
 public:
  // The device noted `queued` for a call between these times of the system clock.
  void observe(int64_t before, int64_t after, uint64_t queued) {
    const int64_t least = before - int64_t(queued), most = after - int64_t(queued);
    least_ = std::max(least_, least);
    most_ = std::min(most_, most);
    if (least_ <= most_) return;
    // The clocks have drifted, or one was set.
    least_ = least;
    most_ = most;
  }
  int64_t system_time(uint64_t device_time) const {
    return int64_t(device_time) + least_ + (most_ - least_) / 2;
  }

 private:
  int64_t least_ = INT64_MIN / 2, most_ = INT64_MAX / 2;
};

}  // namespace hr::cl

#endif
