// Finds and launches kernels for tests, through the headers that the library's ops use.
#include <pthread.h>

#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "api/loader.hpp"
#include "discovery/devices.hpp"
#include "launch/launch.hpp"
#include "programs/program_store.hpp"
#include "programs/sha256.hpp"
#include "programs/source_files.hpp"

#define EXPORT extern "C" __attribute__((visibility("default")))

using namespace hr::cl;

namespace {

void put(const std::string& text, char* to, size_t size) {
  std::snprintf(to, size, "%s", text.c_str());
}

// A context that keeps the error's text.
struct Context : hr_ctx {
  hr_ctx_api functions{};
  std::string text;

  Context(hr_device* on, hr_profile* profile) : hr_ctx{} {
    functions.size = sizeof functions;
    functions.fail = fail;
    size = sizeof(hr_ctx);
    threads = 1;
    api = &functions;
    device = on;
    this->profile = profile;
  }
  static hr_code fail(hr_ctx* ctx, hr_code code, const char* format, ...) {
    char buffer[1024];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(buffer, sizeof buffer, format, arguments);
    va_end(arguments);
    static_cast<Context*>(ctx)->text = buffer;
    return code;
  }
};

}  // namespace

EXPORT void driver_configure(const char* sources) { set_source_folder(sources); }

EXPORT hr_device* driver_device() { return devices().empty() ? nullptr : devices()[0]; }

EXPORT int64_t driver_builds() { return builds_from_source(); }

EXPORT void driver_sha256(const char* data, size_t size, char* digits) {
  put(sha256({data, size}), digits, 65);
}

EXPORT const Kernel* driver_find(hr_device* device, const char* source, const char* defines,
                                 const char* function, char* error, size_t size) {
  std::string text;
  const Kernel* kernel =
      find_kernel(*static_cast<Device*>(device), source, defines, function, &text);
  put(text, error, size);
  return kernel;
}

EXPORT const Kernel* driver_generate(hr_device* device, const char* text, const char* options,
                                     const char* function, char* error, size_t size) {
  std::string problem;
  const Kernel* kernel =
      generated_kernel(*static_cast<Device*>(device), text, options, function, &problem);
  put(problem, error, size);
  return kernel;
}

EXPORT int32_t driver_launch(hr_device* device, const Kernel* kernel, int64_t global, int64_t local,
                             const Argument* arguments, int32_t n, hr_profile* profile, char* error,
                             size_t size) {
  Context ctx(device, profile);
  const Grid grid{1, {size_t(global), 1, 1}, {size_t(local), 1, 1}};
  const hr_code code = launch_arguments(&ctx, *kernel, grid, arguments, n);
  put(ctx.text, error, size);
  return code;
}

// Launches a kernel `times` times on each of `n_threads` threads; the thread's number is added to
// the last argument, an int. Returns the nanoseconds of a launch, or minus an hr_code.
EXPORT int64_t driver_launch_many(hr_device* device, const Kernel* kernel, int64_t global,
                                  int64_t local, const Argument* arguments, int32_t n,
                                  int32_t times, int32_t n_threads) {
  const Grid grid{1, {size_t(global), 1, 1}, {size_t(local), 1, 1}};
  std::vector<hr_code> codes(size_t(n_threads), HR_OK);
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::thread> threads;
  for (int32_t t = 0; t < n_threads; ++t)
    threads.emplace_back([&, t] {
      Context ctx(device, nullptr);
      std::vector<Argument> own(arguments, arguments + n);
      int32_t number;
      std::memcpy(&number, own.back().data, sizeof number);
      number += t;
      own.back().data = &number;
      for (int32_t i = 0; i < times && codes[size_t(t)] == HR_OK; ++i)
        codes[size_t(t)] = launch_arguments(&ctx, *kernel, grid, own.data(), n);
    });
  for (std::thread& thread : threads) thread.join();
  const auto spent = std::chrono::steady_clock::now() - start;
  for (const hr_code code : codes)
    if (code != HR_OK) return -code;
  return std::chrono::duration_cast<std::chrono::nanoseconds>(spent).count() /
         (int64_t(times) * n_threads);
}

// The nanoseconds of an allocation and its release, with `live` others of various sizes.
EXPORT int64_t driver_time_allocations(hr_device* device, int32_t live, int32_t times) {
  std::vector<void*> held;
  for (int32_t i = 0; i < live; ++i)
    held.push_back(device->allocate(device, 256 * (1 + i * 37 % 64), "held"));
  const auto start = std::chrono::steady_clock::now();
  for (int32_t i = 0; i < times; ++i) {
    void*& data = held[size_t(i) % held.size()];
    device->release(device, data);
    data = device->allocate(device, 256 * (1 + i * 53 % 64), "held");
  }
  const auto spent = std::chrono::steady_clock::now() - start;
  for (void* data : held) device->release(device, data);
  return std::chrono::duration_cast<std::chrono::nanoseconds>(spent).count() / times;
}
