#include "programs/program_store.hpp"

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <map>
#include <utility>

#include "api/loader.hpp"
#include "device/fork_guard.hpp"
#include "programs/binary_cache.hpp"
#include "programs/sha256.hpp"

namespace hr::cl {

namespace {

std::atomic<int64_t> built{0};

// Options that say what the device can do, for prelude.cl.
std::string device_options(const Traits& traits) {
  const auto define = [](const char* name, bool value) {
    return std::string(" -D") + name + (value ? "=1" : "=0");
  };
  return define("HR_HAS_HALF", traits.has_half) + define("HR_HAS_DOUBLE", traits.has_double) +
         define("HR_HAS_INT64_ATOMICS", traits.has_int64_atomics) +
         define("HR_IS_CPU", traits.is_cpu) + define("HR_NVIDIA", traits.nvidia);
}

std::string all_options(const Traits& traits, const std::string& options) {
  const bool has_version = options.find("-cl-std=") != std::string::npos;
  // Without warnings, which PoCL would print on the standard error of the program.
  return (has_version ? "" : "-cl-std=CL1.2 ") + options + device_options(traits) + " -w";
}

// All that decides what the compiler makes.
std::string cache_key(const Traits& traits, const std::string& text, const std::string& options) {
  const std::string parts[] = {"1",
                               traits.platform,
                               traits.platform_version,
                               traits.vendor,
                               traits.name,
                               traits.driver,
                               options,
                               text};
  std::string all;
  for (const std::string& part : parts) all += std::to_string(part.size()) + ":" + part;
  return sha256(all);
}

// For those who look at generated texts, and for tests that compile them for devices that are not
// here: each program, its options in the first line.
void keep_source(const std::string& key, const std::string& text, const std::string& options) {
  const char* folder = std::getenv("HEADRACE_OPENCL_KEEP_SOURCES");
  if (!folder || !*folder) return;
  std::ofstream(std::string(folder) + "/" + key.substr(0, 16) + ".cl") << "// " << options << "\n"
                                                                       << text;
}

std::string build_log(cl_program program, cl_device_id id) {
  size_t size = 0;
  if (clGetProgramBuildInfo(program, id, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size) != CL_SUCCESS)
    return {};
  std::string log(size, 0);
  if (clGetProgramBuildInfo(program, id, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr) !=
      CL_SUCCESS)
    return {};
  log = log.c_str();
  while (!log.empty() && (log.back() == '\n' || log.back() == ' ')) log.pop_back();
  return log;
}

std::string binary_of(cl_program program) {
  size_t size = 0;  // of one device
  if (clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, nullptr) != CL_SUCCESS)
    return {};
  std::string binary(size, 0);
  char* data = binary.data();
  if (clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof data, &data, nullptr) != CL_SUCCESS)
    return {};
  return binary;
}

}  // namespace

int64_t builds_from_source() { return built.load(); }

struct ProgramStore::Program {
  std::mutex mutex;  // held while it is built
  bool ready = false;
  cl_program program = nullptr;
  std::string error;
  std::map<std::string, std::unique_ptr<Kernel>> kernels;
};

ProgramStore::ProgramStore(Device& device) : device_(device) {}

ProgramStore::~ProgramStore() {
  for (const auto& [key, program] : programs_) {
    for (const auto& [function, kernel] : program->kernels) clReleaseKernel(kernel->kernel);
    if (program->program) clReleaseProgram(program->program);
  }
}

ProgramStore& ProgramStore::of(Device& device) {
  const std::lock_guard<std::mutex> hold(device.attached_mutex);
  if (!device.programs) device.programs = std::make_shared<ProgramStore>(device);
  return *static_cast<ProgramStore*>(device.programs.get());
}

const Kernel* ProgramStore::find(const std::string& name, const std::string& text,
                                 const std::string& options, const std::string& function,
                                 std::string* error) {
  if (devices_are_lost()) {
    *error = lost().text;
    return nullptr;
  }
  Program* program;
  {
    const std::lock_guard<std::mutex> hold(mutex_);
    std::unique_ptr<Program>& entry = programs_[options + "\n" + text];
    if (!entry) entry = std::make_unique<Program>();
    program = entry.get();
  }
  const std::lock_guard<std::mutex> hold(program->mutex);
  if (!program->ready) {
    build(program, name, text, all_options(device_.traits, options));
    program->ready = true;
  }
  if (!program->program) {
    *error = program->error;
    return nullptr;
  }
  std::unique_ptr<Kernel>& kernel = program->kernels[function];
  if (!kernel) {
    cl_int code;
    const cl_kernel created = clCreateKernel(program->program, function.c_str(), &code);
    if (code != CL_SUCCESS) {
      *error = error_text(code, "find kernel '" + function + "' in " + name, device_.traits.name);
      return nullptr;
    }
    kernel = std::make_unique<Kernel>(device_, created, function);
  }
  return kernel.get();
}

void ProgramStore::build(Program* program, const std::string& name, const std::string& text,
                         const std::string& options) {
  const std::string key = cache_key(device_.traits, text, options);
  keep_source(key, text, options);
  std::string binary;
  if (read_cached(key, &binary)) program->program = from_binary(binary, options);
  if (program->program) return;
  std::string error;
  program->program = from_source(text, options, &error);
  if (!program->program) {
    program->error = "compile " + name + " (" + options + "): " + error;
    return;
  }
  binary = binary_of(program->program);
  if (!binary.empty()) write_cached(key, binary);
}

// Null where the driver refuses the binary: then the source is compiled.
cl_program ProgramStore::from_binary(const std::string& binary, const std::string& options) {
  const size_t size = binary.size();
  const auto* data = reinterpret_cast<const unsigned char*>(binary.data());
  cl_int code, of_device = CL_SUCCESS;
  const cl_program program =
      clCreateProgramWithBinary(device_.context, 1, &device_.id, &size, &data, &of_device, &code);
  if (code != CL_SUCCESS) return nullptr;
  if (of_device == CL_SUCCESS &&
      clBuildProgram(program, 1, &device_.id, options.c_str(), nullptr, nullptr) == CL_SUCCESS)
    return program;
  clReleaseProgram(program);
  return nullptr;
}

cl_program ProgramStore::from_source(const std::string& text, const std::string& options,
                                     std::string* error) {
  const char* data = text.data();
  const size_t size = text.size();
  cl_int code;
  const cl_program program = clCreateProgramWithSource(device_.context, 1, &data, &size, &code);
  if (code != CL_SUCCESS) {
    *error = error_text(code, "create a program", device_.traits.name);
    return nullptr;
  }
  ++built;
  code = clBuildProgram(program, 1, &device_.id, options.c_str(), nullptr, nullptr);
  if (code == CL_SUCCESS) return program;
  *error = error_name(code) + " on " + device_.traits.name;
  const std::string log = build_log(program, device_.id);
  if (!log.empty()) *error += ":\n" + log;
  clReleaseProgram(program);
  return nullptr;
}

}  // namespace hr::cl
