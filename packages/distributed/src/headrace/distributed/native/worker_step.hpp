// A step on a worker: the rendezvous of its partition's run (headrace/worker.h).
#pragma once
#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "native/link.hpp"
#include "native/memory.hpp"
#include "native/step_key.hpp"
#include "native/tensor_payload.hpp"

namespace headrace::distributed {

// What a registered partition sends where, and on whom its steps depend.
struct Binding {
  struct Peer {
    uint64_t incarnation;
    std::string name;
  };
  static constexpr int32_t kNowhere = -1, kMaster = -2;
  uint64_t session = 0;
  int64_t partition = 0;
  std::vector<Peer> peers;
  std::vector<int32_t> destination;  // by edge: a place in peers, or a constant
};

// Why a step was ended; it needs no memory.
struct Failure {
  hr_code code = HR_OK;
  char why[512] = "";

  void set(hr_code failed, const char* reason) noexcept {
    code = failed;
    std::snprintf(why, sizeof why, "%s", reason);
  }
};

class WorkerStep {
 public:
  WorkerStep(StepKey key, const Memory* memory) : key(key), memory_(memory) {
    abi_.abi.size = sizeof(hr_rendezvous);
    abi_.self = this;
    abi_.abi.send = [](hr_rendezvous* r, const hr_edge_key* key, const hr_tensor* value,
                       int32_t dead) { return self(r)->send(*key, value, dead); };
    abi_.abi.recv = [](hr_rendezvous* r, const hr_edge_key* key, hr_received done, void* argument) {
      self(r)->recv(*key, done, argument);
    };
    abi_.abi.abort = [](hr_rendezvous* r, hr_code code, const char* message) {
      self(r)->end(code, message, false);
    };
  }
  WorkerStep(const WorkerStep&) = delete;
  WorkerStep& operator=(const WorkerStep&) = delete;
  ~WorkerStep() { abort(HR_CANCELLED, "the step is over"); }

  hr_rendezvous* abi() { return &abi_.abi; }
  const Memory* memory() const { return memory_; }

  // Before the first send, under the endpoint's lock: where the values go.
  void connect(std::shared_ptr<const Binding> bound, LinkRef to_master,
               std::vector<LinkRef> to_peers) noexcept {
    binding_ = std::move(bound);
    master_ = std::move(to_master);
    links_ = std::move(to_peers);
  }
  // After connect, or under the endpoint's lock.
  const LinkRef& master() const { return master_; }
  bool uses(const LinkRef& link) const {
    if (master_ == link) return true;
    for (const LinkRef& other : links_)
      if (other == link) return true;
    return false;
  }

  // A value for another task or the master.
  hr_code send(const hr_edge_key& to, const hr_tensor* value, int32_t dead) noexcept {
    const size_t edge = size_t(to.edge);
    const int32_t place = binding_ && to.edge >= 0 && edge < binding_->destination.size()
                              ? binding_->destination[edge]
                              : Binding::kNowhere;
    const bool to_master = place == Binding::kMaster;
    if (place == Binding::kNowhere || (to_master && !master_)) return HR_INTERNAL;
    Message message;
    FrameHeader& header = message.header;
    header.type = FrameType::kTensor;
    header.flags = to_master ? kFetch : 0;
    header.session = key.session;
    header.step = key.step;
    header.edge = to.edge;
    header.frame = to.frame;
    header.iteration = to.iteration;
    if (dead || !value) {
      header.flags |= kDead;
    } else if (!is_sendable(value->dtype) || value->layout) {
      char why[160];
      std::snprintf(why, sizeof why,
                    "a tensor of DataType %d and layout %lld means nothing in another task: it "
                    "cannot be sent over edge %lld",
                    int(value->dtype), (long long)value->layout, (long long)to.edge);
      abort(HR_UNIMPLEMENTED, why);
      return HR_UNIMPLEMENTED;
    } else {
      message.value = value;
    }
    const LinkRef& link = to_master ? master_ : links_[size_t(place)];
    try {
      if (!link->dead) {
        link->send(&message, 1);
        return HR_OK;
      }
    } catch (const std::exception&) { return HR_RESOURCE_EXHAUSTED; }
    char why[400];
    std::snprintf(why, sizeof why, "%.300s is not available: its link was lost during the step",
                  link->peer_name.c_str());
    abort(HR_UNAVAILABLE, why);
    return HR_UNAVAILABLE;
  }

