// Queues of tuples of tensors, and the operations that wait for them (waiting.hpp).
#pragma once
#include <algorithm>
#include <iterator>
#include <list>
#include <new>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "memory/dtype_names.hpp"
#include "state/synchronisation/waiting.hpp"

namespace headrace {

// One element: a tensor per component.
struct Element {
  std::vector<OwnedTensor> parts;
  uint64_t number = 0;   // in the order of enqueuing
  int64_t priority = 0;  // of a priority queue
};

// Elements and waiters move between lists without allocating memory, so that only their creation
// can fail and none is lost.
using Elements = std::list<Element>;

enum class QueueOrder { kFirst, kRandom, kLeast };

struct QueueSpec {
  QueueOrder order = QueueOrder::kFirst;
  int64_t capacity = -1;  // below 0: unbounded
  int64_t min_after_dequeue = 0;
  int64_t seed = 0, seed2 = 0;  // both 0: another order in each session
  bool padding = false;
  std::vector<hr_dtype> types;
  std::vector<int32_t> ranks;  // declared shapes; -1: any. Empty: none declared
  std::vector<std::vector<int64_t>> dims;
  std::string name;

  // Whether it has a shape for each component, or none at all if that is allowed.
  bool shapes_fit() const {
    if (ranks.empty()) return !padding && order != QueueOrder::kLeast;
    return ranks.size() == types.size();
  }

  // The kind, as TensorFlow names it in errors.
  const char* kind() const {
    return order == QueueOrder::kRandom  ? "RandomShuffleQueue"
           : order == QueueOrder::kLeast ? "PriorityQueue"
           : padding                     ? "PaddingFIFOQueue"
                                         : "FIFOQueue";
  }

  // Why no queue can keep `min_after_dequeue` elements; empty: one can.
  std::string wrong_minimum() const {
    const std::string minimum = "min_after_dequeue " + std::to_string(min_after_dequeue);
    if (min_after_dequeue < 0) return minimum + " must be >= 0";
    if (order == QueueOrder::kRandom && min_after_dequeue >= bounded_capacity())
      return minimum + " must be < capacity " + std::to_string(bounded_capacity());
    return std::string();
  }

  // The error of dequeuing batches from a queue without declared shapes.
  std::string lack_of_shapes() const {
    return std::string(kind()) +
           "'s DequeueMany and DequeueUpTo require the components to have "
           "specified shapes.";
  }

  // Why a node that declares `requested` may not use this queue; empty: it may.
  std::string difference(const QueueSpec& requested) const {
    const std::string shared = "Shared queue '" + name + "' has ";
    if (std::string(kind()) != requested.kind())
      return "Expected " + std::string(kind()) + ", found " + requested.kind() +
             ": shared queue '" + name + "' is of another kind";
    if (bounded_capacity() != requested.bounded_capacity())
      return shared + "capacity " + std::to_string(bounded_capacity()) +
             " but requested capacity was " + std::to_string(requested.bounded_capacity());
    if (min_after_dequeue != requested.min_after_dequeue)
      return shared + "min_after_dequeue " + std::to_string(min_after_dequeue) +
             " but requested min_after_dequeue was " + std::to_string(requested.min_after_dequeue) +
             ".";
    if (requested.seeded() && (seed != requested.seed || seed2 != requested.seed2))
      return shared + "random seeds (" + std::to_string(seed) + ", " + std::to_string(seed2) +
             ") but requested seeds are (" + std::to_string(requested.seed) + ", " +
             std::to_string(requested.seed2) + ").";
    if (types != requested.types)
      return shared + "component types " + types_text() + " but requested component types were " +
             requested.types_text();
    if (ranks != requested.ranks || dims != requested.dims)
      return shared + "component shapes " + shapes_text() +
             " but requested component shapes were " + requested.shapes_text();
    return std::string();
  }

  // TensorFlow's text for an unbounded queue is the largest int32.
  int64_t bounded_capacity() const { return capacity < 0 ? INT32_MAX : capacity; }
  bool seeded() const { return seed != 0 || seed2 != 0; }

  std::string shapes_text() const {
    std::string text = "[";
    for (size_t i = 0; i < ranks.size(); ++i)
      text += (i ? ", " : "") + sizes_text(ranks[i], dims[i].data());
    return text + "]";
  }

