// A child of a fork has neither the threads of a driver nor its locks: devices are lost there, and
// none is found.
#ifndef HEADRACE_OPENCL_DEVICE_FORK_GUARD_HPP
#define HEADRACE_OPENCL_DEVICE_FORK_GUARD_HPP

#include "api/status.hpp"

namespace hr::cl {

// Notes forks from now on; in a child of a fork of a process that did so, that devices are lost.
void watch_forks();

// Whether this process is a child of a fork of one that looked for devices.
bool devices_are_lost();

// Whether this is the first call in this process, a child of a fork.
bool reports_loss();

constexpr const char* kLost =
    "this process is a fork of one that uses OpenCL devices, and has none: start processes with "
    "the method 'spawn' or 'forkserver' instead";

inline Status lost() { return {HR_UNAVAILABLE, kLost}; }

}  // namespace hr::cl

#endif
