// Loads OpenCL while the process runs: it is no dependency of the build, and may be missing.
#ifndef HEADRACE_OPENCL_API_LOADER_HPP
#define HEADRACE_OPENCL_API_LOADER_HPP

#include <string>

#include "api/cl_types.hpp"

namespace hr::cl {

// X(name, result, parameters) for each function of OpenCL 1.2 that is used here.
#define HR_CL_FUNCTIONS(X)                                                                         \
  X(clGetPlatformIDs, cl_int, (cl_uint, cl_platform_id*, cl_uint*))                                \
  X(clGetPlatformInfo, cl_int, (cl_platform_id, cl_uint, size_t, void*, size_t*))                  \
  X(clGetDeviceIDs, cl_int, (cl_platform_id, cl_bitfield, cl_uint, cl_device_id*, cl_uint*))       \
  X(clGetDeviceInfo, cl_int, (cl_device_id, cl_uint, size_t, void*, size_t*))                      \
  X(clCreateContext, cl_context,                                                                   \
    (const cl_context_properties*, cl_uint, const cl_device_id*,                                   \
     void (*)(const char*, const void*, size_t, void*), void*, cl_int*))                           \
  X(clReleaseContext, cl_int, (cl_context))                                                        \
  X(clCreateCommandQueue, cl_command_queue, (cl_context, cl_device_id, cl_bitfield, cl_int*))      \
  X(clReleaseCommandQueue, cl_int, (cl_command_queue))                                             \
  X(clCreateBuffer, cl_mem, (cl_context, cl_bitfield, size_t, void*, cl_int*))                     \
  X(clReleaseMemObject, cl_int, (cl_mem))                                                          \
  X(clCreateProgramWithSource, cl_program,                                                         \
    (cl_context, cl_uint, const char**, const size_t*, cl_int*))                                   \
  X(clCreateProgramWithBinary, cl_program,                                                         \
    (cl_context, cl_uint, const cl_device_id*, const size_t*, const unsigned char**, cl_int*,      \
     cl_int*))                                                                                     \
  X(clBuildProgram, cl_int,                                                                        \
    (cl_program, cl_uint, const cl_device_id*, const char*, void (*)(cl_program, void*), void*))   \
  X(clGetProgramInfo, cl_int, (cl_program, cl_uint, size_t, void*, size_t*))                       \
  X(clGetProgramBuildInfo, cl_int, (cl_program, cl_device_id, cl_uint, size_t, void*, size_t*))    \
  X(clReleaseProgram, cl_int, (cl_program))                                                        \
  X(clCreateKernel, cl_kernel, (cl_program, const char*, cl_int*))                                 \
  X(clReleaseKernel, cl_int, (cl_kernel))                                                          \
  X(clSetKernelArg, cl_int, (cl_kernel, cl_uint, size_t, const void*))                             \
  X(clGetKernelInfo, cl_int, (cl_kernel, cl_uint, size_t, void*, size_t*))                         \
  X(clGetKernelWorkGroupInfo, cl_int,                                                              \
    (cl_kernel, cl_device_id, cl_uint, size_t, void*, size_t*))                                    \
  X(clEnqueueNDRangeKernel, cl_int,                                                                \
    (cl_command_queue, cl_kernel, cl_uint, const size_t*, const size_t*, const size_t*, cl_uint,   \
     const cl_event*, cl_event*))                                                                  \
  X(clEnqueueReadBuffer, cl_int,                                                                   \
    (cl_command_queue, cl_mem, cl_bool, size_t, size_t, void*, cl_uint, const cl_event*,           \
     cl_event*))                                                                                   \
  X(clEnqueueWriteBuffer, cl_int,                                                                  \
    (cl_command_queue, cl_mem, cl_bool, size_t, size_t, const void*, cl_uint, const cl_event*,     \
     cl_event*))                                                                                   \
  X(clEnqueueCopyBuffer, cl_int,                                                                   \
    (cl_command_queue, cl_mem, cl_mem, size_t, size_t, size_t, cl_uint, const cl_event*,           \
     cl_event*))                                                                                   \
  X(clEnqueueFillBuffer, cl_int,                                                                   \
    (cl_command_queue, cl_mem, const void*, size_t, size_t, size_t, cl_uint, const cl_event*,      \
     cl_event*))                                                                                   \
  X(clEnqueueMapBuffer, void*,                                                                     \
    (cl_command_queue, cl_mem, cl_bool, cl_bitfield, size_t, size_t, cl_uint, const cl_event*,     \
     cl_event*, cl_int*))                                                                          \
  X(clEnqueueMarkerWithWaitList, cl_int, (cl_command_queue, cl_uint, const cl_event*, cl_event*))  \
  X(clFlush, cl_int, (cl_command_queue))                                                           \
  X(clFinish, cl_int, (cl_command_queue))                                                          \
  X(clWaitForEvents, cl_int, (cl_uint, const cl_event*))                                           \
  X(clGetEventInfo, cl_int, (cl_event, cl_uint, size_t, void*, size_t*))                           \
  X(clGetEventProfilingInfo, cl_int, (cl_event, cl_uint, size_t, void*, size_t*))                  \
  X(clSetEventCallback, cl_int, (cl_event, cl_int, void (*)(cl_event, cl_int, void*), void*))      \
  X(clRetainEvent, cl_int, (cl_event)) \
  X(clReleaseEvent, cl_int, (cl_event))

#define HR_CL_DECLARE(name, result, parameters) extern result(*name) parameters;
HR_CL_FUNCTIONS(HR_CL_DECLARE)
#undef HR_CL_DECLARE

// Where to look besides $HEADRACE_OPENCL_LIBRARY and the system: the loader in pyopencl's wheel, or
// "". To be called before load.
void set_bundled_library(const std::string& path);

// Loads OpenCL, at the first call. False where there is none; `error` says what to do if
// $HEADRACE_OPENCL_LIBRARY names a library that cannot be used, and is empty otherwise.
bool load(std::string* error);

}  // namespace hr::cl

#endif
