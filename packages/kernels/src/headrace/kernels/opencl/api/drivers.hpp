// The driver libraries that OpenCL's loader would open, opened in a way that other libraries of the
// process cannot disturb.
#ifndef HEADRACE_OPENCL_API_DRIVERS_HPP
#define HEADRACE_OPENCL_API_DRIVERS_HPP

namespace hr::cl {

// Flags of dlopen() for a driver.
int driver_flags();

// Opens the drivers that .icd files name, before the loader does. One that cannot be opened is left
// to the loader.
void open_drivers();

}  // namespace hr::cl

#endif
