#include "discovery/probe.hpp"

#include <condition_variable>
#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <string>
#include <vector>

#include "device/copies.hpp"
#include "launch/launch.hpp"

namespace hr::cl {

namespace {

// A context that keeps the error's text: a probe has no step.
struct ProbeContext : hr_ctx {
  hr_ctx_api functions{};
  std::string text;

  explicit ProbeContext(Device& on) : hr_ctx{} {
    functions.size = sizeof functions;
    functions.fail = fail;
    size = sizeof(hr_ctx);
    threads = 1;
    api = &functions;
    device = &on;
  }

 private:
  static hr_code fail(hr_ctx* ctx, hr_code code, const char* format, ...) {
    char buffer[1024];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(buffer, sizeof buffer, format, arguments);
    va_end(arguments);
    static_cast<ProbeContext*>(ctx)->text = buffer;
    return code;
  }
};

// Waits for a request to a device.
struct Waited {
  std::mutex mutex;
  std::condition_variable ended;
  bool done = false;
  Status status;

  static void end(void* self, int32_t code, const char* message) {
    auto* waited = static_cast<Waited*>(self);
    const std::lock_guard<std::mutex> hold(waited->mutex);
    waited->status = {code, message ? message : ""};
    waited->done = true;
    waited->ended.notify_all();
  }
  Status wait() {
    std::unique_lock<std::mutex> hold(mutex);
    ended.wait(hold, [&] { return done; });
    return status;
  }
};

constexpr int kItems = 256;

Status run(Device& device, void* data) {
  std::vector<int32_t> values(kItems);
  for (int i = 0; i < kItems; ++i) values[size_t(i)] = i;
  const int64_t bytes = kItems * int64_t(sizeof(int32_t));
  // Of the memory, the kernel gets the root and an offset that is not 0.
  char* first = static_cast<char*>(data) + Pool::kAlignment;
  Status status = copy_in(device, first, values.data(), bytes, nullptr, nullptr, nullptr);
  if (!status.ok()) return status;
  std::string error;
  const Kernel* kernel = find_kernel(device, "probe.cl", "", "probe", &error);
  if (!kernel) return {HR_INTERNAL, error};
  ProbeContext ctx(device);
  const size_t group = device.traits.is_cpu ? 16 : 64;
  const hr_code code = launch(&ctx, *kernel, Grid::of(kItems, group), In{first}, Out{first + bytes},
                              int32_t(kItems), int64_t(3));
  if (code != HR_OK) return {code, ctx.text};
  std::vector<int32_t> results(kItems, -1);
  Waited copied;
  status = copy_out(device, results.data(), first + bytes, bytes, nullptr, Waited::end, &copied);
  if (!status.ok()) return status;
  status = copied.wait();
  if (!status.ok()) return status;
  for (int i = 0; i < kItems; ++i)
    if (results[size_t(i)] != 3 * i + 1)
      return {HR_INTERNAL, "a test kernel gave " + std::to_string(results[size_t(i)]) +
                               " instead of " + std::to_string(3 * i + 1)};
  return {};
}

}  // namespace

Status probe(Device& device) {
  void* data =
      device.pool.allocate(Pool::kAlignment + 2 * kItems * int64_t(sizeof(int32_t)), "probe");
  if (!data) return {HR_RESOURCE_EXHAUSTED, device.pool.describe()};
  Status status = run(device, data);
  device.pool.release(data);
  device.stream.finish();
  device.pool.reset_peak();
  return status;
}

}  // namespace hr::cl
