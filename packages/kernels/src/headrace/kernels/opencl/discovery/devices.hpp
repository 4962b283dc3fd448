// The devices that this library offers to the runtime.
#ifndef HEADRACE_OPENCL_DISCOVERY_DEVICES_HPP
#define HEADRACE_OPENCL_DISCOVERY_DEVICES_HPP

#include <string>
#include <vector>

#include "device/device.hpp"
#include "discovery/candidates.hpp"

namespace hr::cl {

// Those that HEADRACE_OPENCL_DEVICES selects and that work. The first call looks for them; they
// live as long as the process. None in a child of a fork of a process that looked for them.
const std::vector<hr_device*>& devices();

// Why devices that were selected are left out, a sentence each: all at the first call after
// devices(), and nothing later.
std::vector<std::string> take_problems();

// What hinders this process from having devices at all, or "".
const char* why_no_devices();

// What is known about a device: for people.
struct Report {
  Candidate candidate;
  bool selected;
  bool works;
  std::string problem;
};

// All devices of the machine, whether selected or not, each with a probe.
std::vector<Report> examine(std::vector<std::string>* problems);

// Waits for all work, before the process ends.
void finish_all();

}  // namespace hr::cl

#endif
