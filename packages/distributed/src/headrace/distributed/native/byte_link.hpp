// A link over bytes: frames are written into parcels and read by a parser. What moves the bytes is
// a subclass.
#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "native/clock.hpp"
#include "native/frame_parser.hpp"
#include "native/link.hpp"
#include "native/parcel.hpp"
#include "native/shared_blocks.hpp"

namespace headrace::distributed {

class ByteLink : public Link, protected FrameSink {
 public:
  ByteLink(const std::shared_ptr<Receiver>& receiver, bool shared_memory)
      : receiver_(receiver), memory_(receiver->memory()), limit_(receiver->max_tensor_bytes()),
        shared_(shared_memory), parser_(*this) {
    last_heard_ns = now_ns();
  }

  void send(const Message* messages, size_t n) override {
    if (dead.load(std::memory_order_relaxed)) return;
    auto parcel = std::make_unique<Parcel>();
    std::vector<std::shared_ptr<MappedBlock>> blocks;
    try {
      for (size_t i = 0; i < n; ++i)
        if (!add_shared(*parcel, messages[i], blocks)) parcel->add(messages[i], memory_);
    } catch (const std::bad_alloc&) {
      for (auto& block : blocks) block->in_use().store(0, std::memory_order_release);
      throw;
    }
    counts.frames_sent.fetch_add(int64_t(n), std::memory_order_relaxed);
    submit(std::move(parcel));
  }

  void beat(int64_t now, int64_t dead_after_ns, bool judge) override {
    const int64_t silence = now - last_heard_ns.load(std::memory_order_relaxed);
    if (judge && silence > dead_after_ns) {
      char text[64];
      std::snprintf(text, sizeof text, "no sign of life for %.1f s", double(silence) / 1e9);
      return fail(text);
    }
    // What waits to be written is a sign of life itself, or the peer reads nothing.
    const bool ask = silence > dead_after_ns / 2;
    const int64_t sent = counts.frames_sent.load(std::memory_order_relaxed);
    if ((ask || sent == sent_at_beat_) && !is_writing()) {
      Message message;
      message.header.type = ask ? FrameType::kPing : FrameType::kPong;
      send(&message, 1);
    }
    sent_at_beat_ = counts.frames_sent.load(std::memory_order_relaxed);
    if (shared_) drop_idle_blocks(now - kKeepIdleNs);
  }

  void release() noexcept override {
    // Only sockets have blocks, and the I/O thread reads them.
    if (!shared_) return;
    received_blocks_.clear();
    std::lock_guard<std::mutex> hold(blocks_lock_);
    send_blocks_.clear();
  }

 protected:
  // Takes a parcel for writing; any thread.
  virtual void submit(std::unique_ptr<Parcel> parcel) = 0;
  virtual bool is_writing() = 0;
  // The descriptor that came with the last bytes, in order; none if it did not come.
  virtual UniqueFd take_descriptor() { return {}; }

  // What the peer sent: null, or why the link must end. One thread at a time.
  const char* received(const char* data, size_t n) {
    heard(int64_t(n));
    return parser_.consume(data, n);
  }
  // The same of bytes that the parser has said where to put.
  const char* received_directly(size_t n) {
    heard(int64_t(n));
    return parser_.direct_done(n);
  }
  FrameParser& parser() { return parser_; }

  // Values that wait for a peer that does not read must not exhaust the memory.
  void end_beyond_limit(size_t waiting) {
    if (int64_t(waiting) > waiting_limit())
      fail("the peer does not keep up: what waits to be sent takes half of the memory");
  }

