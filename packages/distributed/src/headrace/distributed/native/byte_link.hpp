// A link over bytes: frames are written into parcels and read by a parser. What moves the bytes is a
// subclass.
#pragma once
#include <deque>
#include <mutex>
#include <string>
#include <utility>

#include "native/clock.hpp"
#include "native/frame_parser.hpp"
#include "native/link.hpp"
#include "native/parcel.hpp"
#include "native/shared_blocks.hpp"

namespace headrace::distributed {

class ByteLink : public Link, protected FrameSink {
 public:
  ByteLink(std::shared_ptr<Receiver> receiver, bool shared_memory)
      : receiver_(receiver), memory_(receiver->memory()), shared_(shared_memory), parser_(*this) {
    last_heard_ns = now_ns();
  }

  void send(const Message* messages, size_t n) override {
    if (dead.load(std::memory_order_relaxed)) return;
    Parcel parcel;
    for (size_t i = 0; i < n; ++i) {
      if (!shared_ || !messages[i].value || messages[i].value->bytes < kSharedFrom ||
          messages[i].value->dtype == HR_STRING || !add_shared(parcel, messages[i]))
        parcel.add(messages[i], memory_);
      counts.frames_sent.fetch_add(1, std::memory_order_relaxed);
    }
    submit(std::move(parcel));
  }

 protected:
  // Takes a parcel for writing; any thread.
  virtual void submit(Parcel&& parcel) = 0;
  // The descriptor that came with the last bytes, in order; -1: none.
  virtual int take_descriptor() { return -1; }

  // What the peer sent: null, or why the link must end. One thread at a time.
  const char* received(const char* data, size_t n) {
    last_heard_ns.store(now_ns(), std::memory_order_relaxed);
    counts.bytes_received.fetch_add(int64_t(n), std::memory_order_relaxed);
    const char* error = parser_.consume(data, n);
    return error ? error : error_;
  }
  FrameParser& parser() { return parser_; }

  // ---- FrameSink
  const Memory* sink_memory() override { return memory_; }
  uint64_t sink_limit() override {
    auto receiver = receiver_.lock();
    return receiver ? receiver->max_tensor_bytes() : 0;
  }
  bool sink_wants(const FrameHeader& header) override {
    auto receiver = receiver_.lock();
    return receiver && receiver->wants(header);
  }
  void sink_no_memory(const FrameHeader& header, int64_t bytes) override {
    if (auto receiver = receiver_.lock()) receiver->on_no_memory(shared_from_this(), header, bytes);
  }
  const char* sink_block(uint64_t block, int64_t bytes, Value* value) override {
    if (!shared_) return "a tensor in shared memory, which this link has not";
    return received_blocks_.use(block, bytes, memory_, value);
  }
  void sink_frame(const FrameHeader& header, Value&& value, std::string&& text) override {
    counts.frames_received.fetch_add(1, std::memory_order_relaxed);
    switch (header.type) {
      case FrameType::kPing: {
        Message pong;
        pong.header.type = FrameType::kPong;
        return send(&pong, 1);
      }
      case FrameType::kPong: return;
      case FrameType::kBye: return close("the peer was stopped");
      case FrameType::kBlock: {
        const int fd = take_descriptor();
        if (!shared_ || fd < 0) {
          error_ = "a block of shared memory without its descriptor";
        } else {
          const char* error = received_blocks_.add(uint64_t(header.edge), header.extra, fd);
          if (error) error_ = error;
        }
        if (fd >= 0) ::close(fd);
        return;
      }
      case FrameType::kDropBlock: return received_blocks_.drop(uint64_t(header.edge));
      default:
        if (auto receiver = receiver_.lock())
          receiver->on_frame(shared_from_this(), header, std::move(value), std::move(text));
    }
  }

  // Reports the end once.
  void report_lost(const std::string& reason) {
    if (reported_.exchange(true)) return;
    if (auto receiver = receiver_.lock()) receiver->on_lost(shared_from_this(), reason);
  }

  std::weak_ptr<Receiver> receiver_;
  const Memory* memory_;
  const bool shared_;

 private:
  bool add_shared(Parcel& parcel, const Message& message) {
    SendBlocks::Taken taken;
    {
      std::lock_guard<std::mutex> hold(blocks_lock_);
      taken = send_blocks_.take(message.value->bytes);
      // A block is announced before any other thread can use it.
      if (taken.new_fd >= 0 || !taken.dropped.empty()) {
        Parcel news;
        for (uint64_t dropped : taken.dropped) news.add_drop(dropped);
        if (taken.new_fd >= 0) news.add_block(taken.number, taken.capacity, taken.new_fd);
        submit(std::move(news));
      }
    }
    if (!taken.elements) return false;
    std::memcpy(taken.elements, message.value->data, size_t(message.value->bytes));
    counts.shared_bytes_sent.fetch_add(message.value->bytes, std::memory_order_relaxed);
    parcel.add_shared(message, taken.number);
    return true;
  }

  FrameParser parser_;
  std::mutex blocks_lock_;
  SendBlocks send_blocks_;
  ReceivedBlocks received_blocks_;
  const char* error_ = nullptr;
  std::atomic<bool> reported_{false};
};

}  // namespace headrace::distributed
