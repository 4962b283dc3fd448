#include "files/byte_source.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "files/disk.hpp"
#include "files/inflate.hpp"

namespace hr {
namespace {

constexpr size_t kBuffer = 256 << 10;

}  // namespace

FileSource::FileSource(std::string path) : path_(std::move(path)) {
  if (remote::is_remote(path_)) {
    remote_ = std::make_unique<remote::Source>(path_);
    return;
  }
  const std::string name = disk::local_path(path_);
  do file_ = ::open(name.c_str(), O_RDONLY | O_CLOEXEC);
  while (file_ < 0 && errno == EINTR);
  if (file_ < 0) disk::fail(path_, errno);
}

FileSource::~FileSource() {
  if (file_ >= 0) ::close(file_);
}

size_t FileSource::read(char* to, size_t n) {
  if (remote_) return remote_->read(to, n);
  ssize_t got;
  do got = ::read(file_, to, n);
  while (got < 0 && errno == EINTR);
  if (got < 0) disk::fail(path_, errno);
  return size_t(got);
}

int64_t FileSource::size() const {
  if (remote_) return remote_->size();
  struct stat status;
  if (::fstat(file_, &status)) disk::fail(path_, errno);
  return int64_t(status.st_size);
}

bool BufferedInput::fill(size_t wanted) {
  if (ended_) return false;
  if (at_) {
    std::memmove(buffer_.data(), buffer_.data() + at_, end_ - at_);
    end_ -= at_;
    at_ = 0;
  }
  if (end_ == buffer_.size())
    buffer_.resize(std::max(kBuffer, std::min(std::max(wanted, kBuffer), 2 * buffer_.size())));
  try {
    const size_t got = source_->read(buffer_.data() + end_, buffer_.size() - end_);
    end_ += got;
    ended_ = got == 0;
  } catch (const CorruptStream& error) { throw Failure{HR_DATA_LOSS, path_ + "; " + error.what}; }
  return !ended_;
}

std::string_view BufferedInput::peek(size_t n) {
  while (end_ - at_ < n && fill(n)) {}
  return {buffer_.data() + at_, std::min(n, end_ - at_)};
}

bool BufferedInput::skip_ahead(int64_t n) {
  while (n > 0) {
    const size_t some = peek(size_t(std::min<int64_t>(n, int64_t(kBuffer)))).size();
    if (some == 0) return false;
    skip(some);
    n -= int64_t(some);
  }
  return true;
}

bool BufferedInput::line(std::string_view* text) {
  size_t seen = 0;
  for (;;) {
    const size_t have = end_ - at_;
    const void* found =
        have > seen ? std::memchr(buffer_.data() + at_ + seen, '\n', have - seen) : nullptr;
    if (found) {
      const size_t size = size_t(static_cast<const char*>(found) - (buffer_.data() + at_));
      *text = {buffer_.data() + at_, size};
      skip(size + 1);
      return true;
    }
    seen = have;
    if (fill(SIZE_MAX)) continue;
    if (!have) return false;
    *text = {buffer_.data() + at_, have};
    skip(have);
    return true;
  }
}

}  // namespace hr
