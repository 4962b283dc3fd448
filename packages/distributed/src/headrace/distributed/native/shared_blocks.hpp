// Blocks of shared memory between two processes of a host: the sender copies a tensor into one, the
// receiver uses it in place and marks it free. A block is a memfd, whose descriptor passes once.
#pragma once
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "native/memory.hpp"
#include "native/unique_fd.hpp"

namespace headrace::distributed {

constexpr size_t kBlockHead = 4096;              // the flag; elements begin at the next page
constexpr int64_t kSharedFrom = 64 << 10;        // smaller tensors pass through the socket
constexpr int64_t kSharedLimit = 4ll << 30;      // of one direction of a link
constexpr size_t kMaxBlocks = 256;               // of one direction: maps and descriptors are few
constexpr int64_t kKeepIdleNs = 30'000'000'000;  // a block that nobody used for that long is freed

class MappedBlock {
 public:
  MappedBlock(void* memory, size_t size) : memory_(static_cast<char*>(memory)), size_(size) {}
  ~MappedBlock() { munmap(memory_, size_); }
  MappedBlock(const MappedBlock&) = delete;
  MappedBlock& operator=(const MappedBlock&) = delete;

  std::atomic<uint32_t>& in_use() { return *reinterpret_cast<std::atomic<uint32_t>*>(memory_); }
  bool free() { return !in_use().load(std::memory_order_acquire); }
  char* elements() { return memory_ + kBlockHead; }
  int64_t capacity() const { return int64_t(size_ - kBlockHead); }

  std::atomic<bool> held{false};  // on the receiver's side: a value uses it

  // Null: the descriptor cannot be mapped as a block of that many bytes.
  static std::shared_ptr<MappedBlock> map(int fd, size_t size) {
    void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) return nullptr;
    try {
      return std::make_shared<MappedBlock>(memory, size);
    } catch (const std::bad_alloc&) {
      munmap(memory, size);
      return nullptr;
    }
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
    std::shared_ptr<MappedBlock> block;  // null: there is none
    UniqueFd fd;                         // of a new block, to pass
  };

  // A block for that many bytes, marked as in use. Blocks that are given up go into the empty
  // `dropped`.
  Taken take(int64_t bytes, int64_t now, std::vector<uint64_t>& dropped) {
    Taken taken;
    Block* best = nullptr;
    blocks_.reserve(kMaxBlocks);  // nothing below fails for lack of memory
    for (Block& block : blocks_) {
      const int64_t capacity = block.mapped->capacity();
      if (capacity >= bytes && capacity <= 4 * bytes + 4096 &&
          (!best || capacity < best->mapped->capacity()) && block.mapped->free())
        best = &block;
    }
    if (!best) {
      if (total_ + bytes > kSharedLimit || blocks_.size() >= kMaxBlocks)
        drop_free(kSharedLimit - bytes, kMaxBlocks - 1, INT64_MAX, dropped);
      best = create(bytes, &taken.fd);
      if (!best) return taken;
    }
    best->used_ns = now;
    best->mapped->in_use().store(1, std::memory_order_relaxed);
    taken.number = best->number;
    taken.block = best->mapped;
    return taken;
  }

  // Gives up blocks that nobody has used since then.
  void drop_idle(int64_t since_ns, std::vector<uint64_t>& dropped) {
    drop_free(0, 0, since_ns, dropped);
  }
  void clear() {
    blocks_.clear();
    total_ = 0;
  }

 private:
  struct Block {
    uint64_t number;
    std::shared_ptr<MappedBlock> mapped;
    int64_t used_ns;
  };

