// A link over a connected stream socket, TCP or UNIX. A sender writes what the socket takes at
// once; the endpoint's I/O thread writes the rest, and reads.
#pragma once
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <deque>

#include "native/byte_link.hpp"

namespace headrace::distributed {

// What one thread reads or writes before others have their turn.
constexpr int64_t kTurnBytes = 2 << 20;

class SocketLink : public ByteLink {
 public:
  SocketLink(const std::shared_ptr<Receiver>& receiver, UniqueFd fd, int epoll, bool shared_memory)
      : ByteLink(receiver, shared_memory), fd_(std::move(fd)), epoll_(epoll) {
    unix_ = is_unix(fd_.get());
    const int on = 1, buffer = 1 << 20;
    if (unix_) {
      setsockopt(fd_.get(), SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
    } else {
      setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    buffer_.resize(64 << 10);
  }

  static bool is_unix(int fd) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    return getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0 &&
           address.ss_family == AF_UNIX;
  }

  const char* plane() const override { return !unix_ ? "tcp" : shared_ ? "shm" : "uds"; }

  // Registers with epoll, under the link's number. False: that is not possible.
  bool watch() {
    std::lock_guard<std::mutex> hold(lock_);
    epoll_event event = interest();
    watched_ = epoll_ctl(epoll_, EPOLL_CTL_ADD, fd_.get(), &event) == 0;
    return watched_;
  }

  // The I/O thread: reads and writes what is possible.
  void handle(uint32_t events) noexcept {
    try {
      if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) read_some();
    } catch (const std::exception&) { fail("there is no memory to read from it"); }
    if (events & EPOLLOUT) {
      {
        std::lock_guard<std::mutex> hold(lock_);
        if (writing_ || queue_.empty()) return;
        writing_ = true;
      }
      write_some();
    }
  }

  void beat(int64_t now, int64_t dead_after_ns, bool judge) override {
    int error;
    {
      std::lock_guard<std::mutex> hold(lock_);
      error = write_error_;
    }
    if (error) return fail_to("write", error);
    ByteLink::beat(now, dead_after_ns, judge);
  }

  void release() noexcept override {
    ByteLink::release();
    ParcelQueue dropped;
    {
      std::lock_guard<std::mutex> hold(lock_);
      released_ = true;
      if (watched_) epoll_ctl(epoll_, EPOLL_CTL_DEL, fd_.get(), nullptr);
      if (writing_) return;  // the writer sees it
      dropped.swap(queue_);
      fd_.reset();
    }
  }

 protected:
  void submit(std::unique_ptr<Parcel> parcel) override {
    size_t waiting;
    bool write = false;
    {
      std::lock_guard<std::mutex> hold(lock_);
      if (dead || released_ || write_error_) return;
      waiting = queue_.bytes();
      queue_.push(std::move(parcel));
      if (!writing_ && !blocked_) write = writing_ = true;
    }
    if (write) write_some();
    else end_beyond_limit(waiting);
  }
  bool is_writing() override {
    std::lock_guard<std::mutex> hold(lock_);
    return !queue_.empty();
  }

  void stop() noexcept override {
    {
      std::lock_guard<std::mutex> hold(lock_);
      if (fd_) shutdown(fd_.get(), SHUT_RDWR);
    }
    if (auto receiver = receiver_.lock()) receiver->on_dead();
  }

  UniqueFd take_descriptor() override {
    if (descriptors_.empty()) return {};
    UniqueFd fd = std::move(descriptors_.front());
    descriptors_.pop_front();
    return fd;
  }

 private:
  epoll_event interest() const {
    epoll_event event{};
    event.events = blocked_ ? EPOLLIN | EPOLLOUT : EPOLLIN;
    event.data.u64 = uint64_t(number);
    return event;
  }
  // Under the lock: whether the I/O thread goes on writing.
  void set_blocked(bool blocked) {
    if (blocked_ == blocked) return;
    blocked_ = blocked;
    epoll_event event = interest();
    if (watched_ && !released_) epoll_ctl(epoll_, EPOLL_CTL_MOD, fd_.get(), &event);
  }

  enum Wrote { kAll, kFull, kFailed };

  // The one thread that has set writing_.
  void write_some() {
    int64_t budget = kTurnBytes;
    for (;;) {
      Parcel* front;
      {
        std::lock_guard<std::mutex> hold(lock_);
        front = queue_.front();
      }
      int error = 0;
      const Wrote wrote = write(*front, &budget, &error);
      std::unique_ptr<Parcel> written;
      ParcelQueue dropped;
      {
        std::lock_guard<std::mutex> hold(lock_);
        if (wrote == kAll && !released_) {
          written = queue_.pop();
          if (!queue_.empty()) continue;
          set_blocked(false);
        } else if (wrote == kFull && !released_) {
          set_blocked(true);
        } else {
          // The reason is read, perhaps a farewell; the heartbeat thread ends what stays half open.
          if (!released_) write_error_ = error;
          dropped.swap(queue_);
          if (released_) fd_.reset();
          else set_blocked(false);
        }
        writing_ = false;
        return;
      }
    }
  }

