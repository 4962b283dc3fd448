// A link to the endpoint of another task: an ordered, reliable way for frames. What carries them is
// a socket, a stream of another library's, or (within a process) a call.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "native/frame.hpp"
#include "native/memory.hpp"

namespace headrace::distributed {

struct Message {
  FrameHeader header;  // `length` is filled in
  const hr_tensor* value = nullptr;  // it has an owner, of the sender's memory
  const char* text = nullptr;
  size_t text_size = 0;
};

struct LinkCounts {
  std::atomic<int64_t> frames_sent{0}, bytes_sent{0}, shared_bytes_sent{0}, frames_received{0},
      bytes_received{0};
};

class Link : public std::enable_shared_from_this<Link> {
 public:
  virtual ~Link() = default;
  // Hands over messages, in order; returns without waiting for the peer. On a dead link they are
  // dropped: whoever depends on the link learns of its end by Receiver::on_lost.
  virtual void send(const Message* messages, size_t n) = 0;
  // Ends the link; on_lost follows, from any thread.
  virtual void close(const std::string& reason) = 0;
  virtual const char* plane() const = 0;

  int64_t number = 0;
  uint64_t peer = 0;  // the incarnation of the other side
  std::string peer_name;
  std::atomic<bool> dead{false};
  std::atomic<int64_t> last_heard_ns{0}, last_ping_ns{0};
  LinkCounts counts;
};

typedef std::shared_ptr<Link> LinkRef;

// What a link reports to, from any thread.
class Receiver {
 public:
  virtual ~Receiver() = default;
  virtual const Memory* memory() const = 0;
  virtual uint64_t max_tensor_bytes() const = 0;
  // Whether a tensor is for a step that still runs; otherwise its elements are skipped.
  virtual bool wants(const FrameHeader&) = 0;
  virtual void on_frame(const LinkRef&, const FrameHeader&, Value&&, std::string&& text) = 0;
  // A tensor came for which there is no memory.
  virtual void on_no_memory(const LinkRef&, const FrameHeader&, int64_t bytes) = 0;
  virtual void on_lost(const LinkRef&, const std::string& reason) = 0;
};

}  // namespace headrace::distributed
