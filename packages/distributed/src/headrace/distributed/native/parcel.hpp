// Messages as pieces of bytes to write: headers and small tensors copied into one string, large
// tensors by reference.
#pragma once
#include <sys/uio.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "native/link.hpp"
#include "native/tensor_payload.hpp"
#include "native/unique_fd.hpp"

namespace headrace::distributed {

constexpr int64_t kCopiedBelow = 16384;

class Parcel {
 public:
  struct Piece {
    size_t begin = 0, end = 0;  // of the bytes, if there is no value
    Value value;                // or its elements
    UniqueFd fd;                // passes with the first byte
    size_t size() const { return value.empty() ? end - begin : size_t(value.tensor.bytes); }
  };

  const char* data(const Piece& p) const {
    return p.value.empty() ? bytes_.data() + p.begin
                           : static_cast<const char*>(p.value.tensor.data);
  }

  // Appends a message whose elements, if any, go along.
  void add(const Message& message, const Memory* memory) {
    FrameHeader header = message.header;
    const hr_tensor* t = message.value;
    if (!t) {
      header.length = message.text_size;
      append(&header, sizeof header);
      append(message.text, message.text_size);
      return close_text();
    }
    const bool strings = t->dtype == HR_STRING;
    header.length = prefix_size(t->rank) + (strings ? string_payload_size(*t) : size_t(t->bytes));
    append(&header, sizeof header);
    append_prefix(bytes_, *t);
    if (strings) {
      append_strings(bytes_, *t);
    } else if (t->bytes < kCopiedBelow) {
      append(t->data, size_t(t->bytes));
    } else {
      close_text();
      pieces.emplace_back();
      pieces.back().value = Value::shared(*t, memory);
      size_ += size_t(t->bytes);
      return;
    }
    close_text();
  }

  // Appends a tensor that lies in a block.
  void add_shared(const Message& message, uint64_t block) {
    FrameHeader header = message.header;
    header.flags |= kShared;
    header.length = prefix_size(message.value->rank) + sizeof block;
    append(&header, sizeof header);
    append_prefix(bytes_, *message.value);
    append(&block, sizeof block);
    close_text();
  }

  void add_block(uint64_t block, int64_t capacity, UniqueFd&& fd) {
    FrameHeader header;
    header.type = FrameType::kBlock;
    header.edge = int64_t(block);
    header.extra = capacity;
    append(&header, sizeof header);
    new_piece();
    pieces.back().fd = std::move(fd);
  }

  void add_drop(uint64_t block) {
    FrameHeader header;
    header.type = FrameType::kDropBlock;
    header.edge = int64_t(block);
    append(&header, sizeof header);
    close_text();
  }

  size_t size() const { return size_; }
  size_t left() const { return size_ - written_; }
  bool over() const { return piece == pieces.size(); }

  // Skips what was written.
  void advance(size_t n) {
    written_ += n;
    while (n) {
      const size_t rest = pieces[piece].size() - done;
      if (n < rest) {
        done += n;
        return;
      }
      n -= rest;
      pieces[piece].value.reset();
      ++piece;
      done = 0;
    }
  }

  std::vector<Piece> pieces;
  size_t piece = 0, done = 0;  // how far it is written
  Parcel* next = nullptr;      // of the queue

 private:
  void append(const void* data, size_t size) {
    if (size) bytes_.append(static_cast<const char*>(data), size);
  }
  // Extends the last piece to the end of the bytes, or begins one.
  void close_text() {
    if (pieces.empty() || !pieces.back().value.empty() || pieces.back().fd) return new_piece();
    size_ += bytes_.size() - in_pieces_;
    pieces.back().end = in_pieces_ = bytes_.size();
  }
  void new_piece() {
    if (in_pieces_ == bytes_.size()) return;
    pieces.emplace_back();
    pieces.back().begin = in_pieces_;
    pieces.back().end = bytes_.size();
    size_ += bytes_.size() - in_pieces_;
    in_pieces_ = bytes_.size();
  }

  std::string bytes_;
  size_t in_pieces_ = 0;  // bytes that belong to a piece
  size_t size_ = 0, written_ = 0;
};

// Parcels to write, first in, first out. It allocates nothing.
class ParcelQueue {
 public:
  ParcelQueue() = default;
  ParcelQueue(const ParcelQueue&) = delete;
  ParcelQueue& operator=(const ParcelQueue&) = delete;
  ~ParcelQueue() {
    while (first_) pop();
  }

  bool empty() const { return !first_; }
  Parcel* front() { return first_; }
  // Of parcels that are not written to the end, roughly, with what they take themselves.
  size_t bytes() const { return bytes_; }
  void push(std::unique_ptr<Parcel> parcel) {
    bytes_ += parcel->size() + kOverhead;
    Parcel* added = parcel.release();
    (first_ ? last_->next : first_) = added;
    last_ = added;
  }
  std::unique_ptr<Parcel> pop() {
    std::unique_ptr<Parcel> taken(first_);
    first_ = taken->next;
    taken->next = nullptr;
    bytes_ -= taken->size() + kOverhead;
    return taken;
  }
  void swap(ParcelQueue& other) {
    std::swap(first_, other.first_);
    std::swap(last_, other.last_);
    std::swap(bytes_, other.bytes_);
  }

 private:
  static constexpr size_t kOverhead = 512;

  Parcel *first_ = nullptr, *last_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace headrace::distributed
