#include "launch/launch.hpp"

#include <cstdio>
#include <cstring>

#include "api/loader.hpp"
#include "device/copies.hpp"
#include "device/fork_guard.hpp"
#include "programs/program_store.hpp"
#include "programs/source_files.hpp"

namespace hr::cl {

namespace {

hr_code report(hr_ctx* ctx, const Status& status) {
  return status.ok() ? HR_OK : hr_ctx_fail(ctx, status.code, "%s", status.text.c_str());
}

std::string sizes_text(const Grid& grid, const size_t (&sizes)[3]) {
  std::string text = "[";
  for (int i = 0; i < grid.dimensions; ++i) text += (i ? ", " : "") + std::to_string(sizes[i]);
  return text + "]";
}

// Sets OpenCL arguments in order, except for those that are set already.
class Setter {
 public:
  explicit Setter(const Kernel& kernel) : kernel_(kernel) {}

  cl_int memory(const void* data) {
    Root root;
    if (data && !kernel_.device.roots.find(data, &root)) return CL_INVALID_MEM_OBJECT;
    if (next_ >= kernel_.arguments.size()) return CL_INVALID_ARG_INDEX;
    Kernel::Set& known = kernel_.arguments[next_];
    if (known.id != root.id || root.id == 0) {
      known.id = 0;
      const cl_int code = clSetKernelArg(kernel_.kernel, cl_uint(next_), sizeof(cl_mem),
                                         data ? &root.memory : nullptr);
      if (code != CL_SUCCESS) return code;
      known.id = root.id;
    }
    ++next_;
    const uint64_t offset = data ? reinterpret_cast<uintptr_t>(data) - root.base : 0;
    return value(&offset, sizeof offset);
  }

  cl_int value(const void* data, size_t bytes) {
    if (next_ >= kernel_.arguments.size()) return CL_INVALID_ARG_INDEX;
    std::string& known = kernel_.arguments[next_].value;
    if (known.size() == bytes && std::memcmp(known.data(), data, bytes) == 0) {
      ++next_;
      return CL_SUCCESS;
    }
    known.clear();
    const cl_int code = clSetKernelArg(kernel_.kernel, cl_uint(next_), bytes, data);
    if (code == CL_SUCCESS) known.assign(static_cast<const char*>(data), bytes);
    ++next_;
    return code;
  }

  cl_int local(size_t bytes) {
    if (next_ >= kernel_.arguments.size()) return CL_INVALID_ARG_INDEX;
    return clSetKernelArg(kernel_.kernel, cl_uint(next_++), bytes, nullptr);
  }

  size_t next() const { return next_; }

 private:
  const Kernel& kernel_;
  size_t next_ = 0;
};

cl_int set(Setter& setter, const Argument& argument) {
  switch (argument.kind) {
    case Argument::kMemory: return setter.memory(argument.data);
    case Argument::kLocal: return setter.local(argument.bytes);
    default: return setter.value(argument.data, argument.bytes);
  }
}

hr_code launch_failed(hr_ctx* ctx, const Kernel& kernel, const Grid& grid, cl_int code) {
  return hr_ctx_fail(ctx, code_of(code),
                     "enqueue kernel '%s' with %s items in groups of %s: %s on %s",
                     kernel.function.c_str(), sizes_text(grid, grid.global).c_str(),
                     sizes_text(grid, grid.local).c_str(), error_name(code).c_str(),
                     kernel.device.traits.name.c_str());
}

}  // namespace

const Kernel* find_kernel(Device& device, const char* source, const std::string& defines,
                          const char* function, std::string* error) {
  const std::string* before = prelude(error);
  const std::string* text = before ? source_file(source, error) : nullptr;
  if (!text) return nullptr;
  return ProgramStore::of(device).find(source, *before + *text, defines, function, error);
}

const Kernel* generated_kernel(Device& device, const std::string& text, const std::string& options,
                               const char* function, std::string* error) {
  const std::string* before = prelude(error);
  if (!before) return nullptr;
  std::string all = *before + text;
  if (!with_included_files(&all, error)) return nullptr;
  return ProgramStore::of(device).find(std::string("a program for ") + function, all, options,
                                       function, error);
}

size_t max_work_group(const Kernel& kernel) { return kernel.max_work_group; }
size_t local_memory(const Kernel& kernel) { return kernel.local_memory; }

hr_code launch_arguments(hr_ctx* ctx, const Kernel& kernel, const Grid& grid,
                         const Argument* arguments, int n) {
  for (int i = 0; i < grid.dimensions; ++i)
    if (grid.global[i] == 0) return HR_OK;
  if (devices_are_lost()) return report(ctx, lost());
  Stream& stream = kernel.device.stream;
  Traced traced(ctx->profile, ctx->profile ? kernel.function : std::string());
  {
    const std::lock_guard<std::mutex> hold(kernel.mutex);
    Setter setter(kernel);
    for (int i = 0; i < n; ++i) {
      const cl_int code = set(setter, arguments[i]);
      if (code != CL_SUCCESS)
        return hr_ctx_fail(ctx, code_of(code), "argument %d of kernel '%s': %s on %s", i,
                           kernel.function.c_str(), error_name(code).c_str(),
                           kernel.device.traits.name.c_str());
    }
    if (setter.next() != kernel.arguments.size())
      return hr_ctx_fail(ctx, HR_INTERNAL, "kernel '%s' has %d OpenCL arguments, got %d",
                         kernel.function.c_str(), int(kernel.arguments.size()), int(setter.next()));
    const cl_int code = clEnqueueNDRangeKernel(
        stream.queue(), kernel.kernel, cl_uint(grid.dimensions), nullptr, grid.global,
        grid.local[0] ? grid.local : nullptr, 0, nullptr, traced.event());
    if (code != CL_SUCCESS) return launch_failed(ctx, kernel, grid, code);
  }
  stream.enqueued(traced);
  return HR_OK;
}

hr_code copy(hr_ctx* ctx, Out to, In from, int64_t bytes) {
  return report(ctx, copy_within(device_of(ctx), to.data, from.data, bytes, ctx->profile));
}

hr_code fill(hr_ctx* ctx, Out to, const void* pattern, size_t pattern_bytes, int64_t bytes) {
  return report(ctx, fill(device_of(ctx), to.data, pattern, pattern_bytes, bytes, ctx->profile));
}

hr_code write(hr_ctx* ctx, Out to, const void* from, int64_t bytes) {
  return report(ctx, copy_in(device_of(ctx), to.data, from, bytes, ctx->profile, nullptr, nullptr));
}

}  // namespace hr::cl