  // Whether a component, without its first dimension if it is a batch, has the declared shape.
  bool fits(size_t component, const hr_tensor* t, bool batched) const {
    const int32_t skip = batched ? 1 : 0;
    if (component >= ranks.size() || ranks[component] < 0) return true;
    if (t->rank - skip != ranks[component]) return false;
    for (int32_t i = 0; i < ranks[component]; ++i) {
      const int64_t declared = dims[component][static_cast<size_t>(i)];
      if (declared >= 0 && declared != t->dims[i + skip]) return false;
    }
    return true;
  }

  // The error of enqueuing a component (a batch of them, if `batched`) of another shape.
  std::string shape_mismatch(size_t component, const hr_tensor* actual, bool batched) const {
    std::vector<int64_t> expected = dims[component];
    if (batched) expected.insert(expected.begin(), actual->dims[0]);
    return "Shape mismatch in tuple component " + std::to_string(component) + ". Expected " +
           sizes_text(static_cast<int32_t>(expected.size()), expected.data()) + ", got " +
           sizes_text(actual->rank, actual->dims);
  }

  std::string types_text() const {
    std::string text = "[";
    for (size_t i = 0; i < types.size(); ++i)
      text += std::string(i ? ", " : "") + dtype_name(types[i]);
    return text + "]";
  }
};

// The elements of a queue in the order in which they are dequeued; every operation is O(1), or
// O(log n) for a priority queue.
class QueueItems {
 public:
  explicit QueueItems(const QueueSpec* spec) : spec_(spec) {}

  int64_t size() const { return static_cast<int64_t>(in_order() ? first_.size() : others_.size()); }

  // Reserves room for n more elements; push and put_back require it.
  bool reserve(size_t n) noexcept {
    if (in_order() || others_.capacity() - others_.size() >= n) return true;
    try {
      others_.reserve(std::max(others_.size() + n, 2 * others_.capacity()));
    } catch (const std::bad_alloc&) { return false; }
    return true;
  }
  // Takes the first of `from`.
  void push(Elements& from) {
    Element& element = from.front();
    element.number = next_++;
    // Enqueuing has checked that the first component is one int64.
    if (spec_->order == QueueOrder::kLeast)
      element.priority = *static_cast<const int64_t*>(element.parts[0].get()->data);
    insert(from, from.begin(), first_.end());
  }
  // Reverts the last take.
  void put_back(Elements& from) { insert(from, std::prev(from.end()), first_.begin()); }
  // Appends the next one to `to`.
  void take(Elements& to) {
    if (in_order()) return to.splice(to.end(), first_, first_.begin());
    if (spec_->order == QueueOrder::kLeast) {
      std::pop_heap(others_.begin(), others_.end(), later);
    } else {
      if (!seeded_) {
        random_.seed(spec_->seeded() ? uint64_t(spec_->seed) * 1000003 + uint64_t(spec_->seed2)
                                     : std::random_device{}());
        seeded_ = true;
      }
      std::swap(others_[random_() % others_.size()], others_.back());
    }
    to.splice(to.end(), others_.back());
    others_.pop_back();
  }

 private:
  const QueueSpec* spec_;
  Elements first_;                // of kFirst
  std::vector<Elements> others_;  // one each; a heap for kLeast
  uint64_t next_ = 0;
  std::mt19937_64 random_{1};
  bool seeded_ = false;

  bool in_order() const { return spec_->order == QueueOrder::kFirst; }
  void insert(Elements& from, Elements::iterator which, Elements::iterator before) {
    if (in_order()) return first_.splice(before, from, which);
    others_.emplace_back();
    others_.back().splice(others_.back().end(), from, which);
    if (spec_->order == QueueOrder::kLeast) std::push_heap(others_.begin(), others_.end(), later);
  }
  static bool later(const Elements& a, const Elements& b) {
    const Element &one = a.front(), &other = b.front();
    return one.priority != other.priority ? one.priority > other.priority
                                          : one.number > other.number;
  }
};

// One element of a batch, as a view.
inline void view_row(const hr_tensor* batch, int64_t row, hr_tensor* out) {
  *out = *batch;
  out->owner = nullptr;
  out->rank = batch->rank - 1;
  for (int32_t i = 0; i < out->rank; ++i) out->dims[i] = batch->dims[i + 1];
  out->bytes = batch->dims[0] ? batch->bytes / batch->dims[0] : 0;
  out->data = static_cast<char*>(batch->data) + row * out->bytes;
}

// An enqueue, a dequeue, or a close that lets the enqueues before it finish.
struct Waiter : Waiting {
  enum Kind { kEnqueue, kDequeue, kClose } kind;
  Elements elements;      // to enqueue, or dequeued so far
  int64_t requested = 0;  // of a dequeue
  bool many = false;      // returns a batch
  bool up_to = false;     // accepts fewer elements once the queue is closed
};

// Makes the batch (or the one element) that a dequeue returns; takes its elements.
using CompleteDequeue = hr_code (*)(Waiter*, const QueueSpec*);

class Queue : public Waitable<Queue, Waiter> {
 public:
  QueueSpec spec;
  CompleteDequeue complete_dequeue = nullptr;

