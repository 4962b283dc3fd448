// The links of an endpoint, its two threads, and what happens when a link is lost.
#pragma once
#include <signal.h>

#include "native/endpoint.hpp"

namespace headrace::distributed {

inline bool Endpoint::start() {
  epoll_ = UniqueFd(epoll_create1(EPOLL_CLOEXEC));
  wake_ = UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = 0;
  if (!epoll_ || !wake_ || epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &event))
    return false;
  auto self = std::make_shared<LocalLink>(shared_from_this());
  self->pair(self, shared_from_this());
  add_link(self, incarnation_, name_);
  return start_threads();
}

inline bool Endpoint::start_threads() {
  // Signals are for the threads of Python.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool started = true;
  try {
    io_thread_ = std::thread([self = shared_from_this()] { self->serve(); });
    // From now on, and not from when the thread first runs: the process may be stopped in between.
    heartbeat_thread_ =
        std::thread([self = shared_from_this(), now = now_ns()] { self->keep_alive(now); });
  } catch (const std::exception&) { started = false; }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!started) close();
  return started;
}

inline void Endpoint::close() noexcept {
  {
    std::lock_guard<std::mutex> hold(lock_);
    if (closed_) return;
    closed_ = true;
  }
  Message bye;
  bye.header.type = FrameType::kBye;
  char reason[256];
  std::snprintf(reason, sizeof reason, "%.200s was stopped", name_.c_str());
  std::string why;
  try {
    why = reason;
  } catch (const std::bad_alloc&) {}
  // The maps only shrink now. Nothing below may fail for lack of memory, so they are walked one
  // element at a time, without a copy.
  for (;;) {
    std::shared_ptr<MasterStep> running;
    {
      std::lock_guard<std::mutex> hold(lock_);
      for (auto& entry : led_)
        if (!entry.second->failed() && !entry.second->finished()) running = entry.second;
    }
    if (!running) break;
    running->cancelled(HR_CANCELLED, why);
  }
  for (int64_t number = 0;;) {
    LinkRef link;
    {
      std::lock_guard<std::mutex> hold(lock_);
      for (auto& entry : links_)
        if (entry.first > number && (!link || entry.first < link->number)) link = entry.second;
    }
    if (!link) break;
    number = link->number;
    if (!dynamic_cast<LocalLink*>(link.get())) send_surely(*link, bye);
    link->fail(reason);
  }
  stop_ = true;
  wake();
  { std::lock_guard<std::mutex> hold(beat_lock_); }
  beat_.notify_all();
  for (std::thread* thread : {&heartbeat_thread_, &io_thread_}) {
    if (!thread->joinable()) continue;
    // The last reference may go on a thread of its own.
    if (thread->get_id() == std::this_thread::get_id()) thread->detach();
    else thread->join();
  }
  events_ready_.notify_all();
}

// ---- links

inline bool Endpoint::add_link(const LinkRef& link, uint64_t peer, const std::string& peer_name) {
  link->peer = peer;
  link->peer_name = peer_name;
  std::lock_guard<std::mutex> hold(lock_);
  if (closed_) return false;
  link->number = ++last_link_;
  by_peer_[peer] = links_[link->number] = link;
  return true;
}

inline int64_t Endpoint::add_socket(int fd, uint64_t peer, const std::string& peer_name,
                                    bool shared_memory) {
  UniqueFd owned(fd);
  auto link = std::make_shared<SocketLink>(shared_from_this(), std::move(owned), epoll_.get(),
                                           shared_memory);
  if (!add_link(link, peer, peer_name)) return 0;
  if (link->watch()) return link->number;
  link->fail("the socket cannot be watched");
  return -1;
}

inline std::shared_ptr<StreamLink> Endpoint::add_stream(uint64_t peer,
                                                        const std::string& peer_name) {
  auto link = std::make_shared<StreamLink>(shared_from_this());
  return add_link(link, peer, peer_name) ? link : nullptr;
}

inline int64_t Endpoint::add_local(const std::shared_ptr<Endpoint>& other) {
  auto here = std::make_shared<LocalLink>(shared_from_this());
  auto there = std::make_shared<LocalLink>(other);
  here->pair(there, other);
  there->pair(here, shared_from_this());
  here->peer = other->incarnation_;
  here->peer_name = other->name_;
  there->peer = incarnation_;
  there->peer_name = name_;
  // Both at once: a frame on one link would find no other.
  std::scoped_lock hold(lock_, other->lock_);
  if (closed_ || other->closed_) return 0;
  here->number = ++last_link_;
  there->number = ++other->last_link_;
  links_[here->number] = here;
  try {
    other->links_[there->number] = there;
    other->by_peer_[there->peer] = there;
    by_peer_[here->peer] = here;
  } catch (const std::bad_alloc&) {
    here->dead = there->dead = true;  // found at the next tick, where they are known
    throw;
  }
  return here->number;
}

inline LinkRef Endpoint::link_under_lock(uint64_t peer) {
  auto found = by_peer_.find(peer);
  if (found == by_peer_.end()) return nullptr;
  if (!found->second->dead) return found->second;
  for (auto& entry : links_)  // the loss is not reported yet
    if (entry.second->peer == peer && !entry.second->dead) return entry.second;
  return nullptr;
}

inline LinkRef Endpoint::link_to(uint64_t peer) {
  std::lock_guard<std::mutex> hold(lock_);
  return link_under_lock(peer);
}

inline std::vector<LinkRef> Endpoint::all_links() {
  std::vector<LinkRef> found;
  std::lock_guard<std::mutex> hold(lock_);
  for (auto& entry : links_) found.push_back(entry.second);
  return found;
}

