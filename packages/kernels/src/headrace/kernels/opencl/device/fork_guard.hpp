// A child of a fork has neither the threads of a driver nor its locks: devices are lost there.
#ifndef HEADRACE_OPENCL_DEVICE_FORK_GUARD_HPP
#define HEADRACE_OPENCL_DEVICE_FORK_GUARD_HPP

#include "api/status.hpp"

namespace hr::cl {

// Notes forks from now on; in a child of a fork of a process that did so, that devices are lost.
void watch_forks();

// Whether this process is a child of a fork of one that had devices.
bool devices_are_lost();

inline Status lost() {
  return {HR_UNAVAILABLE,
          "this process is a fork of one that uses OpenCL, which has the device: start processes "
          "with the method 'spawn' or 'forkserver'"};
}

}  // namespace hr::cl

#endif
