// Errors of OpenCL: their names, and what they are to the runtime.
#ifndef HEADRACE_OPENCL_API_ERRORS_HPP
#define HEADRACE_OPENCL_API_ERRORS_HPP

#include <string>

#include "api/cl_types.hpp"
#include "headrace/kernel.h"

namespace hr::cl {

// "CL_OUT_OF_RESOURCES"; "OpenCL error -9999" for one that the specification does not name.
std::string error_name(cl_int error);

// "copy to the device: CL_OUT_OF_RESOURCES on NVIDIA H200".
std::string error_text(cl_int error, const std::string& action, const std::string& device);

hr_code code_of(cl_int error);

}  // namespace hr::cl

#endif
