// What the Cython modules use beyond the endpoint: making one, and waiting for a value.
#pragma once
#include "native/endpoint_links.hpp"
#include "native/endpoint_master.hpp"
#include "native/endpoint_worker.hpp"

namespace headrace::distributed {

inline std::shared_ptr<Endpoint> make_endpoint(std::string name, uint64_t incarnation,
                                               hr_worker* worker, std::shared_ptr<void> owner,
                                               int64_t heartbeat_ns, int64_t dead_after_ns,
                                               uint64_t max_tensor_bytes) {
  return std::make_shared<Endpoint>(std::move(name), incarnation, worker, std::move(owner),
                                    heartbeat_ns, dead_after_ns, max_tensor_bytes);
}

// Keeps an object for ever, in a forked child: the threads that the object waits for, and those
// that hold its locks, are the parent's.
template <typename T> void leak(std::shared_ptr<T>& object) {
  if (object) new std::shared_ptr<T>(std::move(object));
}

// A value that a thread waits for.
struct Arrival {
  std::mutex lock;
  std::condition_variable changed;
  bool here = false;
  Failure failure;
  Value value;
  int32_t dead = 0;

  bool wait(int64_t until_ns) {
    std::unique_lock<std::mutex> hold(lock);
    return changed.wait_until(
        hold, std::chrono::steady_clock::time_point(std::chrono::nanoseconds(until_ns)),
        [this] { return here; });
  }
};

class Receive {
 public:
  // Waits for a value of a step until then. Null: time is over, and the value stays.
  static std::shared_ptr<Arrival> wait(WorkerStep& step, const hr_edge_key& key, int64_t until_ns) {
    auto arrival = std::make_shared<Arrival>();
    auto* receive = new Receive{arrival, step.memory()};
    step.recv(key, done, receive);
    if (arrival->wait(until_ns)) return arrival;
    if (step.forget(key, receive)) {
      delete receive;
      return nullptr;
    }
    arrival->wait(INT64_MAX / 2);  // it is being reported
    return arrival;
  }

 private:
  Receive(std::shared_ptr<Arrival> arrival, const Memory* memory)
      : arrival_(std::move(arrival)), memory_(memory) {}

  static void done(void* argument, hr_code code, const char* message, hr_tensor* value,
                   int32_t dead) {
    std::unique_ptr<Receive> receive(static_cast<Receive*>(argument));
    Arrival& arrival = *receive->arrival_;
    std::lock_guard<std::mutex> hold(arrival.lock);
    arrival.failure.set(code, message);
    arrival.dead = dead;
    if (value && !dead) {
      arrival.value.tensor = *value;
      arrival.value.memory = receive->memory_;
      value->owner = nullptr;
    }
    arrival.here = true;
    arrival.changed.notify_all();
  }

  std::shared_ptr<Arrival> arrival_;
  const Memory* memory_;
};

}  // namespace headrace::distributed
