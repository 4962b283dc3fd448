// A link whose bytes somebody else carries, such as a stream of gRPC.
#pragma once
#include <algorithm>
#include <chrono>
#include <condition_variable>

#include "native/byte_link.hpp"

namespace headrace::distributed {

class StreamLink : public ByteLink {
 public:
  explicit StreamLink(const std::shared_ptr<Receiver>& receiver) : ByteLink(receiver, false) {}

  const char* plane() const override { return "stream"; }

  enum Next { kBytes, kNothingYet, kClosed };

  // Waits for bytes to carry. kBytes: so many can be taken, `limit` at most. What was sent before
  // the end, a farewell above all, still goes out.
  Next wait(size_t limit, int64_t wait_ns, size_t* size) {
    std::unique_lock<std::mutex> hold(lock_);
    ready_.wait_for(hold, std::chrono::nanoseconds(wait_ns),
                    [this] { return dead || !queue_.empty(); });
    if (queue_.empty()) return dead ? kClosed : kNothingYet;
    *size = 0;
    for (const Parcel* p = queue_.front(); p && *size < limit; p = p->next) *size += p->left();
    *size = std::min(*size, limit);
    return kBytes;
  }

  // Takes as many bytes as the thread has waited for. False: the link has dropped them.
  bool take(char* to, size_t size) {
    ParcelQueue taken;  // freed without the lock
    std::lock_guard<std::mutex> hold(lock_);
    for (size_t left = size; left && !queue_.empty();) {
      Parcel& parcel = *queue_.front();
      const Parcel::Piece& piece = parcel.pieces[parcel.piece];
      const size_t n = std::min(left, piece.size() - parcel.done);
      std::memcpy(to, parcel.data(piece) + parcel.done, n);
      to += n;
      left -= n;
      parcel.advance(n);
      if (parcel.over()) taken.push(queue_.pop());
      if (!left) {
        counts.bytes_sent.fetch_add(int64_t(size), std::memory_order_relaxed);
        return true;
      }
    }
    return false;
  }

  // Bytes that arrived, in order.
  void feed(const char* data, size_t n) {
    std::lock_guard<std::mutex> hold(feed_lock_);
    if (dead) return;
    const char* error;
    try {
      error = received(data, n);
    } catch (const std::exception&) { return fail("there is no memory to read from it"); }
    if (!error) return;
    char text[160];
    std::snprintf(text, sizeof text, "the peer sent %s", error);
    fail(text);
  }

  void release() noexcept override {
    ParcelQueue dropped;
    std::lock_guard<std::mutex> hold(lock_);
    if (queue_.bytes() > kFarewellBytes) dropped.swap(queue_);
  }

 protected:
  void submit(std::unique_ptr<Parcel> parcel) override {
    size_t waiting;
    {
      std::lock_guard<std::mutex> hold(lock_);
      if (dead) return;
      waiting = queue_.bytes();
      queue_.push(std::move(parcel));
    }
    ready_.notify_one();
    end_beyond_limit(waiting);
  }
  bool is_writing() override {
    std::lock_guard<std::mutex> hold(lock_);
    return !queue_.empty();
  }
  void stop() noexcept override {
    { std::lock_guard<std::mutex> hold(lock_); }  // a thread that is about to wait sees the end
    ready_.notify_all();
    if (auto receiver = receiver_.lock()) receiver->on_dead();
  }

 private:
  static constexpr size_t kFarewellBytes = 1 << 20;

  std::mutex feed_lock_, lock_;
  std::condition_variable ready_;
  ParcelQueue queue_;
};

}  // namespace headrace::distributed
