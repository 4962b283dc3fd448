// Bytes to frames. The elements of a large tensor go from the socket into the tensor's own memory.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "native/frame.hpp"
#include "native/memory.hpp"
#include "native/tensor_payload.hpp"

namespace headrace::distributed {

class FrameSink {
 public:
  virtual ~FrameSink() = default;
  virtual const Memory* sink_memory() = 0;
  virtual uint64_t sink_limit() = 0;
  virtual bool sink_wants(const FrameHeader&) = 0;
  // Null, or why the link must end.
  virtual const char* sink_frame(const FrameHeader&, Value&&, std::string&& text) = 0;
  virtual void sink_no_memory(const FrameHeader&, int64_t bytes) = 0;
  // Null: `value`, which has dtype and shape, has the elements of a block, or is empty for lack of
  // memory; otherwise what is wrong.
  virtual const char* sink_block(uint64_t block, int64_t bytes, Value* value) = 0;
};

class FrameParser {
 public:
  explicit FrameParser(FrameSink& sink) : sink_(sink) {}

  // Where the next bytes go if they belong to a large tensor; false: to a buffer, for consume.
  bool direct(char** at, size_t* n) {
    if (state_ != kElements || left_ < kDirectFrom) return false;
    *at = target_;
    *n = left_;
    return true;
  }
  const char* direct_done(size_t n) {
    target_ += n;
    left_ -= n;
    return left_ ? nullptr : emit();
  }

  // Null, or what is wrong with the bytes: the link is then of no more use.
  const char* consume(const char* data, size_t n) {
    const char* error = nullptr;
    while (n && !error) {
      const size_t used = std::min(n, left_);
      take(data, used);
      if (!left_) error = next();
      data += used;
      n -= used;
    }
    return error;
  }

 private:
  static constexpr size_t kDirectFrom = 16384;
  enum State { kHeader, kText, kRank, kPrefix, kElements, kStrings, kBlockNumber, kSkip };

  void take(const char* data, size_t used) {
    if (state_ == kElements) {
      std::memcpy(target_, data, used);
      target_ += used;
    } else if (state_ != kSkip) {
      gathered_.append(data, used);
    }
    left_ -= used;
  }

  // What was expected is there.
  const char* next() {
    switch (state_) {
      case kHeader: return begin();
      case kRank: return rank();
      case kPrefix: return prefix();
      case kStrings: return strings();
      case kBlockNumber: return block();
      default: return emit();
    }
  }

  const char* expect(State state, size_t bytes) {
    state_ = state;
    left_ = bytes;
    return bytes ? nullptr : next();
  }

  const char* begin() {
    std::memcpy(&header_, gathered_.data(), sizeof header_);
    gathered_.clear();
    if (const char* error = header_error(header_, sink_.sink_limit())) return error;
    if (header_.type != FrameType::kTensor) return expect(kText, size_t(header_.length));
    if (header_.flags & kDead)
      return header_.length ? "a dead tensor with elements" : expect(kText, 0);
    skipped_ = !sink_.sink_wants(header_);
    // A block of a tensor that is not wanted is read on, to be marked free.
    if (skipped_ && !(header_.flags & kShared)) return expect(kSkip, size_t(header_.length));
    if (header_.length < sizeof(TensorPrefix)) return "a tensor that is too short";
    return expect(kRank, sizeof(TensorPrefix));
  }

  const char* rank() {
    TensorPrefix start;
    std::memcpy(&start, gathered_.data(), sizeof start);
    if (start.rank < 0 || start.rank > HR_MAX_RANK) return "a tensor of invalid rank";
    if (header_.length < prefix_size(start.rank)) return "a tensor that is too short";
    return expect(kPrefix, 8 * size_t(start.rank));
  }

  const char* prefix() {
    if (const char* error = read_prefix(gathered_.data(), &shape_, &bytes_)) return error;
    gathered_.clear();
    const uint64_t rest = header_.length - prefix_size(shape_.rank);
    const bool strings = shape_.dtype == HR_STRING;
    if (header_.flags & kShared) {
      if (strings || rest != sizeof(uint64_t))
        return "a tensor in shared memory that is not described";
      return expect(kBlockNumber, size_t(rest));
    }
    if (strings ? uint64_t(bytes_) > rest / 8 : rest != uint64_t(bytes_))
      return "a tensor whose size is not that of its elements";
    // Strings get memory when their bytes are there: a count alone would cost the peer nothing.
    if (strings) return expect(kStrings, size_t(rest));
    if (!value_.allocate(shape_, sink_.sink_memory())) return skip(size_t(rest));
    target_ = static_cast<char*>(value_.tensor.data);
    return expect(kElements, size_t(rest));
  }

  const char* strings() {
    const char* data = gathered_.data();
    if (const char* error = check_strings(data, gathered_.size(), bytes_)) return error;
    if (!read_strings(data, shape_, sink_.sink_memory(), &value_)) return skip(0);
    return emit();
  }

  const char* block() {
    uint64_t number;
    std::memcpy(&number, gathered_.data(), sizeof number);
    value_.reset();
    value_.tensor = shape_;
    if (const char* error = sink_.sink_block(number, bytes_, &value_)) return error;
    return value_.empty() ? skip(0) : emit();
  }

  // Without memory for a tensor.
  const char* skip(size_t rest) {
    if (!skipped_) sink_.sink_no_memory(header_, bytes_);
    skipped_ = true;
    return expect(kSkip, rest);
  }

  const char* emit() {
    std::string text;
    if (state_ == kText && header_.length) text.swap(gathered_);
    Value value = std::move(value_);
    const bool skipped = skipped_;
    gathered_.clear();
    if (gathered_.capacity() > kKeptCapacity) std::string().swap(gathered_);
    skipped_ = false;
    state_ = kHeader;
    left_ = sizeof header_;
    return skipped ? nullptr : sink_.sink_frame(header_, std::move(value), std::move(text));
  }

  static constexpr size_t kKeptCapacity = 1 << 20;

  FrameSink& sink_;
  State state_ = kHeader;
  size_t left_ = sizeof(FrameHeader);
  bool skipped_ = false;
  int64_t bytes_ = 0;  // of the elements; the number of strings
  hr_tensor shape_{};
  char* target_ = nullptr;
  std::string gathered_;
  FrameHeader header_;
  Value value_;
};

}  // namespace headrace::distributed
