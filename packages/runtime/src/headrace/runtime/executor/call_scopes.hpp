// Scopes in which kernels call functions, their calls and threads (hr_function_api of kernel.h).
// Only function_calls.pyx includes this header, since a static in a header exists once per
// extension.
#pragma once
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "state/functions.hpp"

namespace headrace {

inline void scope_release(hr_scope* scope) {
  if (scope->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete scope;
}

// ---- calls of a scope ---------------------------------------------------------------------------

// False: the scope has ended, and the call must not begin; `why` says so.
inline bool enter_scope(hr_scope* scope, ScopedCall* call, std::string* why) {
  std::lock_guard<std::mutex> hold(scope->lock);
  if (scope->ended) {
    *why = scope->why;
    return false;
  }
  scope->references.fetch_add(1, std::memory_order_relaxed);
  call->after = scope->calls;
  if (call->after) call->after->before = call;
  scope->calls = call;
  return true;
}

// Afterwards nobody accesses the call. Not under the GIL: a thread that cancels may wait for it.
inline void leave_scope(hr_scope* scope, ScopedCall* call) {
  {
    std::lock_guard<std::mutex> hold(scope->lock);
    (call->before ? call->before->after : scope->calls) = call->after;
    if (call->after) call->after->before = call->before;
  }
  while (call->pins.load(std::memory_order_acquire)) std::this_thread::yield();
  scope_release(scope);
}

// Cancels the calls of a scope and those that are about to begin; does not wait for them.
inline void cancel_calls(hr_scope* scope, const char* why) {
  std::vector<ScopedCall*> running;
  {
    std::lock_guard<std::mutex> hold(scope->lock);
    if (scope->ended) return;
    scope->ended = true;
    scope->why = why;
    for (ScopedCall* call = scope->calls; call; call = call->after) {
      call->pins.fetch_add(1, std::memory_order_relaxed);
      running.push_back(call);
    }
  }
  run_fail_text(&scope->run, HR_CANCELLED, why);
  run_cancel(&scope->run);
  for (ScopedCall* call : running) {
    call->end(call, HR_CANCELLED, why);
    call->pins.fetch_sub(1, std::memory_order_release);
  }
}

// ---- bodies of a scope --------------------------------------------------------------------------

// Not for a dataset of another session of a shared state: this one may lack the definition.
inline bool has_function(SessionFunctions& session, const hr_function* function) {
  std::lock_guard<std::mutex> hold(session.lock);
  const auto found = session.by_key.find(function->key);
  return found != session.by_key.end() && found->second == function;
}

// The body that calls of a scope run, where a function draws random numbers: an iterator that is
// initialised again begins them anew, and two iterators draw the same, as in TensorFlow 1.15.
// `body`: in: that of the function.
inline hr_code body_of_scope(hr_scope* scope, hr_function* function, std::shared_ptr<void>* body,
                             std::string* error) noexcept {
  const auto known = [&] {
    std::lock_guard<std::mutex> hold(scope->lock);
    if (scope->ended) {
      *error = scope->why;
      return HR_CANCELLED;
    }
    auto found = scope->bodies.find(function);
    if (found == scope->bodies.end() && function->is_used.exchange(true)) return HR_NOT_FOUND;
    if (found == scope->bodies.end()) scope->bodies[function] = *body;
    else *body = found->second;
    return HR_OK;
  };
  try {
    hr_code code = known();
    if (code != HR_NOT_FOUND) return code;
    std::shared_ptr<void> made = *body;  // before the lock: it may end with the GIL
    SessionFunctions& session = *scope->session;
    if (has_function(session, function) &&
        (code = session.recompile(&session, function->key, &made, error)))
      return code;
    {
      std::lock_guard<std::mutex> hold(scope->lock);
      if (!scope->ended) scope->bodies.emplace(function, made);  // the first of several threads
    }
    return known();
  } catch (const std::bad_alloc&) { return HR_RESOURCE_EXHAUSTED; }
}

// Calls in progress keep theirs.
inline void drop_bodies_of(hr_scope* scope) {
  decltype(scope->bodies) dropped;  // ends without the lock
  std::lock_guard<std::mutex> hold(scope->lock);
  dropped.swap(scope->bodies);
}

// ---- scopes of a session ------------------------------------------------------------------------

inline hr_scope* open_scope(hr_ctx* ctx, hr_object* object, void (*on_end)(void*), void* argument) {
  Run* run = reinterpret_cast<Run*>(ctx);
  if (!run->functions) return nullptr;
  auto scope = std::unique_ptr<hr_scope>(new (std::nothrow) hr_scope());
  if (!scope) return nullptr;
  scope->session = run->functions->shared_from_this();
  run_clear(&scope->run);
  scope->run.ctx = run->ctx;
  scope->run.ctx.threads = 1;
  scope->run.ctx.cancelled = scope->run.cancelled.address();
  scope->run.session = run->session;
  scope->run.functions = run->functions;
  scope->object = object;
  scope->on_end = on_end;
  scope->argument = argument;
  SessionFunctions& session = *scope->session;
  bool closed;
  {
    std::lock_guard<std::mutex> hold(session.lock);
    closed = session.closed;
    if (!closed) session.scopes.push_back(scope.get());
  }
  if (closed) cancel_calls(scope.get(), "the session was closed");
  return scope.release();
}

// 0: in a forked child nothing of the parent's session may be touched.
inline int32_t close_scope(hr_scope* scope) {
  SessionFunctions& session = *scope->session;
  if (session.forked()) return 0;
  const std::shared_ptr<SessionFunctions> held = scope->session;
  WithoutGil released;
  bool unused;
  {
    std::lock_guard<std::mutex> hold(session.lock);
    for (hr_scope*& other : session.scopes)
      if (other == scope) {
        other = session.scopes.back();
        session.scopes.pop_back();
        break;
      }
    unused = session.left && !session.closed && session.scopes.empty();
    if (unused) session.closed = true;
  }
  {
    std::lock_guard<std::recursive_mutex> hold(scope->calling);
    scope->on_end = nullptr;
  }
  drop_bodies_of(scope);
  scope_release(scope);
  if (unused) session.unused(&session);
  return 1;
}

inline void cancel_scope(hr_scope* scope) {
  if (scope->session->forked()) return;
  WithoutGil released;
  cancel_calls(scope, "the operation was cancelled");
}

// Drops the bodies of scopes that nothing calls any more.
inline void drop_scope_bodies(SessionFunctions& session) {
  std::vector<hr_scope*> scopes;
  {
    std::lock_guard<std::mutex> hold(session.lock);
    for (hr_scope* scope : session.scopes) {
      scope->references.fetch_add(1, std::memory_order_relaxed);
      scopes.push_back(scope);
    }
  }
  for (hr_scope* scope : scopes) {
    drop_bodies_of(scope);
    scope_release(scope);
  }
}

// Ends the scopes for which `which` holds: cancels their calls, and tells their openers.
template <class Which>
void end_scopes(SessionFunctions& session, const char* why, const Which& which) {
  std::vector<hr_scope*> ending;
  {
    std::lock_guard<std::mutex> hold(session.lock);
    for (hr_scope* scope : session.scopes) {
      if (!which(scope)) continue;
      scope->references.fetch_add(1, std::memory_order_relaxed);
      ending.push_back(scope);
    }
  }
  for (hr_scope* scope : ending) {
    cancel_calls(scope, why);
    {
      std::lock_guard<std::recursive_mutex> hold(scope->calling);
      if (scope->on_end) scope->on_end(scope->argument);
      scope->on_end = nullptr;
    }
    scope_release(scope);
  }
}

inline void end_scopes_of(SessionFunctions& session, const std::vector<hr_object*>& objects,
                          const char* why) {
  end_scopes(session, why, [&](hr_scope* scope) {
    for (hr_object* object : objects)
      if (scope->object == object) return true;
    return false;
  });
}

// ---- threads ------------------------------------------------------------------------------------

// Set by function_calls.pyx: what a thread needs before and after kernels.
struct ThreadHooks {
  void (*begin)();
  void (*end)();
};
inline ThreadHooks& thread_hooks() {
  static ThreadHooks hooks{};
  return hooks;
}
inline void set_thread_hooks(void (*begin)(), void (*end)()) { thread_hooks() = {begin, end}; }
inline SessionFunctions*& session_of_thread() {
  thread_local SessionFunctions* session = nullptr;
  return session;
}

inline void serve_thread(hr_thread* made) {
  hr_scope* scope = made->scope;
  const std::shared_ptr<SessionFunctions> session = scope->session;
  const auto body = made->body;
  void* argument = made->argument;
  session_of_thread() = session.get();
  thread_hooks().begin();
  body(argument);  // `made` may be freed from here on
  scope_release(scope);
  thread_hooks().end();
  std::lock_guard<std::mutex> hold(session->lock);
  --session->threads;
  session->changed.notify_all();
}

inline hr_thread* start_thread(hr_scope* scope, void (*body)(void*), void* argument) {
  auto made = std::unique_ptr<hr_thread>(new (std::nothrow) hr_thread());
  if (!made) return nullptr;
  made->scope = scope;
  made->body = body;
  made->argument = argument;
  SessionFunctions& session = *scope->session;
  scope->references.fetch_add(1, std::memory_order_relaxed);
  {
    std::lock_guard<std::mutex> hold(session.lock);
    ++session.threads;
  }
  try {
    made->thread = std::thread(serve_thread, made.get());
  } catch (const std::system_error&) {
    scope_release(scope);
    std::lock_guard<std::mutex> hold(session.lock);
    --session.threads;
    return nullptr;
  }
  return made.release();
}

inline void join_thread(hr_thread* thread) {
  if (!thread) return;
  if (thread->thread.get_id() == std::this_thread::get_id()) {
    thread->thread.detach();
  } else {
    WithoutGil released;
    thread->thread.join();
  }
  delete thread;
}

// Ends everything that calls the session's functions, and waits for the threads of its scopes, ten
// seconds at most; not if the state is shared, where a thread may serve an iterator that another
// session has initialized again. While it waits, scopes may still be opened: pipelines that end
// call functions that clean up. The caller does not hold the GIL.
inline void close_functions(SessionFunctions& session, const char* why, bool wait) {
  if (session.forked()) return;
  const auto all = [](hr_scope*) { return true; };
  end_scopes(session, why, all);
  const int own = session_of_thread() == &session ? 1 : 0;
  {
    std::unique_lock<std::mutex> hold(session.lock);
    session.changed.wait_for(hold, std::chrono::seconds(wait ? 10 : 0),
                             [&] { return session.threads <= own; });
    session.closed = true;
  }
  end_scopes(session, why, all);
}

inline void end_all_scopes(SessionFunctions& session, const char* why) {
  if (!session.forked()) end_scopes(session, why, [](hr_scope*) { return true; });
}

// The session of a shared state is closed: its iterators stay, for the other sessions of the state,
// and everything else that calls functions ends. False: there are no iterators.
inline bool leave_functions(SessionFunctions& session, const char* why) {
  if (session.forked()) return false;
  end_scopes(session, why, [](hr_scope* scope) { return !scope->object; });
  std::lock_guard<std::mutex> hold(session.lock);
  for (hr_scope* scope : session.scopes) session.left = session.left || scope->object;
  return session.left;
}

}  // namespace headrace
