// Finds the records of a growing, possibly corrupted file; record_frames_python.py does the same in
// Python and explains the rules.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "headrace/record_reader.h"

#include "wire_format.hpp"

namespace headrace_board {

// The same values as in scan_batch.py.
enum State { kEnd = 0, kTorn = 1, kMore = 2, kLost = 3, kDead = 4, kFailed = 5 };
enum GapKind { kPayload = 0, kLength = 1, kEvent = 2, kName = 3 };
constexpr uint64_t kMaxRecordBytes = 1ull << 30;
constexpr uint64_t kMaxGaps = 10000;
constexpr uint64_t kMaxWastedBytes = 4ull << 30;
constexpr uint64_t kBlockBytes = 8ull << 20;
constexpr uint64_t kMaxResyncBytes = 64ull << 20;
constexpr uint64_t kSearchBytes = 1ull << 20;

// A system error while reading.
struct ReadError {
  int error;  // errno
};

struct Gap {
  int kind;
  uint64_t offset, bytes, records;
};

struct Frame {
  uint64_t offset;
  Bytes data;
};

// Memory for pread; not initialised, and freed on destruction.
class Block {
 public:
  // Reads up to `count` bytes; returns how many were read. Throws ReadError if fewer than `least`
  // can be read: a bad sector must not hide the records before it in the same block.
  uint64_t read(int fd, uint64_t count, uint64_t offset, uint64_t least) {
    if (count > capacity_) {
      uint8_t* grown = static_cast<uint8_t*>(std::malloc(count));
      if (!grown) throw std::bad_alloc();
      bytes_.reset(grown);
      capacity_ = count;
    }
    uint64_t got = 0;
    while (got < count) {
      const ssize_t n = ::pread(fd, bytes_.get() + got, count - got, off_t(offset + got));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && got < least) throw ReadError{errno};
      if (n <= 0) break;
      got += uint64_t(n);
    }
    return got;
  }
  const uint8_t* data() const { return bytes_.get(); }
  void release() {
    bytes_.reset();
    capacity_ = 0;
  }

 private:
  struct Free {
    void operator()(uint8_t* p) const { std::free(p); }
  };
  std::unique_ptr<uint8_t, Free> bytes_;
  uint64_t capacity_ = 0;
};

class RecordFrames {
 public:
  uint64_t offset = 0;
  int state = kEnd;
  int error = 0;  // of the last pass, an errno
  std::vector<Gap> gaps;

  bool has_open_gap() const { return lost_from_ >= 0; }
  Gap open_gap() const {
    const uint64_t end = candidate_ >= 0 ? uint64_t(candidate_) : size_;
    return {lost_kind_, uint64_t(lost_from_), end - uint64_t(lost_from_), 1};
  }
  void reject(const Gap& gap) {
    gaps.push_back(gap);
    ++gaps_ever_;
  }

  void begin(int fd, uint64_t limit) {
    gaps.clear();
    fd_ = fd;
    block_at_ = block_size_ = 0;
    stop_ = offset + limit;
    if (state == kDead) return;
    struct stat found;
    error = ::fstat(fd, &found) == 0 ? 0 : errno;
    if (!error) size_ = found.st_size > 0 ? uint64_t(found.st_size) : 0;
  }
  void end() { block_.release(); }

  // Finds the next record with valid CRCs; returns false at the end of the pass and sets `state`.
  bool next(Frame& out) {
    if (state == kDead) return false;
    if (error) return ended(kFailed);
    try {
      return walk(out);
    } catch (const ReadError& failed) {
      error = failed.error;
      return ended(kFailed);
    }
  }

 private:
  enum Verdict { kWhole, kBad, kTornThere };

  bool walk(Frame& out) {
    for (;;) {
      if (lost_from_ >= 0 && !search()) return false;
      if (gaps_ever_ > kMaxGaps || wasted_ > kMaxWastedBytes) return ended(kDead);
      if (offset >= stop_) return ended(kMore);
      if (size_ < offset + HR_RECORD_HEADER_BYTES) return ended(size_ <= offset ? kEnd : kTorn);
      const uint8_t* at = need(HR_RECORD_HEADER_BYTES);
      if (!at) return ended(kTorn);
      uint64_t length = 0;
      if (hr_record_length(at, kMaxRecordBytes, &length) != HR_RECORD_OK) {
        if (zeros_to_the_end()) return ended(kTorn);
        lose(kLength, offset + 1);
        continue;
      }
      const uint64_t whole = HR_RECORD_FRAME_BYTES + length;
      if (size_ - offset < whole) return ended(kTorn);
      at = need(whole);
      if (!at) return ended(kTorn);
      const uint8_t* data = at + HR_RECORD_HEADER_BYTES;
      if (hr_load_u32(data + length) == hr_masked_crc32c(data, size_t(length))) {
        out = {offset, {data, data + length}};
        offset += whole;
        return true;
      }
      const bool followed = follows_a_record(offset + whole);
      wasted_ += length;
      if (followed) {
        reject({kPayload, offset, whole, 1});
        offset += whole;
      } else {
        lose(kPayload, offset + HR_RECORD_HEADER_BYTES);
      }
    }
  }

