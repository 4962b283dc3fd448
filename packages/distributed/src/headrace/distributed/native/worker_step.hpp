// A step on a worker: the rendezvous of its partition's run (headrace/worker.h).
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "native/link.hpp"
#include "native/memory.hpp"

namespace headrace::distributed {

struct StepKey {
  uint64_t session = 0, step = 0;
  bool operator==(const StepKey& other) const {
    return session == other.session && step == other.step;
  }
};

inline uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}
struct StepKeyHash {
  size_t operator()(const StepKey& key) const { return size_t(mixed(key.session + mixed(key.step))); }
};
struct EdgeHash {
  size_t operator()(const hr_edge_key& key) const {
    return size_t(mixed(uint64_t(key.edge) * 0x9e3779b97f4a7c15u + key.frame +
                        uint64_t(key.iteration)));
  }
};
struct EdgeEqual {
  bool operator()(const hr_edge_key& a, const hr_edge_key& b) const {
    return a.edge == b.edge && a.frame == b.frame && a.iteration == b.iteration;
  }
};

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
      self(r)->abort(code, message);
    };
  }
  WorkerStep(const WorkerStep&) = delete;
  WorkerStep& operator=(const WorkerStep&) = delete;

  hr_rendezvous* abi() { return &abi_.abi; }
  const Memory* memory() const { return memory_; }

  // Before the first send: where the values go.
  void connect(std::shared_ptr<const Binding> bound, LinkRef to_master, std::vector<LinkRef> to_peers) {
    binding = std::move(bound);
    master = std::move(to_master);
    links = std::move(to_peers);
  }

  // A value for another task or the master.
  hr_code send(const hr_edge_key& to, const hr_tensor* value, int32_t dead) noexcept {
    try {
      const int32_t place = binding && to.edge >= 0 && size_t(to.edge) < binding->destination.size()
                                ? binding->destination[size_t(to.edge)]
                                : Binding::kNowhere;
      Message message;
      FrameHeader& header = message.header;
      header.type = FrameType::kTensor;
      header.session = key.session;
      header.step = key.step;
      header.edge = to.edge;
      header.frame = to.frame;
      header.iteration = to.iteration;
      if (dead || !value) header.flags |= kDead;
      else message.value = value;
      if (place == Binding::kMaster) {
        header.flags |= kFetch;
        master->send(&message, 1);
        return HR_OK;
      }
      if (place == Binding::kNowhere) return HR_INTERNAL;
      const LinkRef& link = links[size_t(place)];
      if (link->dead) {
        abort(HR_UNAVAILABLE,
              "the link to " + binding->peers[size_t(place)].name + " was lost during the step");
        return HR_UNAVAILABLE;
      }
      link->send(&message, 1);
      return HR_OK;
    } catch (const std::bad_alloc&) { return HR_RESOURCE_EXHAUSTED; }
  }

  void recv(const hr_edge_key& from, hr_received done, void* argument) noexcept {
    Item item;
    hr_code code;
    std::string message;
    try {
      std::lock_guard<std::mutex> hold(lock_);
      code = code_;
      if (code == HR_OK) {
        auto found = items_.find(from);
        if (found == items_.end()) {
          waiters_.emplace(from, Waiter{done, argument});
          return;
        }
        item = std::move(found->second);
        items_.erase(found);
      } else {
        message = message_;
      }
    } catch (const std::bad_alloc&) {
      done(argument, HR_RESOURCE_EXHAUSTED, "no memory to wait for a value of another task", nullptr,
           0);
      return;
    }
    report(done, argument, code, message.c_str(), item);
  }

  // A value from another task.
  void arrive(const hr_edge_key& at, Value&& value, int32_t dead) {
    Item item;
    item.value = std::move(value);
    item.dead = dead;
    Waiter waiter;
    {
      std::lock_guard<std::mutex> hold(lock_);
      if (code_ != HR_OK) return;
      auto found = waiters_.find(at);
      if (found == waiters_.end()) {
        items_.emplace(at, std::move(item));
        return;
      }
      waiter = found->second;
      waiters_.erase(found);
    }
    report(waiter.done, waiter.argument, HR_OK, "", item);
  }

  void abort(hr_code code, const std::string& why) noexcept {
    std::unordered_multimap<hr_edge_key, Waiter, EdgeHash, EdgeEqual> waiters;
    std::unordered_multimap<hr_edge_key, Item, EdgeHash, EdgeEqual> items;
    {
      std::lock_guard<std::mutex> hold(lock_);
      if (code_ != HR_OK) return;
      code_ = code;
      try {
        message_ = why;
      } catch (const std::bad_alloc&) {}  // the code says enough
      waiters.swap(waiters_);
      items.swap(items_);
    }
    for (auto& entry : waiters)
      entry.second.done(entry.second.argument, code, why.c_str(), nullptr, 0);
  }

  // The reason of an abort, if there was one.
  std::pair<hr_code, std::string> failure() {
    std::lock_guard<std::mutex> hold(lock_);
    return {code_, message_};
  }

  const StepKey key;
  std::shared_ptr<const Binding> binding;
  LinkRef master;
  std::vector<LinkRef> links;  // by peer of the binding
  // Of the endpoint, under its lock.
  int64_t run = 0;  // 0: values have come, but not yet the order to run
  int64_t since_ns = 0;

 private:
  struct Item {
    Value value;
    int32_t dead = 0;
  };
  struct Waiter {
    hr_received done;
    void* argument;
  };
  struct Abi {
    hr_rendezvous abi;  // first: a pointer to it is one to the struct
    WorkerStep* self;
  };
  static WorkerStep* self(hr_rendezvous* r) { return reinterpret_cast<Abi*>(r)->self; }

  static void report(hr_received done, void* argument, hr_code code, const char* message,
                     Item& item) {
    hr_tensor value = item.value.tensor;
    hr_tensor* given = code == HR_OK && !item.value.empty() ? &value : nullptr;
    done(argument, code, message, given, item.dead);
    // A receiver that keeps the value has taken the reference.
    if (given && !value.owner) item.value.memory = nullptr;
  }

  Abi abi_;
  const Memory* memory_;
  std::mutex lock_;
  std::unordered_multimap<hr_edge_key, Item, EdgeHash, EdgeEqual> items_;
  std::unordered_multimap<hr_edge_key, Waiter, EdgeHash, EdgeEqual> waiters_;
  hr_code code_ = HR_OK;
  std::string message_;
};

}  // namespace headrace::distributed
