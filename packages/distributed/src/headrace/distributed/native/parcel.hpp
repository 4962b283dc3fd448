// Messages as pieces of bytes to write: headers and small tensors copied into one string, large
// tensors by reference.
#pragma once
#include <sys/uio.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <vector>

#include "native/link.hpp"
#include "native/tensor_payload.hpp"

namespace headrace::distributed {

constexpr int64_t kCopiedBelow = 16384;

struct Parcel {
  struct Piece {
    size_t begin = 0, end = 0;  // of `bytes`, if there is no value
    Value value;                // or its elements
    int fd = -1;                // passes with the first byte; owned
    size_t size() const { return value.empty() ? end - begin : size_t(value.tensor.bytes); }
  };

  std::string bytes;
  std::vector<Piece> pieces;
  size_t piece = 0, done = 0;  // how far it is written

  Parcel() = default;
  Parcel(Parcel&&) = default;
  Parcel& operator=(Parcel&&) = default;
  ~Parcel() {
    for (Piece& p : pieces)
      if (p.fd >= 0) ::close(p.fd);
  }

  const char* data(const Piece& p) const {
    return p.value.empty() ? bytes.data() + p.begin : static_cast<const char*>(p.value.tensor.data);
  }

  // Appends a message whose elements, if any, go along.
  void add(const Message& message, const Memory* memory) {
    FrameHeader header = message.header;
    const hr_tensor* t = message.value;
    if (!t) {
      header.length = message.text_size;
      append(header);
      bytes.append(message.text ? message.text : "", message.text_size);
      return close_text();
    }
    const size_t elements = t->dtype == HR_STRING ? string_payload_size(*t) : size_t(t->bytes);
    header.length = prefix_size(t->rank) + elements;
    append(header);
    append_prefix(bytes, *t);
    if (t->dtype == HR_STRING) {
      append_strings(bytes, *t);
    } else if (t->bytes < kCopiedBelow) {
      bytes.append(static_cast<const char*>(t->data), elements);
    } else {
      close_text();
      pieces.emplace_back();
      pieces.back().value = Value::shared(*t, memory);
      return;
    }
    close_text();
  }

  // Appends a tensor that lies in a block.
  void add_shared(const Message& message, uint64_t block) {
    FrameHeader header = message.header;
    header.flags |= kShared;
    header.length = prefix_size(message.value->rank) + sizeof block;
    append(header);
    append_prefix(bytes, *message.value);
    bytes.append(reinterpret_cast<const char*>(&block), sizeof block);
    close_text();
  }

  void add_block(uint64_t block, int64_t capacity, int fd) {
    FrameHeader header;
    header.type = FrameType::kBlock;
    header.edge = int64_t(block);
    header.extra = capacity;
    close_text();
    const size_t begin = bytes.size();
    append(header);
    Piece piece;
    piece.begin = begin;
    piece.end = bytes.size();
    piece.fd = fd;
    pieces.push_back(std::move(piece));
  }

  void add_drop(uint64_t block) {
    FrameHeader header;
    header.type = FrameType::kDropBlock;
    header.edge = int64_t(block);
    append(header);
    close_text();
  }

  bool over() const { return piece == pieces.size(); }

  // Skips what was written.
  void advance(size_t n) {
    while (n) {
      const size_t rest = pieces[piece].size() - done;
      if (n < rest) {
        done += n;
        return;
      }
      n -= rest;
      finish_piece();
    }
  }
  void finish_piece() {
    pieces[piece].value.reset();
    ++piece;
    done = 0;
  }

 private:
  void append(const FrameHeader& header) {
    bytes.append(reinterpret_cast<const char*>(&header), sizeof header);
  }
  // Extends the last piece to the end of the bytes, or begins one.
  void close_text() {
    if (!pieces.empty() && pieces.back().value.empty() && pieces.back().fd < 0) {
      pieces.back().end = bytes.size();
      return;
    }
    size_t begin = 0;
    for (const Piece& p : pieces)
      if (p.value.empty() && p.end > begin) begin = p.end;
    if (begin == bytes.size()) return;
    Piece piece;
    piece.begin = begin;
    piece.end = bytes.size();
    pieces.push_back(std::move(piece));
  }
};

}  // namespace headrace::distributed