  // Closes the queue and ends the enqueues and closes that wait.
  void close_now() {
    change([&](Waiters* finished) {
      closed_ = true;
      for (WaiterPtr& w : enqueues_) w->fail(HR_CANCELLED, [&] { return cancelled_text(w.get()); });
      finished->splice(finished->end(), enqueues_);
    });
  }

  int64_t size() {
    std::lock_guard<std::mutex> hold(lock_);
    return items_.size();
  }
  bool closed() {
    std::lock_guard<std::mutex> hold(lock_);
    return closed_;
  }

 private:
  friend class Waitable<Queue, Waiter>;
  QueueItems items_{&spec};
  Waiters enqueues_;  // and closes
  Waiters dequeues_;
  size_t taken_ = 0;  // elements taken by dequeues in progress
  bool closed_ = false;

  Waiters& list_of(const Waiter* w) { return w->kind == Waiter::kDequeue ? dequeues_ : enqueues_; }

  std::string cancelled_text(const Waiter* w) const {
    const char* what = w->kind == Waiter::kDequeue ? "Dequeue" : "Enqueue";
    return std::string(what) + " operation was cancelled: it waited for queue '" + spec.name + "'";
  }

  void withdraw(Waiter* w) {
    if (w->kind == Waiter::kDequeue) put_back(w);
  }

  void put_back(Waiter* w) {
    taken_ -= w->elements.size();
    while (!w->elements.empty()) items_.put_back(w->elements);
  }

  bool full() const { return spec.capacity >= 0 && items_.size() >= spec.capacity; }

  bool may_take() const {
    return items_.size() > (closed_ ? 0 : std::max<int64_t>(spec.min_after_dequeue, 0));
  }

  // Moves as many elements as possible; completed waiters leave their list.
  void settle(Waiters* finished) {
    for (bool moved = true; moved;) {
      moved = settle_enqueues(finished);
      moved = settle_dequeues(finished) || moved;
    }
  }

  bool settle_enqueues(Waiters* finished) {
    bool moved = false;
    while (!enqueues_.empty()) {
      Waiter* w = enqueues_.front().get();
      if (closed_) {
        w->fail(HR_CANCELLED, [&] {
          return w->kind == Waiter::kClose ? "Queue '" + spec.name + "' is already closed."
                                           : spec.kind() + (" '" + spec.name) + "' is closed.";
        });
      } else if (w->kind == Waiter::kClose) {
        closed_ = true;
      } else {
        while (!w->elements.empty() && !full()) {
          enqueue(w);
          moved = true;
        }
        if (!w->elements.empty()) break;
      }
      finished->splice(finished->end(), enqueues_, enqueues_.begin());
      moved = true;
    }
    return moved;
  }

  void enqueue(Waiter* w) {
    if (items_.reserve(taken_ + 1))
      return items_.push(w->elements);  // dequeues may put back theirs
    w->fail(HR_RESOURCE_EXHAUSTED,
            [&] { return "no memory for an element of queue '" + spec.name + "'"; });
    w->elements.clear();
  }

  bool settle_dequeues(Waiters* finished) {
    bool moved = false;
    while (!dequeues_.empty()) {
      Waiter* w = dequeues_.front().get();
      while (static_cast<int64_t>(w->elements.size()) < w->requested && may_take()) {
        items_.take(w->elements);
        ++taken_;
        moved = true;
      }
      const int64_t have = static_cast<int64_t>(w->elements.size());
      if (have < w->requested) {
        if (!closed_) break;
        if (!w->up_to || have == 0) {
          w->fail(HR_OUT_OF_RANGE, [&] {
            return spec.kind() + (" '" + spec.name) +
                   "' is closed and has insufficient elements (requested " +
                   std::to_string(w->requested) + ", current size " + std::to_string(have) + ")";
          });
          put_back(w);
        }
      }
      taken_ -= w->elements.size();
      finished->splice(finished->end(), dequeues_, dequeues_.begin());
      moved = true;
    }
    return moved;
  }

  hr_code complete(Waiter* w) {
    return w->kind == Waiter::kDequeue ? complete_dequeue(w, &spec) : HR_OK;
  }
};

}  // namespace headrace
