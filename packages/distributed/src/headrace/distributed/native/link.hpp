// A link to the endpoint of another task: an ordered, reliable way for frames. What carries them is
// a socket, a stream of another library's, or (within a process) a call.
#pragma once
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>

#include "native/frame.hpp"
#include "native/memory.hpp"

namespace headrace::distributed {

struct Message {
  FrameHeader header;                // `length` is filled in
  const hr_tensor* value = nullptr;  // it has an owner, of the sender's memory
  const char* text = nullptr;
  size_t text_size = 0;
};

struct LinkCounts {
  std::atomic<int64_t> frames_sent{0}, bytes_sent{0}, shared_bytes_sent{0}, frames_received{0},
      bytes_received{0};
};

// Values that wait on a link, or for the order to run their step, may take half of the memory of
// the machine: beyond it, what waits is given up before the machine is.
inline int64_t waiting_limit() {
  static const int64_t limit = int64_t(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE) / 2;
  return limit;
}

class Link : public std::enable_shared_from_this<Link> {
 public:
  virtual ~Link() = default;

  // Hands over messages, in order; returns without waiting for the peer. After std::bad_alloc, none
  // or (within a process) the first ones have passed. On a dead link they are dropped: whoever
  // depends on the link learns of its end by Receiver::on_lost.
  virtual void send(const Message* messages, size_t n) = 0;
  virtual const char* plane() const = 0;

  // Ends the link; the first reason counts. The endpoint's I/O thread reports the loss.
  void fail(const char* reason) noexcept {
    {
      std::lock_guard<std::mutex> hold(reason_lock_);
      if (!reason_[0]) std::snprintf(reason_, sizeof reason_, "%s", reason);
    }
    if (!dead.exchange(true)) stop();
  }
  std::string reason() {
    std::lock_guard<std::mutex> hold(reason_lock_);
    return reason_;
  }

  // The I/O thread, once, before it reports the loss: gives back what the link holds.
  virtual void release() noexcept {}
  // The heartbeat thread. `judge`: whether silence is the peer's fault.
  virtual void beat(int64_t /*now*/, int64_t /*dead_after_ns*/, bool /*judge*/) {}

  int64_t number = 0;
  uint64_t peer = 0;  // the incarnation of the other side
  std::string peer_name;
  std::atomic<bool> dead{false};
  std::atomic<int64_t> last_heard_ns{0};
  LinkCounts counts;
  int64_t early = 0;  // under the endpoint's lock: steps and calls that wait for their order to run

 protected:
  // Makes the I/O thread look at the dead link.
  virtual void stop() noexcept = 0;

 private:
  std::mutex reason_lock_;
  char reason_[256] = "";
};

typedef std::shared_ptr<Link> LinkRef;

// Sends a frame that may not get lost: without memory it goes without its text, and if not even
// that is possible, the link ends.
inline void send_surely(Link& link, Message message) noexcept {
  for (int attempt = 0; attempt < 2; ++attempt) {
    try {
      return link.send(&message, 1);
    } catch (const std::exception&) {
      message.text = nullptr;
      message.text_size = 0;
    }
  }
  link.fail("there is no memory to send a frame");
}

// What a link reports to, from any thread.
class Receiver {
 public:
  virtual ~Receiver() = default;
  virtual const Memory* memory() const = 0;
  virtual uint64_t max_tensor_bytes() const = 0;
  // Whether a tensor is for a step that still runs; otherwise its elements are skipped.
  virtual bool wants(const FrameHeader&) = 0;
  virtual void on_frame(const LinkRef&, const FrameHeader&, Value&&, std::string&& text) = 0;
  // A frame came for which there is no memory.
  virtual void on_no_memory(const LinkRef&, const FrameHeader&, int64_t bytes) noexcept = 0;
  // A link is dead; the I/O thread is to report it.
  virtual void on_dead() noexcept = 0;
};

}  // namespace headrace::distributed