  // After a failure of its run: what other tasks have from it, they need not keep. Their master
  // ends those that run.
  void give_up() noexcept {
    Message message;
    message.header.type = FrameType::kAbort;
    message.header.flags = kGivenUp;
    message.header.session = key.session;
    message.header.step = key.step;
    for (const LinkRef& link : links_) {
      try {
        link->send(&message, 1);
      } catch (const std::exception&) {}  // they keep it for a while
    }
  }

  void recv(const hr_edge_key& from, hr_received done, void* argument) noexcept {
    Item item;
    Failure failure;
    try {
      std::lock_guard<std::mutex> hold(lock_);
      if (failure_.code == HR_OK) {
        auto found = items_.find(from);
        if (found == items_.end()) {
          waiters_.emplace(from, Waiter{done, argument});
          return;
        }
        item = std::move(found->second);
        items_.erase(found);
      } else {
        failure = failure_;
      }
    } catch (const std::exception&) {
      failure.set(HR_RESOURCE_EXHAUSTED, "no memory to wait for a value of another task");
    }
    report(done, argument, failure, item);
  }

  // Gives up a receive. False: it was or will be reported.
  bool forget(const hr_edge_key& from, void* argument) noexcept {
    std::lock_guard<std::mutex> hold(lock_);
    auto range = waiters_.equal_range(from);
    for (auto waiter = range.first; waiter != range.second; ++waiter)
      if (waiter->second.argument == argument) {
        waiters_.erase(waiter);
        return true;
      }
    return false;
  }

  // A value from another task.
  void arrive(const hr_edge_key& at, Value&& value, int32_t dead) {
    Item item;
    item.value = std::move(value);
    item.dead = dead;
    Waiter waiter;
    {
      std::lock_guard<std::mutex> hold(lock_);
      if (failure_.code != HR_OK) return;
      auto found = waiters_.find(at);
      if (found == waiters_.end()) {
        items_.emplace(at, std::move(item));
        return;
      }
      waiter = found->second;
      waiters_.erase(found);
    }
    report(waiter.done, waiter.argument, Failure(), item);
  }

  // Ends the step for a reason that its own run does not know.
  void abort(hr_code code, const char* why) noexcept { end(code, why, true); }

  // The reason of an abort, unless the run had failed before; its code is HR_OK if there is none.
  Failure aborted() noexcept {
    std::lock_guard<std::mutex> hold(lock_);
    return was_aborted_ ? failure_ : Failure();
  }

  const StepKey key;
  // Of the endpoint, under its lock.
  int64_t run = 0;  // 0: values have come, but not yet the order to run
  int64_t since_ns = 0;
  int64_t early_bytes = 0;  // of values that came before the order to run
  int64_t opener = 0;       // the link that made the step before the order to run

 private:
  struct Item {
    Value value;
    int32_t dead = 0;
  };
  struct Waiter {
    hr_received done = nullptr;
    void* argument = nullptr;
  };
  struct Abi {
    hr_rendezvous abi;  // first: a pointer to it is one to the struct
    WorkerStep* self;
  };
  static WorkerStep* self(hr_rendezvous* r) { return reinterpret_cast<Abi*>(r)->self; }

  void end(hr_code code, const char* why, bool aborted) noexcept {
    std::unordered_multimap<hr_edge_key, Waiter, EdgeHash, EdgeEqual> waiters;
    std::unordered_multimap<hr_edge_key, Item, EdgeHash, EdgeEqual> items;
    {
      std::lock_guard<std::mutex> hold(lock_);
      if (failure_.code != HR_OK) return;
      failure_.set(code, why);
      was_aborted_ = aborted;
      waiters.swap(waiters_);
      items.swap(items_);
    }
    Item none;
    for (auto& entry : waiters) report(entry.second.done, entry.second.argument, failure_, none);
  }

  static void report(hr_received done, void* argument, const Failure& failure, Item& item) {
    hr_tensor value = item.value.tensor;
    hr_tensor* given = failure.code == HR_OK && !item.value.empty() ? &value : nullptr;
    done(argument, failure.code, failure.why, given, item.dead);
    // A receiver that keeps the value has taken the reference.
    if (given && !value.owner) item.value.memory = nullptr;
  }

  Abi abi_;
  const Memory* const memory_;
  std::shared_ptr<const Binding> binding_;
  LinkRef master_;
  std::vector<LinkRef> links_;  // by peer of the binding

  std::mutex lock_;  // all below
  std::unordered_multimap<hr_edge_key, Item, EdgeHash, EdgeEqual> items_;
  std::unordered_multimap<hr_edge_key, Waiter, EdgeHash, EdgeEqual> waiters_;
  Failure failure_;
  bool was_aborted_ = false;
};

}  // namespace headrace::distributed
