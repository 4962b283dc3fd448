// Barriers: tuples whose components arrive one by one, under a key. A tuple can be taken once it
// has all of them, the oldest key first.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

#include "state/queue.hpp"

namespace headrace {

// A batch of values of one component, to insert. The views live as long as the call.
struct BarrierInsertion {
  size_t component;
  const hr_tensor *keys, *values;
  // Copies a value, or a key; its shape is that of the view.
  hr_code (*copy)(hr_ctx*, const hr_tensor* view, OwnedTensor* out);
  // A tensor of one int64.
  hr_code (*index)(hr_ctx*, int64_t value, OwnedTensor* out);
};

class Barrier : public Waitable<Barrier, Waiter> {
 public:
  // Of the tuples that a take returns: the index of insertion, the key, and the components.
  QueueSpec spec;
  CompleteDequeue complete_take = nullptr;

  Barrier() { spec.order = QueueOrder::kLeast; }
  static constexpr size_t kFirstComponent = 2;

  // Adds values until one is rejected.
  hr_code insert(hr_ctx* ctx, const BarrierInsertion& insertion) {
    hr_code code = HR_OK;
    change([&](Waiters*) { code = insert_all(ctx, insertion); });
    return code;
  }

  // Without `cancel_pending`, keys that are incomplete may still get their components.
  hr_code close(hr_ctx* ctx, bool cancel_pending) {
    hr_code code = HR_OK;
    std::unordered_map<std::string, Incomplete> dropped;  // ends without the lock
    change([&](Waiters*) {
      if (closed_ && (cancelled_ || !cancel_pending)) {
        code = hr_ctx_fail(ctx, HR_CANCELLED, "Barrier '%s' is already closed.", spec.name.c_str());
        return;
      }
      closed_ = true;
      cancelled_ = cancel_pending;
      if (cancel_pending) incomplete_.swap(dropped);
    });
    return code;
  }

  int64_t ready_size() {
    std::lock_guard<std::mutex> hold(lock_);
    return ready_.size();
  }
  int64_t incomplete_size() {
    std::lock_guard<std::mutex> hold(lock_);
    return static_cast<int64_t>(incomplete_.size());
  }

 private:
  friend class Waitable<Barrier, Waiter>;
  struct Incomplete {
    Elements element;  // one
    size_t missing;    // components
  };
  std::unordered_map<std::string, Incomplete> incomplete_;
  QueueItems ready_{&spec};
  Waiters takes_;
  size_t taken_ = 0;  // elements that waiting takes hold
  int64_t next_index_ = std::numeric_limits<int64_t>::min();
  bool closed_ = false, cancelled_ = false;

  Waiters& list_of(const Waiter*) { return takes_; }
  std::string cancelled_text(const Waiter*) const {
    return "TakeMany operation was cancelled: it waited for barrier '" + spec.name + "'";
  }

  void withdraw(Waiter* take) {
    taken_ -= take->elements.size();
    while (!take->elements.empty()) ready_.put_back(take->elements);
  }

  std::string closed_text() const {
    return ".  Number of incomplete keys: " + std::to_string(incomplete_.size()) + ".";
  }

  hr_code insert_all(hr_ctx* ctx, const BarrierInsertion& in) {
    const int64_t n = in.keys->dims[0];
    if (closed_ && (cancelled_ || (n > 0 && incomplete_.empty())))
      return hr_ctx_fail(ctx, HR_CANCELLED,
                         "Barrier %s is closed.  Pending enqueues cancelled: %d.  Number of new "
                         "insertions: %lld%s",
                         spec.name.c_str(), cancelled_ ? 1 : 0, static_cast<long long>(n),
                         closed_text().c_str());
    bool any_new = false;
    hr_code code = HR_OK;
    for (int64_t i = 0; i < n && code == HR_OK; ++i) code = insert_one(ctx, in, i, &any_new);
    if (any_new && code == HR_OK) ++next_index_;  // as in TensorFlow
    return code;
  }

  hr_code insert_one(hr_ctx* ctx, const BarrierInsertion& in, int64_t i, bool* any_new) {
    const auto& text = static_cast<const hr_string*>(in.keys->data)[i];
    const std::string key(text.data ? text.data : "", text.size);
    auto found = incomplete_.find(key);
    if (found == incomplete_.end() && closed_)
      return hr_ctx_fail(ctx, HR_CANCELLED,
                         "Barrier %s is closed, but attempted to insert a brand new key: %s.  "
                         "Pending enqueues cancelled: %d.  Insertion index: %lld%s",
                         spec.name.c_str(), key.c_str(), cancelled_ ? 1 : 0,
                         static_cast<long long>(i), closed_text().c_str());
    const size_t place = kFirstComponent + in.component;
    if (found != incomplete_.end() && found->second.element.front().parts[place].get()->owner)
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                         "Key %s already has a value for component %zu in barrier %s", key.c_str(),
                         in.component, spec.name.c_str());
    // All that may fail comes before the first change.
    if (!ready_.reserve(taken_ + 1))
      return hr_ctx_fail(ctx, HR_RESOURCE_EXHAUSTED, "no memory for a key of barrier '%s'",
                         spec.name.c_str());
    OwnedTensor value;
    hr_tensor view;
    view_row(in.values, i, &view);
    hr_code code = in.copy(ctx, &view, &value);
    if (code == HR_OK && found == incomplete_.end()) {
      code = add_key(ctx, in, i, key, &found);
      *any_new = *any_new || code == HR_OK;
    }
    if (code != HR_OK) return code;
    found->second.element.front().parts[place].take_from(value);
    if (--found->second.missing > 0) return HR_OK;
    ready_.push(found->second.element);
    incomplete_.erase(found);
    return HR_OK;
  }

  hr_code add_key(hr_ctx* ctx, const BarrierInsertion& in, int64_t i, const std::string& key,
                  std::unordered_map<std::string, Incomplete>::iterator* found) {
    Incomplete created{Elements(1), spec.types.size() - kFirstComponent};
    std::vector<OwnedTensor>& parts = created.element.front().parts;
    parts.resize(spec.types.size());
    hr_code code = in.index(ctx, next_index_, &parts[0]);
    hr_tensor view;
    view_row(in.keys, i, &view);
    if (code == HR_OK) code = in.copy(ctx, &view, &parts[1]);
    if (code == HR_OK) *found = incomplete_.emplace(key, std::move(created)).first;
    return code;
  }

  void settle(Waiters* finished) {
    while (!takes_.empty()) {
      Waiter* take = takes_.front().get();
      while (static_cast<int64_t>(take->elements.size()) < take->requested && ready_.size() > 0) {
        ready_.take(take->elements);
        ++taken_;
      }
      const auto have = static_cast<int64_t>(take->elements.size());
      if (have < take->requested) {
        if (!closed_) return;
        const auto to_come = take->up_to ? 0 : static_cast<int64_t>(incomplete_.size());
        if (!take->up_to && have + to_come >= take->requested) return;
        if (!take->up_to || have == 0) {
          take->fail(HR_OUT_OF_RANGE, [&] {
            return "Barrier '" + spec.name +
                   "' is closed and has insufficient elements (requested " +
                   std::to_string(take->requested) + ", total size " +
                   std::to_string(have + to_come) + ")";
          });
          withdraw(take);
        }
      }
      taken_ -= take->elements.size();
      finished->splice(finished->end(), takes_, takes_.begin());
    }
  }

  hr_code complete(Waiter* take) { return complete_take(take, &spec); }
};

}  // namespace headrace
