// Blocks of shared memory between two processes of a host: the sender copies a tensor into one, the
// receiver uses it in place and marks it free. A block is a memfd, whose descriptor passes once.
#pragma once
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "native/memory.hpp"

namespace headrace::distributed {

constexpr size_t kBlockHead = 4096;           // the flag; elements begin at the next page
constexpr int64_t kSharedFrom = 64 << 10;     // smaller tensors pass through the socket
constexpr int64_t kSharedLimit = 4ll << 30;   // of one direction of a link

class MappedBlock {
 public:
  MappedBlock(void* memory, size_t size) : memory_(static_cast<char*>(memory)), size_(size) {}
  ~MappedBlock() { munmap(memory_, size_); }
  MappedBlock(const MappedBlock&) = delete;
  MappedBlock& operator=(const MappedBlock&) = delete;

  std::atomic<uint32_t>& in_use() { return *reinterpret_cast<std::atomic<uint32_t>*>(memory_); }
  char* elements() { return memory_ + kBlockHead; }
  int64_t capacity() const { return int64_t(size_ - kBlockHead); }

  // Null: the descriptor cannot be mapped as a block of that many bytes.
  static std::shared_ptr<MappedBlock> map(int fd, size_t size) {
    void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) return nullptr;
    return std::make_shared<MappedBlock>(memory, size);
  }

 private:
  char* memory_;
  size_t size_;
};

// The blocks into which one side of a link writes; the caller locks.
class SendBlocks {
 public:
  struct Taken {
    uint64_t number = 0;
    char* elements = nullptr;  // null: there is no block
    int new_fd = -1;           // to pass, and close
    int64_t capacity = 0;
    std::vector<uint64_t> dropped;  // blocks that are no longer used
  };

  Taken take(int64_t bytes) {
    Taken taken;
    Block* best = nullptr;
    for (Block& block : blocks_)
      if (block.mapped->capacity() >= bytes && block.mapped->capacity() <= 4 * bytes + 4096 &&
          !block.mapped->in_use().load(std::memory_order_acquire) &&
          (!best || block.mapped->capacity() < best->mapped->capacity()))
        best = &block;
    if (!best) {
      drop_until(kSharedLimit - bytes, taken.dropped);
      best = create(bytes, &taken.new_fd);
      if (!best) return taken;
    }
    best->mapped->in_use().store(1, std::memory_order_relaxed);
    taken.number = best->number;
    taken.elements = best->mapped->elements();
    taken.capacity = best->mapped->capacity();
    return taken;
  }

 private:
  struct Block {
    uint64_t number;
    std::shared_ptr<MappedBlock> mapped;
  };

  Block* create(int64_t bytes, int* fd) {
    if (total_ + bytes > kSharedLimit) return nullptr;
    const size_t page = 4096;
    const size_t size = kBlockHead + (size_t(bytes) + page - 1) / page * page;
    const int made = memfd_create("headrace-block", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (made < 0) return nullptr;
    // fallocate: a full memory is an error here, not a SIGBUS at the first touch.
    std::shared_ptr<MappedBlock> mapped;
    if (fallocate(made, 0, 0, off_t(size)) == 0 &&
        fcntl(made, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
      mapped = MappedBlock::map(made, size);
    if (!mapped) {
      ::close(made);
      return nullptr;
    }
    *fd = made;
    total_ += mapped->capacity();
    blocks_.push_back({++last_, std::move(mapped)});
    return &blocks_.back();
  }

  void drop_until(int64_t limit, std::vector<uint64_t>& dropped) {
    for (size_t i = 0; i < blocks_.size() && total_ > limit;) {
      if (blocks_[i].mapped->in_use().load(std::memory_order_acquire)) {
        ++i;
        continue;
      }
      total_ -= blocks_[i].mapped->capacity();
      dropped.push_back(blocks_[i].number);
      blocks_.erase(blocks_.begin() + ptrdiff_t(i));
    }
  }

  std::vector<Block> blocks_;
  uint64_t last_ = 0;
  int64_t total_ = 0;
};

// The blocks of the other side, mapped here. Values keep theirs mapped.
class ReceivedBlocks {
 public:
  // Null: mapped; otherwise what is wrong. The descriptor is not closed.
  const char* add(uint64_t number, int64_t capacity, int fd) {
    struct stat info;
    if (capacity < 0 || capacity > kSharedLimit || fstat(fd, &info) != 0 ||
        info.st_size < int64_t(kBlockHead) + capacity)
      return "a block of shared memory of another size than announced";
    const int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || !(seals & F_SEAL_SHRINK))  // a peer that shrinks it would kill this process
      return "a block of shared memory that is not sealed";
    auto mapped = MappedBlock::map(fd, kBlockHead + size_t(capacity));
    if (!mapped) return "a block of shared memory that cannot be mapped";
    blocks_[number] = std::move(mapped);
    return nullptr;
  }
  void drop(uint64_t number) { blocks_.erase(number); }

  const char* use(uint64_t number, int64_t bytes, const Memory* memory, Value* value) {
    auto found = blocks_.find(number);
    if (found == blocks_.end() || bytes > found->second->capacity())
      return "a tensor in a block of shared memory that does not exist";
    struct Hold {
      std::shared_ptr<MappedBlock> block;
    };
    auto* hold = new (std::nothrow) Hold{found->second};
    hr_buffer* buffer =
        hold ? memory->wrap(
                   found->second->elements(), bytes,
                   [](void* argument) {
                     auto* held = static_cast<Hold*>(argument);
                     held->block->in_use().store(0, std::memory_order_release);
                     delete held;
                   },
                   hold)
             : nullptr;
    if (!buffer) {
      delete hold;
      return "no memory for a tensor in shared memory";
    }
    value->tensor.data = found->second->elements();
    value->tensor.bytes = bytes;
    value->tensor.owner = buffer;
    value->memory = memory;
    return nullptr;
  }

 private:
  std::unordered_map<uint64_t, std::shared_ptr<MappedBlock>> blocks_;
};

}  // namespace headrace::distributed
