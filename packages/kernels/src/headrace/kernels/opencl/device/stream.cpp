#include "device/stream.hpp"

#include <algorithm>
#include <utility>

#include "api/loader.hpp"

namespace hr::cl {

Traced::Traced(hr_profile* profile, std::string what, int64_t bytes)
    : profile(profile), entry(profile ? profile->entry : 0), what(std::move(what)), bytes(bytes),
      before(profile ? system_time_ns() : 0) {}

Stream::Stream(cl_command_queue queue, cl_command_queue copies, std::string device)
    : queue_(queue), copies_(copies), device_(std::move(device)) {}

Stream::~Stream() {
  for (const cl_command_queue queue : {queue_, copies_}) {
    if (!queue) continue;
    clFinish(queue);
    clReleaseCommandQueue(queue);
  }
}

void Stream::enqueued(Traced& traced) {
  if (!traced.made) return enqueued();
  traced.after = system_time_ns();
  const std::lock_guard<std::mutex> hold(tracing_);
  traced.number = enqueued_.fetch_add(1, std::memory_order_acq_rel) + 1;
  traced_.push_back(std::move(traced));
}

// ---- the end of work
// --------------------------------------------------------------------------------

void Stream::wait_for(Awaited* request, cl_event event, uint64_t before) {
  const uint64_t counted = enqueued_.fetch_add(1, std::memory_order_acq_rel);
  // Its end is that of everything counted before, and of itself unless others came between.
  request->number = counted == before ? before + 1 : before;
  call_at_end(request, event);
}

void Stream::call_at_end(Awaited* request, cl_event event) {
  request->traced.after = request->traced.profile ? system_time_ns() : 0;
  const auto ended = [](cl_event of, cl_int status, void* argument) {
    auto* awaited = static_cast<Awaited*>(argument);
    awaited->stream->complete(awaited, of, status);
  };
  if (clSetEventCallback(event, CL_COMPLETE, ended, request) == CL_SUCCESS) return;
  // Without callbacks there is only waiting.
  complete(request, event, clWaitForEvents(1, &event));
}

void Stream::complete(Awaited* request, cl_event event, cl_int status) {
  completed_until(request->number);
  if (request->traced.profile && status >= 0) {
    const std::lock_guard<std::mutex> hold(tracing_);
    request->traced.made = event;
    compare_clocks(request->traced);
    report(request->traced);
  } else {
    clReleaseEvent(event);
  }
  if (request->beside) copying_.fetch_sub(1, std::memory_order_acq_rel);
  const hr_device_done done = request->done;
  void* argument = request->argument;
  const std::string text = status < 0 ? error_text(status, request->action, device_) : "";
  delete request;
  done(argument, status < 0 ? code_of(status) : HR_OK, text.c_str());
}

void Stream::completed_until(uint64_t number) {
  {
    const std::lock_guard<std::mutex> hold(tracing_);
    for (const Traced& traced : traced_) {
      if (traced.number > number) break;
      compare_clocks(traced);
    }
    while (!traced_.empty() && traced_.front().number <= number) {
      report(traced_.front());
      traced_.pop_front();
    }
  }
  uint64_t known = completed_.load(std::memory_order_relaxed);
  while (known < number &&
         !completed_.compare_exchange_weak(known, number, std::memory_order_acq_rel)) {}
}

static bool read_time(const Traced& traced, cl_uint what, cl_ulong* time) {
  return clGetEventProfilingInfo(traced.made, what, sizeof *time, time, nullptr) == CL_SUCCESS;
}

void Stream::compare_clocks(const Traced& traced) {
  cl_ulong queued = 0;
  if (read_time(traced, CL_PROFILING_COMMAND_QUEUED, &queued))
    clock_.observe(traced.before, traced.after, queued);
}

// Tells a profile when work ran; the event ends here.
void Stream::report(Traced& traced) {
  cl_ulong start = 0, end = 0;
  if (read_time(traced, CL_PROFILING_COMMAND_START, &start) &&
      read_time(traced, CL_PROFILING_COMMAND_END, &end))
    traced.profile->add(traced.profile, traced.entry, traced.what.c_str(),
                        clock_.system_time(start), clock_.system_time(std::max(start, end)),
                        traced.bytes);
  clReleaseEvent(traced.made);
  traced.made = nullptr;
}

// ---- both queues
// ------------------------------------------------------------------------------------------

cl_int Stream::mark(cl_event* work) {
  const cl_int error = clEnqueueMarkerWithWaitList(queue_, 0, nullptr, work);
  // What another queue waits for must be on its way: a driver may wait in the call that says so.
  if (error == CL_SUCCESS) clFlush(queue_);
  return error;
}

void Stream::release(cl_event event) {
  if (event) clReleaseEvent(event);
}

namespace {

// Who waits for the ends of both queues, and the first error.
struct BothQueues {
  hr_device_done done;
  void* argument;
  std::mutex mutex;
  int left = 2;
  int32_t code = HR_OK;
  std::string text;
};

void one_queue_ended(void* argument, int32_t code, const char* message) {
  auto* both = static_cast<BothQueues*>(argument);
  {
    const std::lock_guard<std::mutex> hold(both->mutex);
    if (code && !both->code) {
      both->code = code;
      both->text = message;
    }
    if (--both->left) return;
  }
  both->done(both->argument, both->code, both->text.c_str());
  delete both;
}

}  // namespace

void Stream::notify(hr_device_done done, void* argument) {
  const bool copies = copying_.load(std::memory_order_acquire) > 0;
  if (!copies && idle()) return done(argument, HR_OK, "");
  if (copies) {
    argument = new BothQueues{done, argument, {}, 2, HR_OK, {}};
    done = one_queue_ended;
    auto* request = new Awaited{this, Traced(nullptr), "work", done, argument, 0, false};
    cl_event event = nullptr;
    if (const cl_int error = clEnqueueMarkerWithWaitList(copies_, 0, nullptr, &event)) {
      delete request;
      done(argument, code_of(error), error_text(error, "work", device_).c_str());
    } else {
      call_at_end(request, event);
    }
  }
  const Status status = enqueue_awaited(Traced(nullptr), "work", done, argument,
                                        [&](cl_event* event) { return mark(event); });
  if (!status.ok()) done(argument, status.code, status.text.c_str());
  flush();
}

// Copies wait for the first queue, so that goes first.
void Stream::flush() {
  clFlush(queue_);
  if (copies_) clFlush(copies_);
}

Status Stream::finish() {
  const uint64_t before = enqueued_.load(std::memory_order_acquire);
  cl_int error = clFinish(queue_);
  if (error == CL_SUCCESS && copies_) error = clFinish(copies_);
  if (error != CL_SUCCESS) return failed(error, "wait for work", device_);
  completed_until(before);
  return {};
}

}  // namespace hr::cl
