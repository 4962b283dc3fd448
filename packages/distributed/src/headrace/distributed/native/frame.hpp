// Frames of the step plane: a header of 64 bytes, then a payload. Numbers are little-endian, as on
// all machines that the compiled packages run on.
#pragma once
#include <cstdint>

namespace headrace::distributed {

constexpr uint32_t kFrameMagic = 0x31465248;      // "HRF1"
constexpr uint64_t kMaxDoneBytes = 256u << 20;    // with the trace of a run
constexpr uint64_t kMaxMessageBytes = 64u << 10;  // of an error; longer ones are cut
constexpr uint64_t kMaxPrefixBytes = 4096;        // of a tensor, beyond its elements

enum class FrameType : uint8_t {
  kRun = 1,    // master to worker: run the partition `edge` as (session, step)
  kCall,       // client to master: run the callable `edge`
  kTensor,     // a value of the step, by edge, frame and iteration
  kDone,       // the end of a run or call; `extra`: its code
  kAbort,      // end the step with the code `extra`
  kPing,       // answered by kPong
  kPong,       // also sent unasked, as a heartbeat
  kBlock,      // a block of shared memory, `edge`, of `extra` bytes; its descriptor comes along
  kDropBlock,  // the sender does not use the block `edge` any longer
  kBye,        // the peer ends in good order
  kLast = kBye
};

enum : uint8_t {
  kDead = 1,    // a tensor of a branch that was not taken
  kFetch = 2,   // a tensor for the master or the client of the step
  kFeed = 4,    // a tensor for a call
  kShared = 8,  // the elements are in a block of shared memory
  kTraced = 16,
  kGivenUp = 32  // an abort by a worker whose part of the step has failed, to those it sends to
};

struct FrameHeader {
  uint32_t magic = kFrameMagic;
  FrameType type = FrameType::kPing;
  uint8_t flags = 0;
  uint16_t reserved = 0;
  uint64_t length = 0;  // of the payload
  uint64_t session = 0;
  uint64_t step = 0;
  int64_t edge = 0;
  uint64_t frame = 0;
  int64_t iteration = 0;
  int64_t extra = 0;
};
static_assert(sizeof(FrameHeader) == 64, "the header is part of the protocol");

inline uint64_t max_payload(FrameType type, uint64_t max_tensor_bytes) {
  switch (type) {
    case FrameType::kTensor:
      return max_tensor_bytes > UINT64_MAX - kMaxPrefixBytes ? UINT64_MAX
                                                             : max_tensor_bytes + kMaxPrefixBytes;
    case FrameType::kDone: return kMaxDoneBytes;
    case FrameType::kAbort: return kMaxMessageBytes;
    default: return 0;
  }
}

// Null: valid; otherwise what is wrong.
inline const char* header_error(const FrameHeader& h, uint64_t max_tensor_bytes) {
  if (h.magic != kFrameMagic) return "bytes that are no frame";
  if (uint8_t(h.type) < 1 || h.type > FrameType::kLast) return "a frame of unknown type";
  if (h.length > max_payload(h.type, max_tensor_bytes)) return "a frame that is too long";
  return nullptr;
}

}  // namespace headrace::distributed
