#include "ops/datasets/server.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace hr::data {
namespace {

// Requests that took longer on the thread of a step are left to the iterator's own thread.
constexpr double kLongNs = 1e6;

double now_ns() {
  return double(std::chrono::duration_cast<std::chrono::nanoseconds>(
                    std::chrono::steady_clock::now().time_since_epoch())
                    .count());
}

// Ends a request. `done` may end the step, so nothing of the request is used after it.
void finish(std::unique_ptr<Request> request, Failure failure) noexcept {
  hr_code code = failure.code;
  if (code == HR_OK && failed(&failure, [&] { request->deliver(); })) code = failure.code;
  if (code != HR_OK) hr_ctx_fail(request->ctx, code, "%s", failure.text.c_str());
  const hr_done done = request->done;
  void* const argument = request->argument;
  const std::shared_ptr<Server> server = std::move(request->server);
  request.reset();
  done(argument, code);
}

const char* const kNotInitialized =
    "GetNext() failed because the iterator has not been initialized. Ensure that you have run the "
    "initializer operation for this iterator before getting the next element.";

}  // namespace

Server::Server() : process_(int(getpid())) {}
bool Server::forked() const { return process_ != int(getpid()); }

// ---- pipelines ----------------------------------------------------------------------------------

void Server::on_end(void* argument) {
  // The session ends, or the iterator was removed from it. This must not wait.
  auto* server = static_cast<std::weak_ptr<Server>*>(argument);
  const std::shared_ptr<Server> self = server->lock();
  if (!self) return;
  Pipeline* ended;
  {
    const std::lock_guard<std::mutex> hold(self->lock_);
    self->stopping_ = true;
    self->ended_.push_back(self->serving_ ? self->serving_ : self->pipeline_);
    ended = self->ended_.back().get();
    ++self->ending_;
    self->changed_.notify_all();
  }
  if (ended) ended->stop();
  const std::lock_guard<std::mutex> hold(self->lock_);
  --self->ending_;
  self->changed_.notify_all();
}

std::vector<std::shared_ptr<Pipeline>> Server::take_ended(std::unique_lock<std::mutex>& hold) {
  changed_.wait(hold, [&] { return ending_ == 0; });
  std::vector<std::shared_ptr<Pipeline>> ended = std::exchange(ended_, {});
  ended.push_back(std::exchange(pipeline_, nullptr));
  return ended;
}

std::shared_ptr<Pipeline> Server::new_pipeline(hr_ctx* ctx, hr_object* object) {
  auto self = std::make_unique<std::weak_ptr<Server>>(weak_from_this());
  auto* argument = self.get();
  std::shared_ptr<Pipeline> made(new Pipeline(ctx, object, on_end, argument),
                                 [argument](Pipeline* p) {
                                   delete p;  // on_end is not called afterwards
                                   delete argument;
                                 });
  self.release();
  return made;
}

void Server::replace(std::shared_ptr<Pipeline> made, Make make) {
  std::deque<Kept> dropped;  // ends without the lock, as the old pipeline does
  {
    const std::lock_guard<std::mutex> hold(lock_);
    pipeline_.swap(made);
    make_ = std::move(make);
    if (!busy_) dropped.swap(kept_);
    ++generation_;
    took_ns_ = 0;
  }
}

void Server::set_dataset(hr_ctx* ctx, hr_object* object, const DatasetRef& dataset) {
  auto made = new_pipeline(ctx, object);
  made->start(dataset);
  replace(std::move(made), nullptr);
}

void Server::set_factory(hr_ctx* ctx, hr_object* object, Make make) {
  auto made = new_pipeline(ctx, object);
  const std::lock_guard<std::mutex> hold(lock_);
  if (pipeline_) return;  // another node of the same name was faster
  pipeline_ = std::move(made);
  make_ = std::move(make);
}

bool Server::next(Element* element) {
  if (!kept_.empty()) {
    Kept first = std::move(kept_.front());
    kept_.pop_front();
    if (first.failure.code != HR_OK) throw first.failure;
    *element = std::move(first.element);
    return !first.end;
  }
  return serving_->root().next(element);
}

// ---- requests -----------------------------------------------------------------------------------

bool Server::serve_here(std::unique_ptr<Request>& request) {
  std::shared_ptr<Pipeline> pipeline;
  {
    const std::lock_guard<std::mutex> hold(lock_);
    if (busy_ || stopping_ || !waiting_.empty() || !pipeline_ || make_ || took_ns_ > kLongNs)
      return false;
    if (!request->ready(*pipeline_)) return false;
    busy_ = true;
    pipeline = serving_ = pipeline_;
  }
  const std::shared_ptr<Server> self = shared_from_this();  // `done` may drop the last reference
  Failure failure{HR_OK, ""};
  const double start = now_ns();
  failed(&failure, [&] {
    const OnThreadOfStep step(request->ctx);
    request->serve(*this);
  });
  const double took = now_ns() - start;
  bool more;
  {
    std::unique_lock<std::mutex> hold(lock_);
    busy_ = false;
    took_ns_ = took;
    serving_.reset();
    more = !waiting_.empty();
    if (more) start_thread(hold);
  }
  finish(std::move(request), std::move(failure));
  return true;
}