  Wrote write(Parcel& parcel, int64_t* budget, int* error) {
    constexpr int kPieces = 16;
    while (!parcel.over()) {
      if (*budget <= 0) return kFull;
      iovec io[kPieces];
      int n = 0, fd = -1;
      size_t bytes = 0;
      for (size_t p = parcel.piece; p < parcel.pieces.size() && n < kPieces; ++p, ++n) {
        const Parcel::Piece& piece = parcel.pieces[p];
        if (piece.fd) {
          if (n) break;  // a descriptor goes with the first byte of its piece
          fd = piece.fd.get();
        }
        const size_t done = n ? 0 : parcel.done;
        io[n].iov_base = const_cast<char*>(parcel.data(piece)) + done;
        io[n].iov_len = std::min(piece.size() - done, size_t(*budget) - bytes);
        bytes += io[n].iov_len;
        if (bytes == size_t(*budget)) {
          ++n;
          break;
        }
      }
      msghdr message{};
      message.msg_iov = io;
      message.msg_iovlen = size_t(n);
      alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
      if (fd >= 0) {
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        cmsghdr* head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof(int));
        std::memcpy(CMSG_DATA(head), &fd, sizeof fd);
      }
      const ssize_t wrote = sendmsg(fd_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (wrote < 0) {
        if (errno == EINTR) continue;
        if (errno == EAGAIN || errno == EWOULDBLOCK) return kFull;
        *error = errno;
        return kFailed;
      }
      counts.bytes_sent.fetch_add(wrote, std::memory_order_relaxed);
      *budget -= wrote;
      if (fd >= 0 && wrote > 0) parcel.pieces[parcel.piece].fd.reset();
      parcel.advance(size_t(wrote));
    }
    return kAll;
  }

  void read_some() {
    for (int64_t budget = kTurnBytes; budget > 0 && !dead;) {
      char* at;
      size_t n;
      const bool direct = parser().direct(&at, &n);
      if (!direct) {
        at = &buffer_[0];
        n = buffer_.size();
      }
      const ssize_t got = unix_ ? receive(at, n) : recv(fd_.get(), at, n, MSG_DONTWAIT);
      if (got < 0) {
        if (errno == EINTR) continue;
        if (errno == EAGAIN || errno == EWOULDBLOCK) return;
        return fail_to("read", errno);
      }
      if (got == 0) return fail("the connection was closed by the peer");
      budget -= got;
      const char* error = direct ? received_directly(size_t(got)) : received(at, size_t(got));
      if (error) return fail_for(error);
      if (size_t(got) < n) return;
    }
  }

  ssize_t receive(char* at, size_t n) {
    iovec io{at, n};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * 16)];
    msghdr message{};
    message.msg_iov = &io;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t got = recvmsg(fd_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0) return got;
    for (cmsghdr* head = CMSG_FIRSTHDR(&message); head; head = CMSG_NXTHDR(&message, head)) {
      if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
      const size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (size_t i = 0; i < count; ++i) {
        int fd;
        std::memcpy(&fd, CMSG_DATA(head) + i * sizeof fd, sizeof fd);
        UniqueFd taken(fd);
        // Descriptors that no block announces are not kept.
        if (shared_ && descriptors_.size() < kMaxBlocks) descriptors_.push_back(std::move(taken));
      }
    }
    return got;
  }

  void fail_for(const char* error) {
    char text[160];
    std::snprintf(text, sizeof text, "the peer sent %s", error);
    fail(text);
  }
  void fail_to(const char* what, int error) {
    char text[160], buffer[80];
    std::snprintf(text, sizeof text, "cannot %s: %s", what,
                  strerror_r(error, buffer, sizeof buffer));
    fail(text);
  }

  UniqueFd fd_;
  const int epoll_;
  bool unix_ = false;
  std::mutex lock_;
  bool watched_ = false, released_ = false;  // under the lock, as all to write_error_
  bool writing_ = false;                     // a thread writes the front of the queue
  bool blocked_ = false;  // the I/O thread goes on writing when the socket takes more
  ParcelQueue queue_;
  int write_error_ = 0;
  std::string buffer_;  // of the I/O thread, as below
  std::deque<UniqueFd> descriptors_;
};

}  // namespace headrace::distributed