  bool ended(int how) {
    state = how;
    return false;
  }

  void lose(int kind, uint64_t search_at) {
    lost_from_ = int64_t(offset);
    lost_kind_ = kind;
    search_at_ = search_at;
    candidate_ = -1;
  }

  // Returns `count` bytes at `offset`, or null if the file has shrunk.
  const uint8_t* need(uint64_t count) {
    if (offset < block_at_ || offset - block_at_ + count > block_size_) {
      const uint64_t requested = std::max(count, std::min(kBlockBytes, size_ - offset));
      block_at_ = offset;
      block_size_ = 0;
      block_size_ = block_.read(fd_, requested, offset, count);
      if (block_size_ < count) return nullptr;
    }
    return block_.data() + (offset - block_at_);
  }

  bool zeros_to_the_end() {
    const uint64_t left = size_ - offset;
    if (left > kBlockBytes) return false;
    Block tail;
    const uint64_t got = tail.read(fd_, left, offset, left);
    return std::all_of(tail.data(), tail.data() + got, [](uint8_t byte) { return byte == 0; });
  }

  bool read_header(uint64_t at, uint8_t* header) const {
    ssize_t n;
    do {
      n = ::pread(fd_, header, HR_RECORD_HEADER_BYTES, off_t(at));
    } while (n < 0 && errno == EINTR);
    if (n < 0) throw ReadError{errno};
    return n == HR_RECORD_HEADER_BYTES;
  }

  bool follows_a_record(uint64_t at) const {
    uint8_t header[HR_RECORD_HEADER_BYTES];
    uint64_t length;
    if (size_ < at + HR_RECORD_HEADER_BYTES || !read_header(at, header)) return true;
    return hr_record_length(header, kMaxRecordBytes, &length) == HR_RECORD_OK;
  }

  // Searches for the next intact record; returns false if this pass ends within the gap.
  bool search() {
    if (candidate_ >= 0) {
      const Verdict verdict = check(uint64_t(candidate_));
      if (verdict == kWhole) return found(uint64_t(candidate_));
      if (verdict == kBad) candidate_ = -1;
    }
    const uint64_t behind = size_ < HR_RECORD_HEADER_BYTES ? 0 : size_ - HR_RECORD_HEADER_BYTES + 1;
    const uint64_t stop = std::min(search_at_ + kMaxResyncBytes, behind);
    Block window;
    while (search_at_ < stop) {
      const uint64_t count = std::min(kSearchBytes, stop - search_at_);
      const uint64_t requested = count + HR_RECORD_HEADER_BYTES - 1;
      const uint64_t got = window.read(fd_, requested, search_at_, requested);
      for (uint64_t i = 0; i + HR_RECORD_HEADER_BYTES <= got; ++i) {
        const uint8_t* at = window.data() + i;
        uint64_t length;
        // The cheap test first: a valid length has only zeros in its high half.
        if (hr_load_u32(at + 4) != 0) continue;
        if (hr_record_length(at, kMaxRecordBytes, &length) != HR_RECORD_OK) continue;
        const Verdict verdict = check(search_at_ + i);
        if (verdict == kWhole) return found(search_at_ + i);
        if (verdict == kTornThere && candidate_ < 0) candidate_ = int64_t(search_at_ + i);
        if (wasted_ > kMaxWastedBytes) return ended(kDead);
      }
      search_at_ += count;
    }
    return ended(search_at_ + HR_RECORD_HEADER_BYTES <= size_ ? kMore : kLost);
  }

  bool found(uint64_t at) {
    reject({lost_kind_, uint64_t(lost_from_), at - uint64_t(lost_from_), 1});
    offset = at;
    lost_from_ = candidate_ = -1;
    return true;
  }

  Verdict check(uint64_t at) {
    uint8_t header[HR_RECORD_HEADER_BYTES];
    uint64_t length;
    if (!read_header(at, header)) return kBad;
    if (hr_record_length(header, kMaxRecordBytes, &length) != HR_RECORD_OK) return kBad;
    if (size_ - at < HR_RECORD_FRAME_BYTES + length) return kTornThere;
    Block data;
    const uint64_t got = data.read(fd_, length + 4, at + HR_RECORD_HEADER_BYTES, length + 4);
    if (got == length + 4 &&
        hr_load_u32(data.data() + length) == hr_masked_crc32c(data.data(), size_t(length)))
      return kWhole;
    wasted_ += length;
    return kBad;
  }

  int fd_ = -1;
  uint64_t size_ = 0, stop_ = 0;
  Block block_;
  uint64_t block_at_ = 0, block_size_ = 0;
  uint64_t gaps_ever_ = 0, wasted_ = 0;
  int64_t lost_from_ = -1;  // offset at which the present gap begins
  int lost_kind_ = kLength;
  uint64_t search_at_ = 0;
  int64_t candidate_ = -1;  // a record with a valid length whose data are incomplete
};

}  // namespace headrace_board
