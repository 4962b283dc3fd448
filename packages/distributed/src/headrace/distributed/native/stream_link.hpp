// A link whose bytes somebody else carries, such as a stream of gRPC.
#pragma once
#include <algorithm>
#include <condition_variable>

#include "native/byte_link.hpp"

namespace headrace::distributed {

class StreamLink : public ByteLink {
 public:
  explicit StreamLink(std::shared_ptr<Receiver> receiver) : ByteLink(std::move(receiver), false) {}

  const char* plane() const override { return "stream"; }

  void close(const std::string& reason) override {
    {
      std::lock_guard<std::mutex> hold(lock_);
      dead = true;
      if (reason_.empty()) reason_ = reason;
    }
    ready_.notify_all();
    report_lost(reason);
  }

  std::string reason() {
    std::lock_guard<std::mutex> hold(lock_);
    return reason_;
  }

  enum Next { kBytes, kNothingYet, kClosed };

  // Waits for bytes to carry, and takes at most `limit` of them.
  Next take(std::string& chunk, size_t limit, int64_t wait_ns) {
    std::unique_lock<std::mutex> hold(lock_);
    ready_.wait_for(hold, std::chrono::nanoseconds(wait_ns),
                    [this] { return dead || !out_.empty(); });
    if (dead && out_.empty()) return kClosed;  // what was sent before, a farewell above all, goes out
    while (!out_.empty() && chunk.size() < limit) {
      Parcel& parcel = out_.front();
      while (!parcel.over() && chunk.size() < limit) {
        const Parcel::Piece& piece = parcel.pieces[parcel.piece];
        const size_t n = std::min(limit - chunk.size(), piece.size() - parcel.done);
        chunk.append(parcel.data(piece) + parcel.done, n);
        parcel.advance(n);
      }
      if (parcel.over()) out_.pop_front();
    }
    counts.bytes_sent.fetch_add(int64_t(chunk.size()), std::memory_order_relaxed);
    return chunk.empty() ? kNothingYet : kBytes;
  }

  // Bytes that arrived, in order; one thread at a time.
  void feed(const char* data, size_t n) {
    if (dead) return;
    if (const char* error = received(data, n)) close(std::string("the peer sent ") + error);
  }

 protected:
  void submit(Parcel&& parcel) override {
    {
      std::lock_guard<std::mutex> hold(lock_);
      if (dead) return;
      out_.push_back(std::move(parcel));
    }
    ready_.notify_one();
  }

 private:
  std::mutex lock_;
  std::condition_variable ready_;
  std::deque<Parcel> out_;
  std::string reason_;
};

}  // namespace headrace::distributed
