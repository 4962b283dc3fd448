#include "device/device.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "api/loader.hpp"
#include "device/copies.hpp"
#include "device/fork_guard.hpp"

namespace hr::cl {

namespace {

Device& of(hr_device* device) { return *static_cast<Device*>(device); }

// Calls f, whose errors are exceptions of the standard library.
template <class F> int32_t guarded(F&& f) noexcept {
  try {
    return f();
  } catch (...) {
    return HR_RESOURCE_EXHAUSTED;  // std::bad_alloc
  }
}

void* allocate(hr_device* self, int64_t bytes, const char* holder) noexcept {
  void* data = nullptr;
  if (devices_are_lost()) return data;
  guarded([&] {
    data = of(self).pool.allocate(bytes, holder);
    return HR_OK;
  });
  return data;
}

void release(hr_device* self, void* data) noexcept {
  if (!devices_are_lost()) of(self).pool.release(data);
}

void describe_memory(hr_device* self, char* text, size_t size) noexcept {
  if (size == 0) return;
  text[0] = 0;
  guarded([&] {
    const std::string whole = devices_are_lost() ? lost().text : of(self).pool.describe();
    const size_t n = std::min(size - 1, whole.size());
    std::memcpy(text, whole.data(), n);
    text[n] = 0;
    return HR_OK;
  });
}

void memory(hr_device* self, hr_device_memory* memory) noexcept {
  *memory = {};
  if (!devices_are_lost()) of(self).pool.memory(memory);
}

void reset_peak(hr_device* self) noexcept {
  if (!devices_are_lost()) of(self).pool.reset_peak();
}

void set_limit(hr_device* self, int64_t bytes) noexcept {
  if (!devices_are_lost()) of(self).pool.set_limit(bytes);
}

int32_t copy_in_c(hr_device* self, void* to, const void* from, int64_t bytes, hr_profile* profile,
                  hr_device_done done, void* argument) noexcept {
  return guarded([&] { return copy_in(of(self), to, from, bytes, profile, done, argument).code; });
}

int32_t copy_out_c(hr_device* self, void* to, const void* from, int64_t bytes, hr_profile* profile,
                   hr_device_done done, void* argument) noexcept {
  return guarded([&] { return copy_out(of(self), to, from, bytes, profile, done, argument).code; });
}

int32_t copy_within_c(hr_device* self, void* to, const void* from, int64_t bytes,
                      hr_profile* profile) noexcept {
  return guarded([&] { return copy_within(of(self), to, from, bytes, profile).code; });
}

void flush(hr_device* self) noexcept {
  if (!devices_are_lost()) of(self).stream.flush();
}

void notify(hr_device* self, hr_device_done done, void* argument) noexcept {
  if (devices_are_lost()) return done(argument, lost().code, lost().text.c_str());
  if (guarded([&] {
        of(self).stream.notify(done, argument);
        return HR_OK;
      }) != HR_OK)
    done(argument, HR_RESOURCE_EXHAUSTED, "no memory to wait for the device");
}

void offer(Device& device) {
  hr_device& offered = device;
  offered.size = sizeof(hr_device);
  offered.flags = device.traits.is_cpu ? HR_DEVICE_IS_HOST : 0;
  offered.type = "GPU";
  offered.memory_bytes = device.traits.memory;
  offered.allocate = allocate;
  offered.release = release;
  offered.describe_memory = describe_memory;
  offered.memory = memory;
  offered.reset_peak = reset_peak;
  offered.set_limit = set_limit;
  offered.copy_in = copy_in_c;
  offered.copy_out = copy_out_c;
  offered.copy_within = copy_within_c;
  offered.flush = flush;
  offered.notify = notify;
}

std::string described(const Traits& traits) {
  // "OpenCL 3.0 CUDA 12.4.131": the first two words are the version.
  const std::string& version = traits.platform_version;
  const size_t first = version.find(' ');
  const size_t second = first == std::string::npos ? first : version.find(' ', first + 1);
  return traits.name + " (" + version.substr(0, second) + ", driver " + traits.driver + ")";
}

bool has_word(const std::string& text, const char* word) {
  return (" " + text + " ").find(std::string(" ") + word + " ") != std::string::npos;
}

}  // namespace

// ---- what OpenCL says
// ---------------------------------------------------------------------------------

std::string platform_text(cl_platform_id platform, cl_uint what) {
  size_t size = 0;
  if (clGetPlatformInfo(platform, what, 0, nullptr, &size) != CL_SUCCESS || size == 0) return {};
  std::string text(size, 0);
  if (clGetPlatformInfo(platform, what, size, text.data(), nullptr) != CL_SUCCESS) return {};
  return text.c_str();
}

std::string device_text(cl_device_id id, cl_uint what) {
  size_t size = 0;
  if (clGetDeviceInfo(id, what, 0, nullptr, &size) != CL_SUCCESS || size == 0) return {};
  std::string text(size, 0);
  if (clGetDeviceInfo(id, what, size, text.data(), nullptr) != CL_SUCCESS) return {};
  return text.c_str();
}

template <class T> T device_value(cl_device_id id, cl_uint what) {
  T value{};
  return clGetDeviceInfo(id, what, sizeof value, &value, nullptr) == CL_SUCCESS ? value : T{};
}
template cl_bitfield device_value<cl_bitfield>(cl_device_id, cl_uint);
template cl_bool device_value<cl_bool>(cl_device_id, cl_uint);

Traits read_traits(cl_platform_id platform, cl_device_id id) {
  Traits traits;
  traits.platform = platform_text(platform, CL_PLATFORM_NAME);
  traits.platform_version = platform_text(platform, CL_PLATFORM_VERSION);
  traits.name = device_text(id, CL_DEVICE_NAME);
  traits.vendor = device_text(id, CL_DEVICE_VENDOR);
  traits.driver = device_text(id, CL_DRIVER_VERSION);
  // For tests of the kernels for GPUs, which any device can run, if slowly.
  const char* templates = std::getenv("HEADRACE_OPENCL_TEMPLATES");
  traits.is_cpu = device_value<cl_bitfield>(id, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU &&
                  !(templates && std::string(templates) == "gpu");
  traits.compute_units = std::max<int>(1, device_value<cl_uint>(id, CL_DEVICE_MAX_COMPUTE_UNITS));
  traits.preferred_vector_width =
      std::max<int>(1, device_value<cl_uint>(id, CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT));
  traits.native_vector_width =
      std::max<int>(1, device_value<cl_uint>(id, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT));
  traits.local_memory = device_value<cl_ulong>(id, CL_DEVICE_LOCAL_MEM_SIZE);
  traits.max_work_group =
      std::max<size_t>(1, device_value<size_t>(id, CL_DEVICE_MAX_WORK_GROUP_SIZE));
  clGetDeviceInfo(id, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof traits.max_work_item,
                  traits.max_work_item, nullptr);
  const std::string extensions = device_text(id, CL_DEVICE_EXTENSIONS);
  traits.nvidia = has_word(extensions, "cl_nv_device_attribute_query") &&
                  traits.platform.find("NVIDIA") != std::string::npos;
  traits.has_half = has_word(extensions, "cl_khr_fp16");
  traits.has_double = has_word(extensions, "cl_khr_fp64") ||
                      device_value<cl_bitfield>(id, CL_DEVICE_DOUBLE_FP_CONFIG) != 0;
  traits.has_int64_atomics = has_word(extensions, "cl_khr_int64_base_atomics") &&
                             has_word(extensions, "cl_khr_int64_extended_atomics");
  traits.rounds_divisions = device_value<cl_bitfield>(id, CL_DEVICE_SINGLE_FP_CONFIG) &
                            CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT;
  traits.memory = int64_t(device_value<cl_ulong>(id, CL_DEVICE_GLOBAL_MEM_SIZE));
  traits.max_alloc = int64_t(device_value<cl_ulong>(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE));
  traits.base_align = device_value<cl_uint>(id, CL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8;
  return traits;
}

// ---- devices
// --------------------------------------------------------------------------------------------

Device::Device(const Traits& known, cl_device_id id, cl_context context, cl_command_queue queue,
               cl_command_queue copies)
    : hr_device{}, traits(known), description(described(known)), id(id), context(context),
      stream(queue, copies, known.name),
      slabs(context, queue, known.is_cpu, known.max_alloc / Pool::kAlignment * Pool::kAlignment),
      pool(&slabs, &roots, known.memory), staging(context, &stream, known.name) {
  offer(*this);
  hr_device::description = description.c_str();
}

// The members end while the context exists: it is counted by what they hold.
Device::~Device() { clReleaseContext(context); }

std::unique_ptr<Device> open_device(cl_platform_id platform, cl_device_id id, std::string* error) {
  const Traits traits = read_traits(platform, id);
  if (!device_value<cl_bool>(id, CL_DEVICE_AVAILABLE)) {
    *error = "the driver says that it is not available";
    return nullptr;
  }
  if (!device_value<cl_bool>(id, CL_DEVICE_COMPILER_AVAILABLE)) {
    *error = "the driver has no compiler";
    return nullptr;
  }
  if (!device_value<cl_bool>(id, CL_DEVICE_ENDIAN_LITTLE)) {
    *error = "it is big-endian";
    return nullptr;
  }
  const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                              reinterpret_cast<cl_context_properties>(platform), 0};
  cl_int code = CL_SUCCESS;
  const cl_context context = clCreateContext(properties, 1, &id, nullptr, nullptr, &code);
  if (code != CL_SUCCESS) {
    *error = error_text(code, "create a context", traits.name);
    return nullptr;
  }
  const cl_command_queue queue =
      clCreateCommandQueue(context, id, CL_QUEUE_PROFILING_ENABLE, &code);
  // Copies out of memory that the host shares take no engine of their own.
  cl_command_queue copies = nullptr;
  if (code == CL_SUCCESS && !traits.is_cpu) {
    copies = clCreateCommandQueue(context, id, CL_QUEUE_PROFILING_ENABLE, &code);
    if (code != CL_SUCCESS) clReleaseCommandQueue(queue);
  }
  if (code != CL_SUCCESS) {
    clReleaseContext(context);
    *error = error_text(code, "create a queue", traits.name);
    return nullptr;
  }
  watch_forks();
  return std::make_unique<Device>(traits, id, context, queue, copies);
}

}  // namespace hr::cl