  // ---- FrameSink
  const Memory* sink_memory() override { return memory_; }
  uint64_t sink_limit() override { return limit_; }
  bool sink_wants(const FrameHeader& header) override {
    auto receiver = receiver_.lock();
    return receiver && receiver->wants(header);
  }
  void sink_no_memory(const FrameHeader& header, int64_t bytes) override {
    if (auto receiver = receiver_.lock()) receiver->on_no_memory(shared_from_this(), header, bytes);
  }
  const char* sink_block(uint64_t block, int64_t bytes, Value* value) override {
    if (!shared_) return "a tensor in shared memory, which this link does not have";
    if (uint64_t(bytes) > limit_) return "a tensor that is too long";
    return received_blocks_.use(block, bytes, memory_, value);
  }
  const char* sink_frame(const FrameHeader& header, Value&& value, std::string&& text) override {
    counts.frames_received.fetch_add(1, std::memory_order_relaxed);
    if (dead) return nullptr;  // what follows a farewell
    switch (header.type) {
      case FrameType::kPing: {
        Message pong;
        pong.header.type = FrameType::kPong;
        send(&pong, 1);
        return nullptr;
      }
      case FrameType::kPong: return nullptr;
      case FrameType::kBye: fail("the peer was stopped"); return nullptr;
      case FrameType::kBlock: return add_block(header);
      case FrameType::kDropBlock:
        if (shared_) received_blocks_.drop(uint64_t(header.edge));
        return nullptr;
      default: break;
    }
    auto receiver = receiver_.lock();
    if (!receiver) return nullptr;
    try {
      receiver->on_frame(shared_from_this(), header, std::move(value), std::move(text));
    } catch (const std::bad_alloc&) { receiver->on_no_memory(shared_from_this(), header, 0); }
    return nullptr;
  }

  const std::weak_ptr<Receiver> receiver_;
  const Memory* const memory_;
  const uint64_t limit_;
  const bool shared_;

 private:
  void heard(int64_t bytes) {
    last_heard_ns.store(now_ns(), std::memory_order_relaxed);
    counts.bytes_received.fetch_add(bytes, std::memory_order_relaxed);
  }

  const char* add_block(const FrameHeader& header) {
    UniqueFd fd = take_descriptor();
    if (!shared_) return "a block of shared memory, which this link does not have";
    if (!fd) return "a block of shared memory without its descriptor (are too many files open?)";
    return received_blocks_.add(uint64_t(header.edge), header.extra, fd);
  }

  // Puts a large tensor into a block. False: it goes through the socket.
  bool add_shared(Parcel& parcel, const Message& message,
                  std::vector<std::shared_ptr<MappedBlock>>& blocks) {
    const hr_tensor* t = message.value;
    if (!shared_ || !t || t->bytes < kSharedFrom || t->dtype == HR_STRING) return false;
    SendBlocks::Taken taken;
    blocks.reserve(blocks.size() + 1);
    {
      std::lock_guard<std::mutex> hold(blocks_lock_);
      if (dead) return false;
      std::vector<uint64_t> dropped;
      auto news = std::make_unique<Parcel>();
      taken = send_blocks_.take(t->bytes, now_ns(), dropped);
      // A block is announced before any other thread can use it.
      if (taken.fd || !dropped.empty()) announce(std::move(news), dropped, &taken);
    }
    if (!taken.block) return false;
    blocks.push_back(taken.block);
    std::memcpy(taken.block->elements(), t->data, size_t(t->bytes));
    counts.shared_bytes_sent.fetch_add(t->bytes, std::memory_order_relaxed);
    parcel.add_shared(message, taken.number);
    return true;
  }

  void announce(std::unique_ptr<Parcel> news, const std::vector<uint64_t>& dropped,
                SendBlocks::Taken* taken) {
    try {
      for (uint64_t block : dropped) news->add_drop(block);
      if (taken && taken->fd)
        news->add_block(taken->number, taken->block->capacity(), std::move(taken->fd));
    } catch (const std::bad_alloc&) {
      // The two sides would not agree any more on which blocks exist.
      return fail("there is no memory to announce a block of shared memory");
    }
    submit(std::move(news));
  }

  void drop_idle_blocks(int64_t since_ns) {
    std::lock_guard<std::mutex> hold(blocks_lock_);
    std::vector<uint64_t> dropped;
    auto news = std::make_unique<Parcel>();
    send_blocks_.drop_idle(since_ns, dropped);
    if (!dropped.empty()) announce(std::move(news), dropped, nullptr);
  }

  FrameParser parser_;
  std::mutex blocks_lock_;
  SendBlocks send_blocks_;
  ReceivedBlocks received_blocks_;
  int64_t sent_at_beat_ = -1;  // of the heartbeat thread
};

}  // namespace headrace::distributed
