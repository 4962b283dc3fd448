/* An OpenCL driver with faults: the system's OpenCL, in which the functions below fail or lie.
 * HEADRACE_SHIM names the fault. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int fault(const char* name) {
  const char* chosen = getenv("HEADRACE_SHIM");
  return chosen && !strcmp(chosen, name);
}
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* PoCL 3.0 of PyPI on a processor that its LLVM does not know. */
int clBuildProgram(void* program, uint32_t n, void* const* devices, const char* options,
                   void (*notify)(void*, void*), void* data) {
  if (fault("no build")) return -11;
  if (fault("slow build")) {
    puts("building");
    fflush(stdout);
    sleep(60);
  }
  return REAL(clBuildProgram)(program, n, devices, options, notify, data);
}
int clGetProgramBuildInfo(void* program, void* device, uint32_t what, size_t size, void* value,
                          size_t* used) {
  static const char log[] = "error: unknown target CPU 'generic'";
  if (!fault("no build") || what != 0x1183)
    return REAL(clGetProgramBuildInfo)(program, device, what, size, value, used);
  if (value) memcpy(value, log, size < sizeof log ? size : sizeof log);
  if (used) *used = sizeof log;
  return 0;
}

/* Kernels that do nothing. */
int clEnqueueNDRangeKernel(void* queue, void* kernel, uint32_t n, const size_t* offset,
                           const size_t* global, const size_t* local, uint32_t waits,
                           void* const* events, void** event) {
  if (fault("no results")) return 0;
  return REAL(clEnqueueNDRangeKernel)(queue, kernel, n, offset, global, local, waits, events,
                                      event);
}

void* clCreateContext(const intptr_t* properties, uint32_t n, void* const* devices,
                      void (*notify)(const char*, const void*, size_t, void*), void* data,
                      int* code) {
  if (fault("no context")) {
    *code = -2;
    return NULL;
  }
  return REAL(clCreateContext)(properties, n, devices, notify, data, code);
}

/* Memory that runs out. */
void* clCreateBuffer(void* context, uint64_t flags, size_t size, void* host, int* code) {
  if (fault("no memory")) {
    *code = -4;
    return NULL;
  }
  return REAL(clCreateBuffer)(context, flags, size, host, code);
}

int clGetPlatformIDs(uint32_t n, void** platforms, uint32_t* found) {
  if (fault("no platforms")) return -1001;
  if (!fault("two platforms")) return REAL(clGetPlatformIDs)(n, platforms, found);
  /* Each platform twice: two installations of one driver. */
  uint32_t real = 0;
  const int code = REAL(clGetPlatformIDs)(platforms ? n / 2 : 0, platforms, &real);
  for (uint32_t i = 0; platforms && i < n / 2; ++i) platforms[n / 2 + i] = platforms[i];
  if (found) *found = 2 * real;
  return code;
}
