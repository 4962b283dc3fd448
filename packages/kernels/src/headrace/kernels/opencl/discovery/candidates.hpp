// The OpenCL devices of this machine, and which of them are asked for.
#ifndef HEADRACE_OPENCL_DISCOVERY_CANDIDATES_HPP
#define HEADRACE_OPENCL_DISCOVERY_CANDIDATES_HPP

#include <string>
#include <vector>

#include "api/cl_types.hpp"
#include "device/traits.hpp"

namespace hr::cl {

// A device that a driver lists. It may not work.
struct Candidate {
  int index;  // among all of them, in the order of platforms
  cl_platform_id platform;
  cl_device_id id;
  bool is_gpu;
  Traits traits;
};

// Lists the devices of all platforms. `problems` gets what cannot be listed, a sentence each.
std::vector<Candidate> list_candidates(std::vector<std::string>* problems);

// Selects devices by the text of HEADRACE_OPENCL_DEVICES, in its order: "all", "none", or a list of
// numbers and of parts of the names and versions of devices and platforms, separated by commas. ""
// selects the GPUs. `problems` gets what selects nothing.
std::vector<const Candidate*> select_candidates(const std::vector<Candidate>& candidates,
                                                const std::string& request,
                                                std::vector<std::string>* problems);

}  // namespace hr::cl

#endif
