// Staging areas with keys: the tensors of a tuple may be put, and taken, in parts.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "memory/dtype_names.hpp"
#include "state/synchronisation/staging_area.hpp"

namespace headrace {

// A tuple, some of whose tensors may be missing.
struct KeyedTuple {
  std::vector<OwnedTensor> parts;
  std::vector<char> present;

  size_t count() const { return size_t(std::count(present.begin(), present.end(), 1)); }
};

using KeyedTuples = std::map<int64_t, KeyedTuple>;

struct MapWaiter : Waiting {
  enum Kind { kPut, kGet, kPeek, kGetAny } kind;
  int64_t key = 0;
  std::vector<int32_t> indices;
  const hr_dtype* types = nullptr;  // of the outputs for `indices`
  KeyedTuples tuple;                // to put: one, of as many tensors as the area has
  int64_t bytes = 0;
  std::vector<OwnedTensor> taken;  // one for each index
};

class StagingMap : public Waitable<StagingMap, MapWaiter> {
 public:
  StagingLimits limits;
  std::string name;

  // Sets the dtypes of a tuple's tensors, unless an op that puts tuples has done so.
  void declare(const hr_dtype* types, size_t n) {
    std::lock_guard<std::mutex> hold(lock_);
    if (types_.empty()) types_.assign(types, types + n);
  }
  // They do not change, so an op that has declared them may read them at any time.
  const std::vector<hr_dtype>& types() const { return types_; }

  std::string out_of_bounds(int64_t index, int64_t key, size_t n) const {
    return "Index '" + std::to_string(index) + "' for key '" + std::to_string(key) +
           "' was out of bounds '" + std::to_string(n) + "'.";
  }
  std::string other_type(int64_t index, hr_dtype held, hr_dtype actual) const {
    return "tensor " + std::to_string(index) + " of staging area '" + name + "' is " +
           dtype_name(held) + ", got " + dtype_name(actual);
  }

  int64_t size() {
    std::lock_guard<std::mutex> hold(lock_);
    return static_cast<int64_t>(complete_.size());
  }
  int64_t incomplete_size() {
    std::lock_guard<std::mutex> hold(lock_);
    return static_cast<int64_t>(incomplete_.size());
  }
  void clear() {
    KeyedTuples one, other;  // end without the lock
    change([&](Waiters*) {
      complete_.swap(one);
      incomplete_.swap(other);
      bytes_ = 0;
    });
  }

 private:
  friend class Waitable<StagingMap, MapWaiter>;
  std::vector<hr_dtype> types_;
  KeyedTuples complete_, incomplete_;
  int64_t bytes_ = 0;
  Waiters puts_, takes_;

  Waiters& list_of(const MapWaiter* w) { return w->kind == MapWaiter::kPut ? puts_ : takes_; }
  void withdraw(MapWaiter*) {}
  std::string cancelled_text(const MapWaiter* w) const {
    return std::string(w->kind == MapWaiter::kPut ? "MapStage" : "MapUnstage") +
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
    for (auto it = puts_.begin(); it != puts_.end();) {
      const auto at = it++;
      if (!put(at->get()))
        continue;  // others may still be admitted: they have other sizes and keys
      finished->splice(finished->end(), puts_, at);
      moved = true;
    }
    return moved;
  }

  // Whether the put has ended. Incomplete tuples do not count as elements.
  bool put(MapWaiter* w) {
    KeyedTuple& put = w->tuple.begin()->second;
    auto found = incomplete_.find(w->key);
    size_t present = put.count();
    if (found != incomplete_.end()) {
      for (size_t i = 0; i < put.present.size(); ++i)
        if (put.present[i] && found->second.present[i]) {
          w->fail(HR_INVALID_ARGUMENT, [&] {
            return "The tensor for index '" + std::to_string(i) + "' for key '" +
                   std::to_string(w->key) + "' was already initialized '" +
                   std::to_string(types_.size()) + "'.";
          });
          return true;
        }
      present += found->second.count();
    }
    const bool completes = present == types_.size();
    const auto held = completes ? static_cast<int64_t>(complete_.size()) : -1;
    if (!limits.admit(held, bytes_, w->bytes)) return false;
    if (found != incomplete_.end()) {
      merge(put, &found->second);
      if (completes) complete_.insert(incomplete_.extract(found));
    } else {
      auto added = (completes ? complete_ : incomplete_).insert(w->tuple.extract(w->tuple.begin()));
      if (!added.inserted) {  // as in TensorFlow, a second tuple of a key is dropped
        w->tuple.insert(std::move(added.node));  // ends with the waiter, without the lock
        return true;
      }
    }
    bytes_ += w->bytes;
    return true;
  }

  static void merge(KeyedTuple& from, KeyedTuple* into) {
    for (size_t i = 0; i < from.present.size(); ++i) {
      if (!from.present[i]) continue;
      into->parts[i].take_from(from.parts[i]);
      into->present[i] = 1;
    }
  }

  bool settle_takes(Waiters* finished) {
    bool moved = false;
    for (auto it = takes_.begin(); it != takes_.end();) {
      auto next = std::next(it);
      MapWaiter* w = it->get();
      auto found = w->kind == MapWaiter::kGetAny ? complete_.begin() : complete_.find(w->key);
      if (found != complete_.end()) {
        take(w, found);
        finished->splice(finished->end(), takes_, it);
        moved = true;
      }
      it = next;
    }
    return moved;
  }

  void take(MapWaiter* w, KeyedTuples::iterator found) {
    w->key = found->first;
    KeyedTuple& held = found->second;
    for (size_t i = 0; i < w->indices.size(); ++i)
      if (!may_take(w, held, i)) return;
    for (size_t i = 0; i < w->indices.size(); ++i) {
      const auto index = static_cast<size_t>(w->indices[i]);
      w->taken[i].share(*held.parts[index].get());
      if (w->kind == MapWaiter::kPeek) continue;
      bytes_ -= staged_bytes(held.parts[index].get());
      held.parts[index].reset();
      held.present[index] = 0;
    }
    if (held.count() == 0) w->tuple.insert(complete_.extract(found));  // ends with the waiter
  }

  // Whether a tuple has the i-th tensor that an operation takes; if not, the operation fails.
  bool may_take(MapWaiter* w, const KeyedTuple& held, size_t i) {
    const auto index = static_cast<size_t>(w->indices[i]);
    if (index >= held.present.size()) {
      w->fail(HR_INVALID_ARGUMENT,
              [&] { return out_of_bounds(int64_t(index), w->key, held.present.size()); });
      return false;
    }
    if (!held.present[index]) {
      w->fail(HR_INVALID_ARGUMENT, [&] {
        return "Tensor at index '" + std::to_string(index) + "' for key '" +
               std::to_string(w->key) + "' has already been removed.";
      });
      return false;
    }
    const hr_dtype type = held.parts[index].get()->dtype;
    if (type != w->types[i])
      w->fail(HR_INVALID_ARGUMENT, [&] { return other_type(int64_t(index), type, w->types[i]); });
    return type == w->types[i];
  }

  hr_code complete(MapWaiter* w) {
    if (w->kind == MapWaiter::kPut) return HR_OK;
    size_t output = 0;
    if (w->kind == MapWaiter::kGetAny) {
      hr_tensor* key = w->outputs[output++];
      key->rank = 0;
      const hr_code code = w->ctx->api->allocate(w->ctx, key);
      if (code != HR_OK) return code;
      *static_cast<int64_t*>(key->data) = w->key;
    }
    for (OwnedTensor& taken : w->taken) *w->outputs[output++] = taken.take();
    return HR_OK;
  }
};

}  // namespace headrace
