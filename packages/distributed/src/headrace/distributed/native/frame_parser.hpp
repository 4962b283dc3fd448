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
  virtual void sink_frame(const FrameHeader&, Value&&, std::string&& text) = 0;
  virtual void sink_no_memory(const FrameHeader&, int64_t bytes) = 0;
  // Null: `value` has the elements of a block; otherwise what is wrong.
  virtual const char* sink_block(uint64_t block, int64_t bytes, Value* value) = 0;
};

class FrameParser {
 public:
  explicit FrameParser(FrameSink& sink) : sink_(sink) {}

  // Where the next bytes go if they belong to a large tensor; false: to a buffer, for consume.
  bool direct(char** at, size_t* n) {
    if (state_ != kElements || left_ < 16384) return false;
    *at = target_;
    *n = left_;
    return true;
  }
  void direct_done(size_t n) {
    target_ += n;
    left_ -= n;
    if (!left_) emit();
  }

  // Null, or what is wrong with the bytes: the link is then of no more use.
  const char* consume(const char* data, size_t n) {
    const char* error = nullptr;
    while (n && !error) {
      const size_t used = take(data, n, &error);
      data += used;
      n -= used;
    }
    return error;
  }

 private:
  enum State { kHeader, kText, kPrefix, kElements, kStrings, kSharedElements, kSkip };

  size_t take(const char* data, size_t n, const char** error) {
    const size_t used = std::min(n, left_);
    switch (state_) {
      case kElements:
        std::memcpy(target_, data, used);
        target_ += used;
        break;
      case kSkip: break;
      default: gathered_.append(data, used);
    }
    left_ -= used;
    if (!left_) *error = next();
    return used;
  }

  const char* next() {
    switch (state_) {
      case kHeader: return begin();
      case kPrefix: return prefix();
      case kStrings: {
        const char* error = read_strings(gathered_.data(), gathered_.size(), value_);
        if (error) return error;
        emit();
        return nullptr;
      }
      case kSharedElements: {
        uint64_t block;
        std::memcpy(&block, gathered_.data(), sizeof block);
        const char* error = sink_.sink_block(block, bytes_, &value_);
        if (error) return error;
        emit();
        return nullptr;
      }
      default: emit(); return nullptr;
    }
  }

  const char* begin() {
    std::memcpy(&header_, gathered_.data(), sizeof header_);
    gathered_.clear();
    const char* error = header_error(header_, sink_.sink_limit());
    if (error) return error;
    if (header_.type != FrameType::kTensor) {
      expect(kText, size_t(header_.length));
    } else if (header_.flags & kDead) {
      if (header_.length) return "a dead tensor with elements";
      expect(kText, 0);
    } else if (skipped_ = !sink_.sink_wants(header_); skipped_ && !(header_.flags & kShared)) {
      expect(kSkip, size_t(header_.length));  // an unwanted block is taken, to be marked free
    } else if (header_.length < sizeof(TensorPrefix)) {
      return "a tensor that is too short";
    } else {
      rank_known_ = false;
      expect(kPrefix, sizeof(TensorPrefix));
      return nullptr;
    }
    if (!left_) emit();
    return nullptr;
  }

  const char* prefix() {
    TensorPrefix start;
    std::memcpy(&start, gathered_.data(), sizeof start);
    if (!rank_known_) {
      if (start.rank < 0 || start.rank > HR_MAX_RANK) return "a tensor of invalid rank";
      if (header_.length < prefix_size(start.rank)) return "a tensor that is too short";
      rank_known_ = true;
      left_ = 8 * size_t(start.rank);
      if (left_) return nullptr;
    }
    hr_tensor shape;
    const char* error = read_prefix(gathered_.data(), &shape, &bytes_);
    if (error) return error;
    gathered_.clear();
    const uint64_t rest = header_.length - prefix_size(shape.rank);
    const bool strings = shape.dtype == HR_STRING;
    if (header_.flags & kShared) {
      if (strings || rest != 8) return "a tensor in shared memory that is not described";
      value_.reset();
      value_.tensor = shape;
      value_.tensor.bytes = bytes_;
      expect(kSharedElements, size_t(rest));
      return nullptr;
    }
    if (strings ? uint64_t(bytes_) > rest / 8 : rest != uint64_t(bytes_))
      return "a tensor whose size is not that of its elements";
    if (!value_.allocate(shape, sink_.sink_memory())) {
      sink_.sink_no_memory(header_, bytes_);
      skipped_ = true;
      expect(kSkip, size_t(rest));
    } else {
      target_ = static_cast<char*>(value_.tensor.data);
      expect(strings ? kStrings : kElements, size_t(rest));
    }
    if (!left_) return next();
    return nullptr;
  }

  void expect(State state, size_t bytes) {
    state_ = state;
    left_ = bytes;
  }

  void emit() {
    std::string text = state_ == kText ? std::move(gathered_) : std::string();
    Value value = std::move(value_);
    const bool skipped = skipped_;
    const FrameHeader header = header_;
    gathered_.clear();
    skipped_ = false;
    expect(kHeader, sizeof header_);
    if (!skipped) sink_.sink_frame(header, std::move(value), std::move(text));
  }

  FrameSink& sink_;
  State state_ = kHeader;
  size_t left_ = sizeof(FrameHeader);
  bool rank_known_ = false, skipped_ = false;
  int64_t bytes_ = 0;
  char* target_ = nullptr;
  std::string gathered_;
  FrameHeader header_;
  Value value_;
};

}  // namespace headrace::distributed
