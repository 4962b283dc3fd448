// Host memory in which copies to a device wait for their turn, so that the caller need not.
#ifndef HEADRACE_OPENCL_DEVICE_STAGING_HPP
#define HEADRACE_OPENCL_DEVICE_STAGING_HPP

#include <cstdint>
#include <deque>
#include <mutex>

#include "api/cl_types.hpp"
#include "api/status.hpp"
#include "device/stream.hpp"
#include "memory/roots.hpp"

namespace hr::cl {

// A ring of memory that the device reads fast (pinned). A copy that is larger than what is free
// waits until the device has read parts of earlier ones.
class Staging {
 public:
  Staging(cl_context context, Stream* stream, const std::string& device)
      : context_(context), stream_(stream), device_(device) {}
  ~Staging();
  Staging(const Staging&) = delete;

  // Copies bytes that are read before it returns.
  Status write(const Root& root, uint64_t offset, const void* from, int64_t bytes,
               hr_profile* profile);

 private:
  static constexpr size_t kBytes = 16 << 20;
  static constexpr size_t kPiece = 4 << 20;

  Status open();
  Status make_room(size_t bytes);
  Status drop_oldest();

  const cl_context context_;
  Stream* const stream_;
  const std::string device_;

  struct Piece {
    cl_event read;
    size_t end;
  };
  std::mutex mutex_;
  cl_mem memory_ = nullptr;
  char* ring_ = nullptr;
  size_t begin_ = 0;  // the oldest byte in use
  size_t end_ = 0;    // the first byte free
  std::deque<Piece> pieces_;
};

}  // namespace hr::cl

#endif
