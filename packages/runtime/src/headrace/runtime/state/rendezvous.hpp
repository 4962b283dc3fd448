// The rendezvous of Send and Recv in one process (white paper §3.2.2, §5.2).
#pragma once
#include <mutex>
#include <new>
#include <string>
#include <unordered_map>
#include <utility>

#include "headrace/worker.h"
#include "state/run.hpp"

namespace headrace {

inline uint64_t mix_bits(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// A number for a name: the same in every process.
inline uint64_t name_number(const char* data, size_t size) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (size_t i = 0; i < size; ++i) hash = (hash ^ uint8_t(data[i])) * 0x100000001b3u;
  return mix_bits(hash);
}

// The number of a frame: the loop `name`, entered from an iteration of the frame `parent`.
inline uint64_t frame_number(uint64_t parent, int64_t iteration, uint64_t name) {
  const uint64_t number = mix_bits(mix_bits(parent + uint64_t(iteration) + 1) ^ name);
  return number ? number : 1;
}

struct EdgeKeyHash {
  size_t operator()(const hr_edge_key& key) const {
    return size_t(
        mix_bits(uint64_t(key.edge) * 0x9e3779b97f4a7c15u + key.frame + uint64_t(key.iteration)));
  }
};
struct EdgeKeyEqual {
  bool operator()(const hr_edge_key& a, const hr_edge_key& b) const {
    return a.edge == b.edge && a.frame == b.frame && a.iteration == b.iteration;
  }
};

// The rendezvous of one step. Each sent value goes to one receive of its key. Several sends or
// receives of one key, possible only in graphs that contain the ops themselves, match in any order.
// Without memory, a send returns an error, and a receive ends with one.
class LocalRendezvous {
 public:
  LocalRendezvous() {
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
  LocalRendezvous(const LocalRendezvous&) = delete;
  LocalRendezvous& operator=(const LocalRendezvous&) = delete;

  hr_rendezvous* abi() { return &abi_.abi; }

  // value: null only if dead.
  hr_code send(const hr_edge_key& key, const hr_tensor* value, int32_t dead) noexcept {
    Waiter waiter;
    Item item;
    if (value && !dead) item.value.share(*value);
    item.dead = dead;
    try {
      std::lock_guard<std::mutex> hold(lock_);
      if (code_ != HR_OK) return code_;
      auto found = waiters_.find(key);
      if (found == waiters_.end()) {
        items_.emplace(key, std::move(item));
        return HR_OK;
      }
      waiter = found->second;
      waiters_.erase(found);
    } catch (const std::bad_alloc&) { return HR_RESOURCE_EXHAUSTED; }
    waiter.done(waiter.argument, HR_OK, "", item.value.get(), dead);
    return HR_OK;
  }

  void recv(const hr_edge_key& key, hr_received done, void* argument) noexcept {
    Item item;
    hr_code code;
    std::string message;
    try {
      std::lock_guard<std::mutex> hold(lock_);
      code = code_;
      if (code == HR_OK) {
        auto found = items_.find(key);
        if (found == items_.end()) {
          waiters_.emplace(key, Waiter{done, argument});
          return;
        }
        item = std::move(found->second);
        items_.erase(found);
      } else {
        message = message_;
      }
    } catch (const std::bad_alloc&) {
      done(argument, HR_RESOURCE_EXHAUSTED, "no memory to wait for a value of another device",
           nullptr, 0);
      return;
    }
    done(argument, code, message.c_str(), code == HR_OK ? item.value.get() : nullptr, item.dead);
  }

  void abort(hr_code code, const char* message) noexcept {
    std::unordered_multimap<hr_edge_key, Waiter, EdgeKeyHash, EdgeKeyEqual> waiters;
    {
      std::lock_guard<std::mutex> hold(lock_);
      if (code_ != HR_OK) return;
      code_ = code;
      try {
        message_ = message;
      } catch (const std::bad_alloc&) {}  // the code says enough
      waiters.swap(waiters_);
    }
    for (auto& entry : waiters) entry.second.done(entry.second.argument, code, message, nullptr, 0);
  }

 private:
  struct Item {
    OwnedTensor value;
    int32_t dead = 0;
  };
  struct Waiter {
    hr_received done;
    void* argument;
  };
  struct Abi {
    hr_rendezvous abi;  // first: a pointer to it is one to the struct
    LocalRendezvous* self;
  };
  static LocalRendezvous* self(hr_rendezvous* r) { return reinterpret_cast<Abi*>(r)->self; }

  Abi abi_;
  std::mutex lock_;
  std::unordered_multimap<hr_edge_key, Item, EdgeKeyHash, EdgeKeyEqual> items_;
  std::unordered_multimap<hr_edge_key, Waiter, EdgeKeyHash, EdgeKeyEqual> waiters_;
  hr_code code_ = HR_OK;
  std::string message_;
};

}  // namespace headrace