  Block* create(int64_t bytes, UniqueFd* fd) {
    if (total_ + bytes > kSharedLimit || blocks_.size() >= kMaxBlocks) return nullptr;
    const size_t page = 4096;
    const size_t size = kBlockHead + (size_t(bytes) + page - 1) / page * page;
    UniqueFd made(memfd_create("headrace_block", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!made) return nullptr;
    // fallocate: a full memory is an error here, not a SIGBUS at the first touch.
    int failed;
    while ((failed = fallocate(made.get(), 0, 0, off_t(size))) && errno == EINTR) {}
    if (failed || fcntl(made.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
      return nullptr;
    std::shared_ptr<MappedBlock> mapped = MappedBlock::map(made.get(), size);
    if (!mapped) return nullptr;
    *fd = std::move(made);
    total_ += mapped->capacity();
    blocks_.push_back({++last_, std::move(mapped), 0});
    return &blocks_.back();
  }

  // Drops free blocks that were not used since then, until only so many bytes and blocks are left.
  void drop_free(int64_t bytes, size_t count, int64_t since_ns, std::vector<uint64_t>& dropped) {
    dropped.reserve(blocks_.size());
    auto kept = std::remove_if(blocks_.begin(), blocks_.end(), [&](Block& block) {
      if ((total_ <= bytes && blocks_.size() - dropped.size() <= count) ||
          block.used_ns >= since_ns || !block.mapped->free())
        return false;
      total_ -= block.mapped->capacity();
      dropped.push_back(block.number);
      return true;
    });
    blocks_.erase(kept, blocks_.end());
  }

  std::vector<Block> blocks_;
  uint64_t last_ = 0;
  int64_t total_ = 0;
};

// The blocks of the other side, mapped here. Values keep theirs mapped.
class ReceivedBlocks {
 public:
  // Null: mapped; otherwise what is wrong.
  const char* add(uint64_t number, int64_t capacity, const UniqueFd& fd) {
    struct stat info;
    if (capacity < 0 || capacity > kSharedLimit || fstat(fd.get(), &info) != 0 ||
        info.st_size < int64_t(kBlockHead) + capacity)
      return "a block of shared memory of another size than announced";
    const int seals = fcntl(fd.get(), F_GET_SEALS);
    if (seals < 0 || !(seals & F_SEAL_SHRINK))  // a peer that shrinks it would kill this process
      return "a block of shared memory that is not sealed";
    if (blocks_.size() >= kMaxBlocks || total_ + capacity > 2 * kSharedLimit)
      return "more blocks of shared memory than a link may have";
    if (blocks_.count(number)) return "a block of shared memory twice";
    auto mapped = MappedBlock::map(fd.get(), kBlockHead + size_t(capacity));
    if (!mapped) return "a block of shared memory that cannot be mapped";
    total_ += capacity;
    blocks_[number] = std::move(mapped);
    return nullptr;
  }
  void drop(uint64_t number) {
    auto found = blocks_.find(number);
    if (found == blocks_.end()) return;
    total_ -= found->second->capacity();
    blocks_.erase(found);
  }
  void clear() {
    blocks_.clear();
    total_ = 0;
  }

  // Null: the value, which has dtype and shape, has the elements of the block; or it is empty, as
  // there is no memory. Otherwise what is wrong.
  const char* use(uint64_t number, int64_t bytes, const Memory* memory, Value* value) {
    auto found = blocks_.find(number);
    if (found == blocks_.end() || bytes > found->second->capacity())
      return "a tensor in a block of shared memory that does not exist";
    MappedBlock& block = *found->second;
    if (block.held.exchange(true)) return "two tensors in one block of shared memory";
    auto* hold = new (std::nothrow) Hold{found->second, getpid()};
    hr_buffer* buffer = hold ? memory->wrap(block.elements(), bytes, Hold::free, hold) : nullptr;
    if (!buffer) {
      delete hold;
      block.held = false;
      block.in_use().store(0, std::memory_order_release);
      return nullptr;
    }
    value->tensor.data = block.elements();
    value->tensor.bytes = bytes;
    value->tensor.owner = buffer;
    value->memory = memory;
    return nullptr;
  }

 private:
  // The block of a value.
  struct Hold {
    std::shared_ptr<MappedBlock> block;
    pid_t pid;

    static void free(void* argument) {
      auto* hold = static_cast<Hold*>(argument);
      // A forked child drops its copy of the value; its parent still uses the block.
      if (hold->pid == getpid()) {
        hold->block->held = false;
        hold->block->in_use().store(0, std::memory_order_release);
      }
      delete hold;
    }
  };

  std::unordered_map<uint64_t, std::shared_ptr<MappedBlock>> blocks_;
  int64_t total_ = 0;
};

}  // namespace headrace::distributed
