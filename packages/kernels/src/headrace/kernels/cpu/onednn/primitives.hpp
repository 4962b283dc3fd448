// oneDNN behind the kernel ABI: one engine, a stream per thread, and programs of primitives, which
// prepare creates and compute runs without allocation.
#pragma once

#include <omp.h>
#include <dnnl.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "headrace/kernel.h"

namespace hr::onednn {

using desc = dnnl::memory::desc;
using dims = dnnl::memory::dims;
using tag = dnnl::memory::format_tag;

const dnnl::engine& engine();

// Attributes for every primitive here: the caller owns the scratchpad, because a library
// scratchpad belongs to the thread that made the primitive.
dnnl::primitive_attr attributes();

// The values at `data`, which lie as `from` says, copied into the layout `wanted`. Who packs the
// same values into the same layout while they are in use gets the same memory.
std::shared_ptr<const dnnl::memory> packed(const desc& from, const void* data,
                                           const desc& preferred);

// oneDNN bakes the number of threads into a primitive when it is made.
class PoolSize {
 public:
  explicit PoolSize(int threads) : before_(omp_get_max_threads()) {
    if (threads != before_) omp_set_num_threads(threads);
    threads_ = threads;
  }
  ~PoolSize() {
    if (threads_ != before_) omp_set_num_threads(before_);
  }
  PoolSize(const PoolSize&) = delete;
  PoolSize& operator=(const PoolSize&) = delete;

 private:
  int before_, threads_;
};

// Primitives in sequence over numbered memories. Built by one thread, then immutable but
// for a pool of frames (memory objects with handles), one of which each run borrows.
class Program {
 public:
  explicit Program(int threads) : threads_(threads) {}
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Memory `index` of the pointers that run() is given.
  int external(int index, const desc& d);
  // Memory that the program holds, the same in every run; only read.
  int constant(std::shared_ptr<const dnnl::memory> memory);
  // Memory of this run's workspace.
  int scratch(const desc& d);
  // The same values under another descriptor: `memory` itself, or a reorder into scratch.
  int reordered(int memory, const desc& preferred);
  void copy(int from, int to);
  template <class Primitive, class PrimitiveDesc>
  void add(const PrimitiveDesc& pd, std::vector<std::pair<int, int>> args) {
    append(Primitive(pd), pd.scratchpad_desc().get_size(), std::move(args));
  }
  const desc& at(int memory) const { return memories_[memory].d; }

  size_t workspace() const { return workspace_ + scratchpad_; }
  // external[i] in the order of the indices above; workspace of the requested size.
  hr_code run(hr_ctx* ctx, void* const* external, void* workspace) const;

 private:
  struct Memory {
    desc d;
    int external;  // -1: in the workspace, or constant
    size_t offset;
    std::shared_ptr<const dnnl::memory> constant;
  };
  struct Step {
    dnnl::primitive primitive;
    std::vector<std::pair<int, int>> args;
    bool scratchpad;
  };
  struct Frame;
  void append(dnnl::primitive p, size_t scratchpad, std::vector<std::pair<int, int>> args);
  Frame* borrow() const;
  void give_back(Frame* frame) const;

  int threads_;
  std::vector<Memory> memories_;
  std::vector<Step> steps_;
  size_t workspace_ = 0, scratchpad_ = 0;
  mutable std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
  mutable Frame* frames_ = nullptr;
};

}  // namespace hr::onednn
