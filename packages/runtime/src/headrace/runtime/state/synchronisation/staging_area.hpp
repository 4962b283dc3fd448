// Staging areas: tuples of tensors, first in first out. Puts wait for room, gets and peeks for
// elements.
#pragma once
#include <cstdint>
#include <list>
#include <string>
#include <vector>

#include "state/synchronisation/waiting.hpp"

namespace headrace {

// The limits of a staging area; 0: none.
struct StagingLimits {
  int64_t capacity = 0;  // elements
  int64_t bytes = 0;

  bool admit(int64_t elements, int64_t held_bytes, int64_t new_bytes) const {
    return (capacity == 0 || elements < capacity) &&
           (bytes == 0 || held_bytes + new_bytes <= bytes);
  }
  // The error of a tuple that never fits; empty: it may fit.
  std::string rejection(int64_t new_bytes) const {
    if (bytes == 0 || new_bytes <= bytes) return std::string();
    return "Attempted to insert tensors with combined size of '" + std::to_string(new_bytes) +
           "' bytes into Staging Area with a memory limit of '" + std::to_string(bytes) + "'.";
  }
};

// The memory of a tensor, with that of its strings.
inline int64_t staged_bytes(const hr_tensor* t) {
  int64_t n = t->bytes;
  if (t->dtype == HR_STRING)
    for (int64_t i = 0, count = hr_elements(t); i < count; ++i)
      n += static_cast<int64_t>(static_cast<const hr_string*>(t->data)[i].size);
  return n;
}

inline std::string staging_mismatch(size_t staged, size_t unstaged) {
  return "Mismatch stage/unstage: " + std::to_string(staged) + " vs. " + std::to_string(unstaged);
}

struct StagedTuple {
  std::vector<OwnedTensor> parts;
  int64_t bytes = 0;
};

struct StageWaiter : Waiting {
  enum Kind { kPut, kGet, kPeek } kind;
  size_t index = 0;              // of a peek
  std::list<StagedTuple> tuple;  // one: to put, or what a get or a peek returns
};

class StagingArea : public Waitable<StagingArea, StageWaiter> {
 public:
  StagingLimits limits;
  std::string name;

  int64_t size() {
    std::lock_guard<std::mutex> hold(lock_);
    return static_cast<int64_t>(tuples_.size());
  }
  void clear() {
    std::list<StagedTuple> cleared;  // ends without the lock
    change([&](Waiters*) {
      cleared.swap(tuples_);
      bytes_ = 0;
    });
  }

 private:
  friend class Waitable<StagingArea, StageWaiter>;
  std::list<StagedTuple> tuples_;
  int64_t bytes_ = 0;
  Waiters puts_, takes_;

  Waiters& list_of(const StageWaiter* w) { return w->kind == StageWaiter::kPut ? puts_ : takes_; }
  void withdraw(StageWaiter*) {}
  std::string cancelled_text(const StageWaiter* w) const {
    return std::string(w->kind == StageWaiter::kPut ? "Stage" : "Unstage") +
           " operation was cancelled: it waited for staging area '" + name + "'";
  }

  void settle(Waiters* finished) {
    for (bool moved = true; moved;) {
      moved = settle_puts(finished);
      moved = settle_takes(finished) || moved;
    }
  }

  bool settle_puts(Waiters* finished) {
    bool moved = false;
    while (!puts_.empty()) {
      StageWaiter* w = puts_.front().get();
      const auto held = static_cast<int64_t>(tuples_.size());
      if (!limits.admit(held, bytes_, w->tuple.front().bytes)) break;
      bytes_ += w->tuple.front().bytes;
      tuples_.splice(tuples_.end(), w->tuple);
      finished->splice(finished->end(), puts_, puts_.begin());
      moved = true;
    }
    return moved;
  }

  // In the order of their arrival, but a peek that waits holds up no other operation.
  bool settle_takes(Waiters* finished) {
    bool moved = false;
    for (auto it = takes_.begin(); it != takes_.end();) {
      auto next = std::next(it);
      StageWaiter* w = it->get();
      if ((w->kind == StageWaiter::kPeek ? w->index : 0) < tuples_.size()) {
        if (w->kind == StageWaiter::kPeek) peek(w);
        else take(w);
        finished->splice(finished->end(), takes_, it);
        moved = true;
      }
      it = next;
    }
    return moved;
  }

  void take(StageWaiter* w) {
    w->tuple.clear();
    w->tuple.splice(w->tuple.end(), tuples_, tuples_.begin());
    bytes_ -= w->tuple.front().bytes;
  }

  void peek(StageWaiter* w) {
    const std::vector<OwnedTensor>& held = std::next(tuples_.begin(), long(w->index))->parts;
    std::vector<OwnedTensor>& parts = w->tuple.front().parts;
    if (held.size() != parts.size())
      return w->fail(HR_INVALID_ARGUMENT,
                     [&] { return staging_mismatch(held.size(), parts.size()); });
    for (size_t i = 0; i < parts.size(); ++i) parts[i].share(*held[i].get());
  }

  hr_code complete(StageWaiter* w) {
    if (w->kind == StageWaiter::kPut) return HR_OK;
    std::vector<OwnedTensor>& parts = w->tuple.front().parts;
    if (parts.size() != static_cast<size_t>(w->n_outputs)) {
      w->message = staging_mismatch(parts.size(), static_cast<size_t>(w->n_outputs));
      return HR_INVALID_ARGUMENT;
    }
    for (size_t i = 0; i < parts.size(); ++i) *w->outputs[i] = parts[i].take();
    return HR_OK;
  }
};

}  // namespace headrace