inline void Endpoint::close_links(uint64_t peer, const std::string& reason) {
  for (const LinkRef& link : all_links())
    if (link->peer == peer) link->fail(reason.c_str());
}

inline bool Endpoint::next_event(int64_t wait_ns, LinkEvent* event) {
  std::unique_lock<std::mutex> hold(lock_);
  events_ready_.wait_for(hold, std::chrono::nanoseconds(wait_ns),
                         [this] { return closed_ || !events_.empty(); });
  if (events_.empty()) return false;
  *event = std::move(events_.front());
  events_.pop_front();
  return true;
}

// ---- lost links

inline LinkRef Endpoint::dead_link() {
  std::lock_guard<std::mutex> hold(lock_);
  for (auto& entry : links_)
    if (entry.second->dead) return entry.second;
  return nullptr;
}

// The I/O thread. Without memory, what is left is reported at the next tick.
inline void Endpoint::report_dead_links() noexcept {
  try {
    while (LinkRef link = dead_link()) lose(link);
  } catch (const std::exception&) {}
}

// std::bad_alloc: nothing was changed.
inline void Endpoint::lose(const LinkRef& link) {
  const std::string reason = link->reason();
  const std::string why = link->peer_name + " is not available: " + reason;
  const std::string gone = "the client is gone: " + reason;
  std::vector<std::shared_ptr<MasterStep>> led, called;
  std::vector<StepRef> steps;
  std::vector<Call> calls;
  link->release();
  {
    std::lock_guard<std::mutex> hold(lock_);
    for (auto& entry : led_) led.push_back(entry.second);
    for (auto& entry : steps_) {
      WorkerStep& step = *entry.second;
      if (step.run ? step.uses(link) : step.opener == link->number) steps.push_back(entry.second);
    }
    called.reserve(calls_.size());
    calls.reserve(calls_.size());
    if (!closed_) events_.push_back({link->peer, reason});
    if (events_.size() > kMaxEvents) events_.pop_front();  // nobody listens

    links_.erase(link->number);
    auto current = by_peer_.find(link->peer);
    if (current != by_peer_.end() && current->second == link) {
      LinkRef other = link_under_lock(link->peer);
      if (other) current->second = std::move(other);
      else by_peer_.erase(current);
    }
    for (auto entry = calls_.begin(); entry != calls_.end();) {
      if (entry->first.link != link->number) {
        ++entry;
        continue;
      }
      const auto call = entry++;
      if (call->second.step) called.push_back(call->second.step);
      calls.push_back(take_call(call));
    }
  }
  events_ready_.notify_all();
  for (auto& step : led) step->lost(link.get(), reason);
  for (auto& step : steps) stop_step(step, HR_UNAVAILABLE, why.c_str());
  for (auto& step : called) step->cancelled(HR_CANCELLED, gone);
}

// ---- the threads

inline void Endpoint::wake() noexcept {
  const uint64_t one = 1;
  if (::write(wake_.get(), &one, sizeof one) < 0) {}  // full: it is awake
}

inline void Endpoint::serve() noexcept {
  epoll_event events[64];
  while (!stop_) {
    const int n = epoll_wait(epoll_.get(), events, 64, -1);
    const int64_t start = now_ns();
    io_busy_since_ns_ = start;
    if (worker_) worker_->begin_deliveries();
    for (int i = 0; i < n; ++i) {
      if (!events[i].data.u64) {
        uint64_t drained;
        if (::read(wake_.get(), &drained, sizeof drained) < 0) {}  // it was drained before
        continue;
      }
      LinkRef link;
      {
        std::lock_guard<std::mutex> hold(lock_);
        auto found = links_.find(int64_t(events[i].data.u64));
        if (found != links_.end()) link = found->second;
      }
      if (link) static_cast<SocketLink&>(*link).handle(events[i].events);
    }
    if (worker_) worker_->end_deliveries();
    if (look_for_dead_.exchange(false)) report_dead_links();
    // Nobody is to blame for what this thread had no time to hear.
    const int64_t now = now_ns();
    if (now - start > heartbeat_ns_) {
      std::lock_guard<std::mutex> hold(lock_);
      for (auto& entry : links_) entry.second->last_heard_ns = now;
    }
    io_busy_since_ns_ = 0;
  }
  report_dead_links();
}

inline void Endpoint::keep_alive(int64_t last) noexcept {
  const int64_t beat_ns = std::max<int64_t>(std::min(heartbeat_ns_, dead_after_ns_ / 4), 1'000'000);
  std::unique_lock<std::mutex> hold(beat_lock_);
  while (!stop_) {
    beat_.wait_for(hold, std::chrono::nanoseconds(beat_ns), [this] { return stop_.load(); });
    if (stop_) return;
    hold.unlock();
    const int64_t now = now_ns(), busy_since = io_busy_since_ns_;
    // A process that was stopped itself has not listened, and nor has a busy I/O thread.
    const bool stopped = now - last > dead_after_ns_ / 2;
    if (stopped) {
      std::lock_guard<std::mutex> all(lock_);
      for (auto& entry : links_) entry.second->last_heard_ns = now;
    }
    last = now;
    try {
      tick(now, !stopped && !(busy_since && now - busy_since > heartbeat_ns_));
    } catch (const std::exception&) {}  // the next tick tries again
    if (dead_link()) on_dead();
    hold.lock();
  }
}

inline void Endpoint::tick(int64_t now, bool judge) {
  for (const LinkRef& link : all_links()) link->beat(now, dead_after_ns_, judge);
  if (!link_to(incarnation_)) {  // it ended for lack of memory
    auto self = std::make_shared<LocalLink>(shared_from_this());
    self->pair(self, shared_from_this());
    add_link(self, incarnation_, name_);
  }
  drop_old(now);
}

}  // namespace headrace::distributed
