#include "api/loader.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <mutex>

#include "api/drivers.hpp"

namespace hr::cl {

#define HR_CL_DEFINE(name, result, parameters) result(*name) parameters = nullptr;
HR_CL_FUNCTIONS(HR_CL_DEFINE)
#undef HR_CL_DEFINE

namespace {

std::string bundled_library;

std::string last_error() {
  const char* text = ::dlerror();
  return text ? text : "unknown error";
}

// Returns why a library cannot be used, or "". It is never closed: drivers leave threads behind.
std::string use(const char* path) {
  void* library = ::dlopen(path, driver_flags());
  if (!library) return last_error();
#define HR_CL_LOAD(name, result, parameters)                              \
  name = reinterpret_cast<result(*) parameters>(::dlsym(library, #name)); \
  if (!name) return std::string(path) + " has no " #name;
  HR_CL_FUNCTIONS(HR_CL_LOAD)
#undef HR_CL_LOAD
  return {};
}

struct Loaded {
  bool found = false;
  std::string error;

  Loaded() {
    const char* chosen = std::getenv("HEADRACE_OPENCL_LIBRARY");
    if (chosen && *chosen) {
      const std::string problem = use(chosen);
      found = problem.empty();
      if (!found)
        error = "HEADRACE_OPENCL_LIBRARY cannot be used: " + problem +
                ": name an OpenCL loader or driver, or unset it";
      return;
    }
    open_drivers();  // a chosen library stands alone: another driver may be what does not work
#ifdef __APPLE__
    found = use("/System/Library/Frameworks/OpenCL.framework/OpenCL").empty();
#else
    found = use("libOpenCL.so.1").empty();
#endif
    if (!found && !bundled_library.empty()) found = use(bundled_library.c_str()).empty();
  }
};

}  // namespace

void set_bundled_library(const std::string& path) { bundled_library = path; }

bool load(std::string* error) {
  static const Loaded* loaded = new Loaded;
  *error = loaded->error;
  return loaded->found;
}

}  // namespace hr::cl
