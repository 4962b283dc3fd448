// A link over a connected stream socket, TCP or UNIX. A sender writes what the socket takes at once;
// the endpoint's I/O thread writes the rest, and reads.
#pragma once
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "native/byte_link.hpp"

namespace headrace::distributed {

class SocketLink : public ByteLink {
 public:
  SocketLink(std::shared_ptr<Receiver> receiver, int fd, int epoll, bool shared_memory)
      : ByteLink(std::move(receiver), shared_memory), fd_(fd), epoll_(epoll) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    unix_ = getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0 &&
            address.ss_family == AF_UNIX;
    const int on = 1, buffer = 1 << 20;
    if (unix_) {
      setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
    } else {
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    buffer_.resize(64 << 10);
  }
  ~SocketLink() override {
    for (int fd : descriptors_) ::close(fd);
    ::close(fd_);
  }

  const char* plane() const override { return !unix_ ? "tcp" : shared_ ? "shm" : "uds"; }

  void close(const std::string& reason) override {
    {
      std::lock_guard<std::mutex> hold(lock_);
      if (reason_.empty()) reason_ = reason;
    }
    dead = true;
    shutdown(fd_, SHUT_RDWR);  // the I/O thread sees it and reports the loss
  }

  // The I/O thread: registers with epoll, under the link's number.
  bool watch() {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = uint64_t(number);
    return epoll_ctl(epoll_, EPOLL_CTL_ADD, fd_, &event) == 0;
  }

  // The I/O thread: reads and writes what is possible. False: the link has ended.
  bool handle(uint32_t events) {
    bool open = true;
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) open = read_some();
    if (open && events & EPOLLOUT) open = write_rest();
    if (open) return true;
    end();
    return false;
  }

  // The I/O thread: the link is over.
  void end() {
    dead = true;
    epoll_ctl(epoll_, EPOLL_CTL_DEL, fd_, nullptr);
    shutdown(fd_, SHUT_RDWR);
    std::string reason;
    std::deque<Parcel> dropped;
    {
      std::lock_guard<std::mutex> hold(lock_);
      reason = reason_.empty() ? "the connection was closed by the peer" : reason_;
      dropped.swap(out_);
    }
    report_lost(reason);
  }

 protected:
  void submit(Parcel&& parcel) override {
    std::lock_guard<std::mutex> hold(lock_);
    if (dead) return;
    if (!out_.empty()) {
      out_.push_back(std::move(parcel));
      return;
    }
    if (!write(parcel)) {
      dead = true;
      shutdown(fd_, SHUT_RDWR);
      return;
    }
    if (parcel.over()) return;
    out_.push_back(std::move(parcel));
    interest(EPOLLIN | EPOLLOUT);
  }

  int take_descriptor() override {
    if (descriptors_.empty()) return -1;
    const int fd = descriptors_.front();
    descriptors_.pop_front();
    return fd;
  }

 private:
  void interest(uint32_t events) {
    epoll_event event{};
    event.events = events;
    event.data.u64 = uint64_t(number);
    epoll_ctl(epoll_, EPOLL_CTL_MOD, fd_, &event);
  }

  // Writes until the socket is full. False: it failed, for reason_.
  bool write(Parcel& parcel) {
    constexpr int kPieces = 16;
    while (!parcel.over()) {
      iovec io[kPieces];
      int n = 0;
      int fd = -1;
      for (size_t p = parcel.piece; p < parcel.pieces.size() && n < kPieces; ++p, ++n) {
        Parcel::Piece& piece = parcel.pieces[p];
        if (piece.fd >= 0) {
          if (n) break;  // a descriptor goes with the first byte of its piece
          fd = piece.fd;
        }
        const size_t done = n ? 0 : parcel.done;
        io[n].iov_base = const_cast<char*>(parcel.data(piece)) + done;
        io[n].iov_len = piece.size() - done;
      }
      msghdr message{};
      message.msg_iov = io;
      message.msg_iovlen = size_t(n);
      alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
      if (fd >= 0) {
        std::memset(control, 0, sizeof control);
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        cmsghdr* head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof(int));
        std::memcpy(CMSG_DATA(head), &fd, sizeof fd);
      }
      const ssize_t wrote = sendmsg(fd_, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (wrote < 0) {
        if (errno == EINTR) continue;
        if (errno == EAGAIN || errno == EWOULDBLOCK) return true;
        if (reason_.empty()) reason_ = std::string("writing failed: ") + std::strerror(errno);
        return false;
      }
      counts.bytes_sent.fetch_add(wrote, std::memory_order_relaxed);
      if (fd >= 0 && wrote > 0) {
        ::close(fd);
        parcel.pieces[parcel.piece].fd = -1;
      }
      parcel.advance(size_t(wrote));
    }
    return true;
  }

  bool write_rest() {
    std::lock_guard<std::mutex> hold(lock_);
    while (!out_.empty()) {
      if (!write(out_.front())) return false;
      if (!out_.front().over()) return true;
      out_.pop_front();
    }
    interest(EPOLLIN);
    return true;
  }

  // Reads at most some megabytes, so that other links have their turn.
  bool read_some() {
    for (int64_t budget = 4 << 20; budget > 0;) {
      char* at;
      size_t n;
      const bool direct = parser().direct(&at, &n);
      if (!direct) {
        at = &buffer_[0];
        n = buffer_.size();
      }
      const ssize_t got = unix_ ? receive(at, n) : recv(fd_, at, n, MSG_DONTWAIT);
      if (got < 0) {
        if (errno == EINTR) continue;
        if (errno == EAGAIN || errno == EWOULDBLOCK) return true;
        return fail(std::string("reading failed: ") + std::strerror(errno));
      }
      if (got == 0) return false;
      budget -= got;
      if (direct) {
        last_heard_ns.store(now_ns(), std::memory_order_relaxed);
        counts.bytes_received.fetch_add(got, std::memory_order_relaxed);
        parser().direct_done(size_t(got));
      } else if (const char* error = received(at, size_t(got))) {
        return fail(std::string("the peer sent ") + error);
      }
      if (size_t(got) < n) return !dead;
    }
    return !dead;
  }

  ssize_t receive(char* at, size_t n) {
    iovec io{at, n};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * 16)];
    msghdr message{};
    message.msg_iov = &io;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t got = recvmsg(fd_, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0) return got;
    for (cmsghdr* head = CMSG_FIRSTHDR(&message); head; head = CMSG_NXTHDR(&message, head)) {
      if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
      const size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (size_t i = 0; i < count; ++i) {
        int fd;
        std::memcpy(&fd, CMSG_DATA(head) + i * sizeof(int), sizeof fd);
        // More than announced blocks could use are not kept.
        if (descriptors_.size() < 64) descriptors_.push_back(fd);
        else ::close(fd);
      }
    }
    return got;
  }

  bool fail(const std::string& reason) {
    std::lock_guard<std::mutex> hold(lock_);
    if (reason_.empty()) reason_ = reason;
    return false;
  }

  const int fd_, epoll_;
  bool unix_ = false;
  std::mutex lock_;  // out_, reason_
  std::deque<Parcel> out_;
  std::string reason_;
  std::string buffer_;
  std::deque<int> descriptors_;
};

}  // namespace headrace::distributed
