// Operations that wait in an object without holding a thread (white paper §4.6): each is a record
// in the object, and the operation that makes it possible completes it.
#pragma once
#include <algorithm>
#include <list>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include "state/run.hpp"
#include "state/slot.hpp"

namespace headrace {

// A waiting operation. Each kind of object derives from it what the operation needs.
struct Waiting {
  hr_ctx* ctx = nullptr;
  hr_done done = nullptr;
  void* argument = nullptr;
  hr_tensor* const* outputs = nullptr;
  int32_t n_outputs = 0;
  void* object = nullptr;  // that it waits for
  ObjectRef held;          // a reference to that object
  uint64_t token = 0;      // of the callback of a cancellation
  hr_code code = HR_OK;
  std::string message;

  // Sets the error. Without memory for the text, only the code is reported.
  template <class Text>
  void fail(hr_code error, const Text& text) noexcept {
    code = error;
    try {
      message = text();
    } catch (const std::bad_alloc&) { message.clear(); }
  }
};

// An object that operations of type W wait for. `Self` derives from it and has
//   Waiters& list_of(const W*)        the list in which an operation waits
//   void settle(Waiters* finished)    moves all operations that can end now to `finished`
//   void withdraw(W*)                 returns what a cancelled operation has taken so far
//   std::string cancelled_text(const W*)
//   hr_code complete(W*)              makes the outputs of an operation that ended without an error
//
// The lock is held during all of these but `complete`. They move records between lists and allocate
// no memory, except for texts and in `complete`.
template <class Self, class W>
class Waitable {
 public:
  using WaiterPtr = std::unique_ptr<W>;
  using Waiters = std::list<WaiterPtr>;

  hr_object object;  // first: hr_object* and Waitable* convert

  // A list of one new operation, for `submit`. Throws bad_alloc.
  static Waiters new_waiter() {
    Waiters one;
    one.push_back(std::make_unique<W>());
    return one;
  }
  // The same for a call of a kernel on this object.
  Waiters new_waiter(hr_ctx* ctx, hr_tensor* const* outputs, int32_t n_outputs, hr_done done,
                     void* argument) {
    Waiters one = new_waiter();
    W* waiter = one.front().get();
    waiter->ctx = ctx;
    waiter->outputs = outputs;
    waiter->n_outputs = n_outputs;
    waiter->done = done;
    waiter->argument = argument;
    waiter->object = self();
    waiter->held = ObjectRef(&object);
    return one;
  }

  // Registers for a cancellation, then adds the operation, which may be freed when this returns.
  static void submit(Waiters one) {
    W* waiter = one.front().get();
    waiter->token = waiter->ctx->api->on_cancel(waiter->ctx, on_cancel, waiter);
    if (waiter->token) return static_cast<Self*>(waiter->object)->add(std::move(one));
    hr_ctx* ctx = waiter->ctx;
    const hr_done done = waiter->done;
    void* argument = waiter->argument;
    one.clear();
    ctx->api->fail(ctx, HR_CANCELLED, "the step was cancelled");
    done(argument, HR_CANCELLED);
  }

  // The object owns the operation from now on.
  void add(Waiters one) {
    W* waiter = one.front().get();
    change([&](Waiters* finished) {
      // `cancel` may have run before, when the operation was in no list, and does not run again.
      if (hr_cancelled(waiter->ctx)) return fail_cancelled(one, finished);
      Waiters& list = self()->list_of(waiter);
      list.splice(list.end(), one);
    });
  }

  // The step of that operation was cancelled.
  void cancel(W* waiter) {
    change([&](Waiters* finished) {
      Waiters& list = self()->list_of(waiter);
      auto found = std::find_if(list.begin(), list.end(),
                                [waiter](const WaiterPtr& w) { return w.get() == waiter; });
      if (found == list.end()) return;  // already finished
      Waiters one;
      one.splice(one.end(), list, found);
      self()->withdraw(waiter);
      fail_cancelled(one, finished);
    });
  }

  static void on_cancel(void* argument) {
    W* waiter = static_cast<W*>(argument);
    static_cast<Self*>(waiter->object)->cancel(waiter);
  }

 protected:
  std::mutex lock_;

  // Calls change(finished) with the lock held, and completes what can end afterwards.
  template <class Change>
  void change(const Change& change) {
    Waiters finished;
    {
      std::lock_guard<std::mutex> hold(lock_);
      change(&finished);
      self()->settle(&finished);
    }
    finish(finished);
  }

 private:
  Self* self() { return static_cast<Self*>(this); }

  void fail_cancelled(Waiters& one, Waiters* finished) {
    W* waiter = one.front().get();
    waiter->fail(HR_CANCELLED, [&] { return self()->cancelled_text(waiter); });
    finished->splice(finished->end(), one);
  }

  hr_code complete(W* waiter) noexcept {
    try {
      return self()->complete(waiter);
    } catch (const std::bad_alloc&) { return HR_RESOURCE_EXHAUSTED; }
  }

  void finish(Waiters& finished) {
    for (WaiterPtr& w : finished) {
      if (w->token) w->ctx->api->forget_cancel(w->ctx, w->token);
      hr_code code = w->code;
      if (code == HR_OK) code = complete(w.get());
      if (code != HR_OK) w->ctx->api->fail(w->ctx, code, "%s", w->message.c_str());
      const hr_done done = w->done;
      void* argument = w->argument;
      // The last operation may free the object, so nothing of it is accessed afterwards.
      ObjectRef held = std::move(w->held);
      w.reset();
      done(argument, code);
    }
  }
};

// Sets the header of a new object.
template <class Object>
hr_object* as_new_object(Object* created, const char* kind) {
  created->object.size = sizeof(hr_object);
  created->object.references = 1;
  created->object.kind = kind;
  created->object.destroy = [](hr_object* o) { delete reinterpret_cast<Object*>(o); };
  return &created->object;
}

}  // namespace headrace
