// What endpoint.pyx uses beyond the endpoint: making one, and waiting for a value.
#pragma once
#include "native/endpoint_frames.hpp"

namespace headrace::distributed {

inline std::shared_ptr<Endpoint> make_endpoint(std::string name, uint64_t incarnation,
                                               hr_worker* worker, int64_t heartbeat_ns,
                                               int64_t dead_after_ns, uint64_t max_tensor_bytes) {
  return std::make_shared<Endpoint>(std::move(name), incarnation, worker, heartbeat_ns,
                                    dead_after_ns, max_tensor_bytes);
}

// A value that a thread waits for.
struct Arrival {
  std::mutex lock;
  std::condition_variable changed;
  bool here = false;
  hr_code code = HR_OK;
  std::string message;
  Value value;
  int32_t dead = 0;

  bool wait(int64_t until_ns) {
    std::unique_lock<std::mutex> hold(lock);
    return changed.wait_until(
        hold, std::chrono::steady_clock::time_point(std::chrono::nanoseconds(until_ns)),
        [this] { return here; });
  }
};

inline std::shared_ptr<Arrival> receive(WorkerStep& step, const hr_edge_key& key) {
  auto arrival = std::make_shared<Arrival>();
  struct Context {
    std::shared_ptr<Arrival> arrival;
    const Memory* memory;
  };
  auto* context = new Context{arrival, step.memory()};
  step.recv(
      key,
      [](void* argument, hr_code code, const char* message, hr_tensor* value, int32_t dead) {
        std::unique_ptr<Context> context(static_cast<Context*>(argument));
        Arrival& arrival = *context->arrival;
        std::lock_guard<std::mutex> hold(arrival.lock);
        arrival.code = code;
        arrival.message = message;
        arrival.dead = dead;
        if (value && !dead) {
          arrival.value.tensor = *value;
          arrival.value.memory = context->memory;
          value->owner = nullptr;
        }
        arrival.here = true;
        arrival.changed.notify_all();
      },
      context);
  return arrival;
}

}  // namespace headrace::distributed
