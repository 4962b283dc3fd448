#include "device/staging.hpp"

#include <algorithm>
#include <cstring>

#include "api/loader.hpp"

namespace hr::cl {

Staging::~Staging() {
  while (!pieces_.empty()) drop_oldest();
  if (memory_) clReleaseMemObject(memory_);
}

Status Staging::open() {
  cl_int error;
  memory_ =
      clCreateBuffer(context_, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, kBytes, nullptr, &error);
  if (error != CL_SUCCESS) return failed(error, "allocate memory for copies", device_);
  void* mapped = clEnqueueMapBuffer(stream_->queue(), memory_, CL_TRUE, CL_MAP_WRITE, 0, kBytes, 0,
                                    nullptr, nullptr, &error);
  if (error != CL_SUCCESS) {
    clReleaseMemObject(memory_);
    memory_ = nullptr;
    return failed(error, "map memory for copies", device_);
  }
  ring_ = static_cast<char*>(mapped);
  return {};
}

// Waits until the device has read the oldest piece.
Status Staging::drop_oldest() {
  const Piece piece = pieces_.front();
  pieces_.pop_front();
  const cl_int error = clWaitForEvents(1, &piece.read);
  clReleaseEvent(piece.read);
  begin_ = piece.end;
  if (pieces_.empty()) begin_ = end_ = 0;
  return error == CL_SUCCESS ? Status() : failed(error, "copy to the device", device_);
}

// Makes [end_, end_ + bytes) free. The oldest pieces lie from begin_ on; end_ is before begin_ once
// the newest have started over at 0, and never meets it.
Status Staging::make_room(size_t bytes) {
  for (;;) {
    if (pieces_.empty()) return {};
    if (end_ >= begin_) {
      if (end_ + bytes <= kBytes) return {};
      if (bytes < begin_) {
        end_ = 0;
        return {};
      }
    } else if (end_ + bytes < begin_) {
      return {};
    }
    if (Status status = drop_oldest(); !status.ok()) return status;
  }
}

Status Staging::write(const Root& root, uint64_t offset, const void* from, int64_t bytes,
                      hr_profile* profile) {
  const std::lock_guard<std::mutex> hold(mutex_);
  if (!ring_)
    if (Status status = open(); !status.ok()) return status;
  const char* rest = static_cast<const char*>(from);
  for (size_t left = size_t(bytes); left > 0;) {
    const size_t n = std::min(left, kPiece);
    if (Status status = make_room(n); !status.ok()) return status;
    std::memcpy(ring_ + end_, rest, n);
    Traced traced(profile, "copy to device", int64_t(n));
    cl_event read = nullptr;
    const cl_int error = clEnqueueWriteBuffer(stream_->queue(), root.memory, CL_FALSE, offset, n,
                                              ring_ + end_, 0, nullptr, &read);
    if (error != CL_SUCCESS) return failed(error, "copy to the device", device_);
    if (profile) {
      clRetainEvent(read);
      traced.made = read;
    }
    stream_->enqueued(traced);
    end_ += n;
    pieces_.push_back({read, end_});
    rest += n;
    offset += n;
    left -= n;
  }
  return {};
}

}  // namespace hr::cl
