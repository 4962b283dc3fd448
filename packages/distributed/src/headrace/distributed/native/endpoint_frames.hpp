// What an endpoint does with the frames that arrive, with lost links and with time.
#pragma once
#include "native/endpoint.hpp"

namespace headrace::distributed {

constexpr int64_t kKeepEndedNs = 60'000'000'000;  // how long late values of a failed step are known

inline bool Endpoint::add_link(const LinkRef& link, uint64_t peer, const std::string& peer_name) {
  link->peer = peer;
  link->peer_name = peer_name;
  std::lock_guard<std::mutex> hold(lock_);
  if (closed_) return false;
  link->number = ++last_link_;
  links_[link->number] = link;
  by_peer_[peer] = link;
  return true;
}

// Null: the step has ended, or (without create) is not known.
inline std::shared_ptr<WorkerStep> Endpoint::step_of(const StepKey& key, bool create) {
  std::lock_guard<std::mutex> hold(lock_);
  auto found = steps_.find(key);
  if (found != steps_.end()) return found->second;
  if (!create || closed_ || ended_.count(key)) return nullptr;
  auto made = std::make_shared<WorkerStep>(key, memory());
  made->since_ns = now_ns();
  steps_[key] = made;
  return made;
}

inline void Endpoint::on_frame(const LinkRef& link, const FrameHeader& header, Value&& value,
                               std::string&& text) {
  const StepKey key{header.session, header.step};
  switch (header.type) {
    case FrameType::kRun: return on_run(link, header);
    case FrameType::kCall: return on_call(link, header);
    case FrameType::kDone: return on_done(link, header, text);
    case FrameType::kAbort: return on_abort(link, header, text);
    case FrameType::kTensor: break;
    default: return;
  }
  if (header.flags & kFetch) {
    std::shared_ptr<MasterStep> step;
    {
      std::lock_guard<std::mutex> hold(lock_);
      auto found = led_.find(key);
      if (found != led_.end()) step = found->second;
    }
    if (step) step->arrive(header.edge, std::move(value), header.flags & kDead);
  } else if (header.flags & kFeed) {
    std::lock_guard<std::mutex> hold(lock_);
    calls_[{link->number, key.session, key.step}].values[header.edge] = std::move(value);
  } else if (auto step = step_of(key, true)) {
    step->arrive({header.edge, header.frame, header.iteration}, std::move(value),
                 header.flags & kDead ? 1 : 0);
  }
}

inline void Endpoint::on_no_memory(const LinkRef& link, const FrameHeader& header, int64_t bytes) {
  const std::string why = name_ + " has no memory for a tensor of " + std::to_string(bytes) +
                          " bytes from " + link->peer_name;
  const StepKey key{header.session, header.step};
  if (header.flags & kFetch) {
    std::shared_ptr<MasterStep> step;
    {
      std::lock_guard<std::mutex> hold(lock_);
      auto found = led_.find(key);
      if (found != led_.end()) step = found->second;
    }
    if (step) step->cancelled(HR_RESOURCE_EXHAUSTED, why);
  } else if (!(header.flags & kFeed)) {
    if (auto step = step_of(key, true)) stop_step(step, HR_RESOURCE_EXHAUSTED, why);
  }
}

// ---- the worker's side

inline void Endpoint::on_run(const LinkRef& link, const FrameHeader& header) {
  const StepKey key{header.session, header.step};
  std::shared_ptr<WorkerStep> step = step_of(key, true);
  std::string problem;
  hr_code code = HR_OK;
  int64_t run = 0;
  {
    std::lock_guard<std::mutex> hold(lock_);
    auto found = bindings_.find(header.edge);
    std::vector<LinkRef> links;
    if (!worker_ || found == bindings_.end() || found->second->session != header.session) {
      code = HR_ABORTED;
      problem = name_ + " has no partition " + std::to_string(header.edge) +
                " of this session: it was closed, or the task has been restarted";
    } else if (!step || step->run) {
      code = HR_ABORTED;
      problem = "the step has ended before";
    } else {
      for (auto& peer : found->second->peers) {
        auto there = by_peer_.find(peer.incarnation);
        if (there == by_peer_.end() || there->second->dead) {
          code = HR_UNAVAILABLE;
          problem = name_ + " has no link to " + peer.name;
          break;
        }
        links.push_back(there->second);
      }
    }
    if (code == HR_OK) {
      step->connect(found->second, link, std::move(links));
      run = step->run = ++last_run_;
    } else {
      if (!step || !step->run) {
        steps_.erase(key);
        ended_[key] = now_ns();
      }
    }
  }
  if (code != HR_OK) return answer(link, key, code, "", problem, "");
  auto* context = new Run{shared_from_this(), step};
  const uint32_t flags = HR_RUN_HERE | (header.flags & kTraced ? HR_RUN_TRACED : 0);
  worker_->run(worker_, header.edge, run, flags, step->abi(), ran, context);
  // The order to stop may have come between the two.
  const auto failure = step->failure();
  if (failure.first != HR_OK)
    worker_->cancel(worker_, run, failure.first, failure.second.c_str());
}

inline void Endpoint::ran(void* argument, hr_code code, const char* node, const char* message,
                          const char* metadata, size_t metadata_size) {
  std::unique_ptr<Run> run(static_cast<Run*>(argument));
  WorkerStep& step = *run->step;
  std::string named = node, why = message;
  if (code != HR_OK) {
    const auto failure = step.failure();
    if (failure.first != HR_OK && named.empty()) {
      code = failure.first;
      why = failure.second;
    }
  }
  {
    std::lock_guard<std::mutex> hold(run->endpoint->lock_);
    run->endpoint->steps_.erase(step.key);
    if (code != HR_OK) run->endpoint->ended_[step.key] = now_ns();
  }
  answer(step.master, step.key, code, named, why, std::string(metadata, metadata_size));
}

inline void Endpoint::answer(const LinkRef& link, StepKey key, hr_code code,
                             const std::string& node, const std::string& message,
                             const std::string& metadata) {
  std::string text;
  if (code != HR_OK || !metadata.empty()) {
    const uint32_t sizes[2] = {uint32_t(node.size()), uint32_t(message.size())};
    text.append(reinterpret_cast<const char*>(sizes), sizeof sizes);
    text.append(node).append(message).append(metadata);
  }
  Message done;
  done.header.type = FrameType::kDone;
  done.header.session = key.session;
  done.header.step = key.step;
  done.header.extra = code;
  done.text = text.data();
  done.text_size = text.size();
  link->send(&done, 1);
}

inline void Endpoint::stop_step(const std::shared_ptr<WorkerStep>& step, hr_code code,
                                const std::string& why) {
  int64_t run;
  {
    std::lock_guard<std::mutex> hold(lock_);
    run = step->run;
    if (!run) {  // nothing runs yet; the order to run will be answered with an error
      steps_.erase(step->key);
      ended_[step->key] = now_ns();
    }
  }
  step->abort(code, why);
  if (run && worker_) worker_->cancel(worker_, run, code, why.c_str());
}

inline void Endpoint::on_abort(const LinkRef& link, const FrameHeader& header,
                               const std::string& why) {
  const StepKey key{header.session, header.step};
  const hr_code code = header.extra > HR_OK && header.extra <= HR_UNAUTHENTICATED
                           ? hr_code(header.extra)
                           : HR_CANCELLED;
  std::shared_ptr<WorkerStep> step;
  std::shared_ptr<MasterStep> led;
  {
    std::lock_guard<std::mutex> hold(lock_);
    auto call = calls_.find({link->number, key.session, key.step});
    if (call != calls_.end()) {
      led = call->second.step;
      if (!led) calls_.erase(call);
    } else {
      auto found = steps_.find(key);
      if (found == steps_.end()) ended_[key] = now_ns();
      else step = found->second;
    }
  }
  if (led) led->cancelled(code, why);
  if (step) stop_step(step, code, why);
}

// ---- the master's side

inline void Endpoint::on_done(const LinkRef& link, const FrameHeader& header,
                              const std::string& text) {
  std::shared_ptr<MasterStep> step;
  {
    std::lock_guard<std::mutex> hold(lock_);
    auto found = led_.find({header.session, header.step});
    if (found == led_.end()) return;
    step = found->second;
  }
  std::string node, message, metadata;
  if (text.size() >= 8) {
    uint32_t sizes[2];
    std::memcpy(sizes, text.data(), sizeof sizes);
    if (uint64_t(sizes[0]) + sizes[1] <= text.size() - 8) {
      node = text.substr(8, sizes[0]);
      message = text.substr(8 + sizes[0], sizes[1]);
      metadata = text.substr(8 + sizes[0] + sizes[1]);
    }
  }
  hr_code code = header.extra >= HR_OK && header.extra <= HR_UNAUTHENTICATED
                     ? hr_code(header.extra)
                     : HR_UNKNOWN;
  for (size_t i = 0; i < step->links.size(); ++i)
    if (step->links[i] == link)
      return step->ended(int32_t(i), code, node, message, std::move(metadata));
}

inline void Endpoint::on_call(const LinkRef& link, const FrameHeader& header) {
  const StepKey key{header.session, header.step};
  const CallKey call{link->number, key.session, key.step};
  std::shared_ptr<const StepPlan> plan;
  std::unordered_map<int64_t, Value> given;
  {
    std::lock_guard<std::mutex> hold(lock_);
    auto found = callables_.find(header.edge);
    if (found != callables_.end()) plan = found->second;
    given = std::move(calls_[call].values);
  }
  std::vector<const Value*> values;
  std::string problem;
  hr_code code = HR_OK;
  if (!plan) {
    code = HR_ABORTED;
    problem = name_ + " has no callable " + std::to_string(header.edge) +
              ": its session was closed, or the task has been restarted";
  } else {
    for (auto& feed : plan->feeds)
      if (size_t(feed.feed) >= values.size()) values.resize(size_t(feed.feed) + 1);
    for (auto& entry : given)
      if (size_t(entry.first) < values.size()) values[size_t(entry.first)] = &entry.second;
    for (auto& feed : plan->feeds)
      if (!values[size_t(feed.feed)]) {
        code = HR_INVALID_ARGUMENT;
        problem = "feed " + std::to_string(feed.feed) + " of the call has no value";
      }
  }
  std::shared_ptr<MasterStep> step;
  if (code == HR_OK) {
    std::string missing;
    step = begin(plan, &missing);
    if (!step) {
      code = HR_UNAVAILABLE;
      problem = "there is no link to " + missing;
    }
  }
  if (code != HR_OK) {
    {
      std::lock_guard<std::mutex> hold(lock_);
      calls_.erase(call);
    }
    return answer(link, key, code, "", problem, "");
  }
  step->at_end = [self = shared_from_this(), link, key, call](MasterStep& ended) {
    self->forget(ended);
    {
      std::lock_guard<std::mutex> hold(self->lock_);
      self->calls_.erase(call);
    }
    self->answer_call(link, key, ended);
  };
  {
    std::lock_guard<std::mutex> hold(lock_);
    calls_[call].step = step;
  }
  launch(*step, values.data(), header.flags & kTraced, 0);
}

inline void Endpoint::answer_call(const LinkRef& link, StepKey key, MasterStep& step) {
  std::vector<Message> messages;
  for (size_t i = 0; step.code() == HR_OK && i < step.results.size(); ++i) {
    Message message;
    message.header.type = FrameType::kTensor;
    message.header.flags = kFetch;
    message.header.session = key.session;
    message.header.step = key.step;
    message.header.edge = int64_t(i);
    if (step.states[i] == MasterStep::kHere) message.value = &step.results[i].tensor;
    else message.header.flags |= kDead;
    messages.push_back(message);
  }
  link->send(messages.data(), messages.size());
  std::string metadata;  // messages one after the other are merged when they are read
  for (const std::string& part : step.metadata) metadata += part;
  answer(link, key, step.code(), step.node(), step.message(), metadata);
}

// ---- lost links, and time

inline void Endpoint::on_lost(const LinkRef& link, const std::string& reason) {
  std::vector<std::shared_ptr<MasterStep>> led, called;
  std::vector<std::shared_ptr<WorkerStep>> steps;
  {
    std::lock_guard<std::mutex> hold(lock_);
    if (!links_.erase(link->number)) return;
    auto current = by_peer_.find(link->peer);
    if (current != by_peer_.end() && current->second == link) {
      by_peer_.erase(current);
      for (auto& entry : links_)
        if (entry.second->peer == link->peer && !entry.second->dead)
          by_peer_[link->peer] = entry.second;
    }
    for (auto& entry : led_) led.push_back(entry.second);
    for (auto& entry : steps_) {
      WorkerStep& step = *entry.second;
      bool uses = step.master == link;
      for (auto& other : step.links) uses = uses || other == link;
      if (uses) steps.push_back(entry.second);
    }
    for (auto entry = calls_.begin(); entry != calls_.end();) {
      if (entry->first.link != link->number) {
        ++entry;
        continue;
      }
      if (entry->second.step) called.push_back(entry->second.step);
      entry = calls_.erase(entry);
    }
    if (!closed_) {
      if (events_.size() >= 1024) events_.pop_front();  // nobody listens
      events_.push_back({link->peer, reason});
    }
  }
  events_ready_.notify_all();
  for (auto& step : led) step->lost(link.get(), reason);
  for (auto& step : steps)
    stop_step(step, HR_UNAVAILABLE, link->peer_name + " is not available: " + reason);
  for (auto& step : called) step->cancelled(HR_CANCELLED, "the client is gone: " + reason);
}

inline void Endpoint::serve() {
  const int64_t tick_ns = std::max<int64_t>(std::min(heartbeat_ns_, dead_after_ns_) / 4, 1'000'000);
  int64_t last_tick = now_ns();
  epoll_event events[64];
  while (!stop_) {
    const int n = epoll_wait(epoll_, events, 64, int(tick_ns / 1'000'000));
    if (worker_) worker_->begin_deliveries();
    for (int i = 0; i < n; ++i) {
      if (!events[i].data.u64) {
        uint64_t drained;
        if (::read(wake_, &drained, sizeof drained) < 0) {}  // it was drained before
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
    const int64_t now = now_ns();
    if (now - last_tick < tick_ns) continue;
    // A process that was stopped itself has not listened: its peers are not to blame.
    if (now - last_tick > dead_after_ns_ / 2)
      for (const LinkRef& link : all_links()) link->last_heard_ns = now;
    last_tick = now;
    tick(now);
  }
  for (const LinkRef& link : all_links())
    if (auto socket = std::dynamic_pointer_cast<SocketLink>(link)) socket->end();
}

inline void Endpoint::tick(int64_t now) {
  for (const LinkRef& link : all_links()) {
    if (dynamic_cast<LocalLink*>(link.get())) continue;
    const int64_t silence = now - link->last_heard_ns.load(std::memory_order_relaxed);
    if (silence > dead_after_ns_) {
      char text[64];
      std::snprintf(text, sizeof text, "no answer for %.1f s", double(silence) / 1e9);
      link->close(text);
    } else if (silence > heartbeat_ns_ && now - link->last_ping_ns > heartbeat_ns_) {
      link->last_ping_ns = now;
      Message ping;
      ping.header.type = FrameType::kPing;
      link->send(&ping, 1);
    }
  }
  std::lock_guard<std::mutex> hold(lock_);
  for (auto entry = ended_.begin(); entry != ended_.end();)
    entry = now - entry->second > kKeepEndedNs ? ended_.erase(entry) : std::next(entry);
  for (auto entry = steps_.begin(); entry != steps_.end();)
    entry = !entry->second->run && now - entry->second->since_ns > kKeepEndedNs
                ? steps_.erase(entry)
                : std::next(entry);
}

}  // namespace headrace::distributed