void Server::enter(std::unique_ptr<Request> request) {
  request->server = shared_from_this();
  if (serve_here(request)) return;
  Request& waiter = *request;
  std::list<std::unique_ptr<Request>> one;
  one.push_back(std::move(request));
  waiter.token = waiter.ctx->api->on_cancel(waiter.ctx, on_cancel, &waiter);
  Failure failure{HR_OK, ""};
  {
    std::unique_lock<std::mutex> hold(lock_);
    if (stopping_) failure = Failure{HR_CANCELLED, "the iterator was closed"};
    else if (!pipeline_) failure = Failure{HR_FAILED_PRECONDITION, kNotInitialized};
    // on_cancel may have run already; it does not run again.
    else if (!waiter.token || hr_cancelled(waiter.ctx))
      failure = Failure{HR_CANCELLED, "the step was cancelled"};
    else {
      waiting_.splice(waiting_.end(), one);
      if (failed(&failure, [&] { start_thread(hold); })) {
        // `waiter` is the last, unless the thread exists.
        one.splice(one.end(), waiting_, std::prev(waiting_.end()));
      }
    }
  }
  if (one.empty()) return;
  if (waiter.token) waiter.ctx->api->forget_cancel(waiter.ctx, waiter.token);
  finish(std::move(one.front()), std::move(failure));
}

void Server::on_cancel(void* argument) {
  // The request lives until forget_cancel returns, or until the lock is released here.
  auto* waiter = static_cast<Request*>(argument);
  const std::shared_ptr<Server> server = waiter->server;
  hr_ctx* const ctx = waiter->ctx;
  const hr_done done = waiter->done;
  void* const to_done = waiter->argument;
  std::list<std::unique_ptr<Request>> one;
  std::shared_ptr<Pipeline> unused;
  {
    const std::lock_guard<std::mutex> hold(server->lock_);
    const auto found = std::find_if(server->waiting_.begin(), server->waiting_.end(),
                                    [&](const auto& request) { return request.get() == waiter; });
    if (found != server->waiting_.end()) one.splice(one.end(), server->waiting_, found);
    else if (server->current_ != waiter) return;  // it is finished
    else server->current_ = nullptr;              // the thread keeps what it makes
    if (server->single_) {                        // nobody else wants it
      unused = server->pipeline_;
      server->stopping_ = true;
      server->changed_.notify_all();
    }
  }
  one.clear();
  if (unused) unused->stop();
  hr_ctx_fail(ctx, HR_CANCELLED, "the step was cancelled");
  done(to_done, HR_CANCELLED);
}

// ---- the thread ---------------------------------------------------------------------------------

void Server::start_thread(std::unique_lock<std::mutex>&) {
  changed_.notify_all();
  if (thread_) return;
  auto self = std::make_unique<std::shared_ptr<Server>>(shared_from_this());
  thread_ = api()->functions->start_thread(
      pipeline_->scope(),
      [](void* argument) {
        const std::unique_ptr<std::shared_ptr<Server>> server(
            static_cast<std::shared_ptr<Server>*>(argument));
        (*server)->run();
      },
      self.get());
  if (!thread_) throw Failure{HR_RESOURCE_EXHAUSTED, "no thread for an iterator"};
  self.release();
}

void Server::run() {
  std::unique_lock<std::mutex> hold(lock_);
  while (!stopping_) {
    if (busy_ || waiting_.empty()) changed_.wait(hold);
    else {
      serve_first(hold);
      stopping_ = stopping_ || single_;
    }
  }
  std::list<std::unique_ptr<Request>> left;
  left.swap(waiting_);
  hr_thread* own = single_ ? std::exchange(thread_, nullptr) : nullptr;
  // This thread holds no lock, and the session waits for it: here a pipeline that ends may call
  // the functions that clean up.
  std::vector<std::shared_ptr<Pipeline>> ended = take_ended(hold);
  hold.unlock();
  for (auto& request : left) {
    request->ctx->api->forget_cancel(request->ctx, request->token);
    finish(std::move(request), Failure{HR_CANCELLED, "the iterator was closed"});
  }
  ended.clear();
  if (own) api()->functions->join_thread(own);
}

void Server::serve_first(std::unique_lock<std::mutex>& hold) {
  std::unique_ptr<Request> request = std::move(waiting_.front());
  waiting_.pop_front();
  current_ = request.get();
  busy_ = true;
  std::shared_ptr<Pipeline> pipeline = serving_ = pipeline_;
  const Make make = make_;
  const int64_t generation = generation_;
  hold.unlock();
  Failure failure{HR_OK, ""};
  failed(&failure, [&] {
    if (make) pipeline->start(make(*pipeline));
    request->serve(*this);
  });
  hold.lock();
  busy_ = false;
  serving_.reset();
  const bool same = generation == generation_;
  if (make && same && pipeline->has_root()) make_ = nullptr;
  const bool gone = current_ != request.get();
  current_ = nullptr;
  std::deque<Kept> dropped;
  if (!same) dropped.swap(kept_);
  else if (gone && !pipeline->stopped()) {
    Failure lost{HR_OK, ""};
    failed(&lost, [&] { request->abandon(*this, std::move(failure)); });
  }
  hold.unlock();
  dropped.clear();
  pipeline.reset();
  if (!gone) {
    request->ctx->api->forget_cancel(request->ctx, request->token);
    finish(std::move(request), std::move(failure));
  }
  request.reset();
  hold.lock();
}

void Server::shut_down() {
  hr_thread* thread;
  std::vector<std::shared_ptr<Pipeline>> ended;
  {
    std::unique_lock<std::mutex> hold(lock_);
    stopping_ = true;
    thread = std::exchange(thread_, nullptr);
    changed_.notify_all();
    ended = take_ended(hold);
  }
  for (const auto& pipeline : ended)
    if (pipeline) pipeline->stop();
  if (thread) api()->functions->join_thread(thread);
}

}  // namespace hr::data
