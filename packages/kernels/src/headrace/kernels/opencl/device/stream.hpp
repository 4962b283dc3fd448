// The order of a device: its queue, who waits for its work, and when traced work ran.
#ifndef HEADRACE_OPENCL_DEVICE_STREAM_HPP
#define HEADRACE_OPENCL_DEVICE_STREAM_HPP

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>

#include "api/cl_types.hpp"
#include "api/status.hpp"
#include "device/clock.hpp"
#include "headrace/device.h"

namespace hr::cl {

// A piece of work that a profile follows. Made before the work is enqueued.
struct Traced {
  explicit Traced(hr_profile* profile, std::string what = {}, int64_t bytes = 0);

  // Where OpenCL puts the event; null if there is no profile.
  cl_event* event() { return profile ? &made : nullptr; }

  hr_profile* profile;
  int32_t entry;
  std::string what;
  int64_t bytes;
  int64_t before, after = 0;  // the call that enqueues, on the system clock
  cl_event made = nullptr;
  uint64_t number = 0;  // of the work in the queue, at most
};

class Stream {
 public:
  // copies: a queue beside the first for copies to the host; null: they take their turn in the
  // first.
  Stream(cl_command_queue queue, cl_command_queue copies, std::string device);
  ~Stream();
  Stream(const Stream&) = delete;

  cl_command_queue queue() const { return queue_; }

  // To be called after work was enqueued that nobody waits for.
  void enqueued(Traced& traced);
  void enqueued() { enqueued_.fetch_add(1, std::memory_order_acq_rel); }

  // Work that somebody waits for. `enqueue` is a function of a cl_event* that returns a cl_int. If
  // that is an error, nothing is enqueued, and `done` is not called.
  template <class Enqueue>
  Status enqueue_awaited(Traced traced, const char* action, hr_device_done done, void* argument,
                         Enqueue&& enqueue) {
    auto* request = new Awaited{this, std::move(traced), action, done, argument, 0, false};
    const uint64_t before = enqueued_.load(std::memory_order_acquire);
    cl_event event = nullptr;
    const cl_int error = enqueue(&event);
    if (error != CL_SUCCESS) {
      delete request;
      return failed(error, action, device_);
    }
    wait_for(request, event, before);
    return {};
  }

  // The same for a copy to the host, which waits for all work so far, and for which no later work
  // waits: its source must live, and not be written, until `done`. `enqueue` is a function of a
  // queue, the number of events to wait for, these events, and a cl_event*.
  template <class Enqueue>
  Status enqueue_copy_out(Traced traced, const char* action, hr_device_done done, void* argument,
                          Enqueue&& enqueue) {
    if (!copies_)
      return enqueue_awaited(std::move(traced), action, done, argument, [&](cl_event* event) {
        return enqueue(queue_, 0u, static_cast<const cl_event*>(nullptr), event);
      });
    auto* request = new Awaited{this, std::move(traced), action, done, argument, 0, true};
    request->number = enqueued_.load(std::memory_order_acquire);
    cl_event event = nullptr, work = nullptr;
    cl_int error = idle() ? CL_SUCCESS : mark(&work);
    if (error == CL_SUCCESS) error = enqueue(copies_, cl_uint(work != nullptr), &work, &event);
    release(work);
    if (error != CL_SUCCESS) {
      delete request;
      return failed(error, action, device_);
    }
    copying_.fetch_add(1, std::memory_order_acq_rel);
    call_at_end(request, event);
    return {};
  }

  // Whether all work in the first queue has ended, as far as this is known without asking the
  // driver.
  bool idle() const {
    return completed_.load(std::memory_order_acquire) == enqueued_.load(std::memory_order_acquire);
  }

  // Calls done once all work so far has ended, also if it cannot be waited for.
  void notify(hr_device_done done, void* argument);
  void flush();
  // Waits for all work so far.
  Status finish();

 private:
  struct Awaited {
    Stream* stream;
    Traced traced;
    const char* action;
    hr_device_done done;
    void* argument;
    uint64_t number;
    bool beside;  // in the queue of copies
  };

  cl_int mark(cl_event* work);
  static void release(cl_event event);
  void call_at_end(Awaited* request, cl_event event);
  void wait_for(Awaited* request, cl_event event, uint64_t before);
  void complete(Awaited* request, cl_event event, cl_int status);
  void completed_until(uint64_t number);
  void compare_clocks(const Traced& traced);
  void report(Traced& traced);

  const cl_command_queue queue_;
  const cl_command_queue copies_;
  const std::string device_;
  // How much work was enqueued, counted after the call: what is counted before another piece is
  // enqueued precedes it in the queue.
  std::atomic<uint64_t> enqueued_{0};
  std::atomic<uint64_t> completed_{0};
  std::atomic<int64_t> copying_{0};  // copies in the queue beside

  // Held while profiles are called: what waits for traced work must not end before.
  std::mutex tracing_;
  std::deque<Traced> traced_;
  DeviceClock clock_;
};

}  // namespace hr::cl

#endif
