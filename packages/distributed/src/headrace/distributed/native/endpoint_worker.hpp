// The steps of which an endpoint's worker runs a partition.
#pragma once
#include "native/endpoint.hpp"

namespace headrace::distributed {

inline void Endpoint::bind(std::shared_ptr<const Binding> binding) {
  std::lock_guard<std::mutex> hold(lock_);
  bindings_[binding->partition].swap(binding);
}

inline void Endpoint::unbind(int64_t partition) {
  std::lock_guard<std::mutex> hold(lock_);
  bindings_.erase(partition);
}

inline std::shared_ptr<WorkerStep> Endpoint::open_step(std::shared_ptr<const Binding> binding,
                                                       StepKey key, std::string* problem) {
  std::vector<LinkRef> links;
  StepRef made = std::make_shared<WorkerStep>(key, memory_);
  std::lock_guard<std::mutex> hold(lock_);
  if (closed_) {
    *problem = name_ + " was stopped";
    return nullptr;
  }
  for (auto& peer : binding->peers) {
    links.push_back(link_under_lock(peer.incarnation));
    if (links.back()) continue;
    *problem = peer.name + " is not available: " + name_ + " has no link to it";
    return nullptr;
  }
  auto ended = ended_.find(key);
  if (ended != ended_.end()) {
    *problem = ended->second.failure.why;
    return nullptr;
  }
  StepRef step = steps_.emplace(key, made).first->second;  // it may have values
  if (step->run) {
    *problem = name_ + " takes part in the step already";
    return nullptr;
  }
  settle(*step);
  step->connect(std::move(binding), nullptr, std::move(links));
  step->run = ++last_run_;
  return step;
}

inline void Endpoint::end_step(const StepRef& step) {
  Failure closed;
  closed.set(HR_CANCELLED, "the step is over");
  StepRef removed;
  {
    std::lock_guard<std::mutex> hold(lock_);
    removed = remove(*step);
    if (removed) keep_ended(step->key, closed);
  }
  step->abort(closed.code, closed.why);
}

// ---- bookkeeping, under the lock

// The step has its order to run, or goes.
inline void Endpoint::settle(WorkerStep& step) noexcept {
  early_bytes_ -= step.early_bytes;
  step.early_bytes = 0;
  auto opener = links_.find(step.opener);
  if (opener != links_.end()) --opener->second->early;
  step.opener = 0;
}

inline Endpoint::StepRef Endpoint::remove(const WorkerStep& step) noexcept {
  auto found = steps_.find(step.key);
  if (found == steps_.end() || found->second.get() != &step) return nullptr;
  StepRef removed = std::move(found->second);
  steps_.erase(found);
  settle(*removed);
  return removed;
}

inline void Endpoint::keep_ended(const StepKey& key, const Failure& failure) noexcept {
  try {
    ended_order_.push_back(key);
    ended_[key] = {now_ns(), failure};
  } catch (const std::bad_alloc&) {}  // a late value makes a step that nobody runs, and that goes
  while (ended_order_.size() > kMaxEnded) {
    ended_.erase(ended_order_.front());
    ended_order_.pop_front();
  }
}

// ---- values

inline bool Endpoint::wants(const FrameHeader& header) {
  const StepKey key{header.session, header.step};
  std::lock_guard<std::mutex> hold(lock_);
  if (header.flags & kFetch) return led_.count(key);
  return !closed_ && (header.flags & kFeed || !ended_.count(key));
}

// Null: the step has ended, or (over_limit) the link may not have a further one.
inline Endpoint::StepRef Endpoint::step_for_value(const LinkRef& link, const StepKey& key,
                                                  int64_t bytes, bool* over_limit) {
  std::lock_guard<std::mutex> hold(lock_);
  auto found = steps_.find(key);
  if (found == steps_.end()) {
    if (closed_ || ended_.count(key) || !links_.count(link->number)) return nullptr;
    *over_limit = link->early >= kMaxEarly;
    if (*over_limit) return nullptr;
    auto made = std::make_shared<WorkerStep>(key, memory_);
    made->since_ns = now_ns();
    made->opener = link->number;
    found = steps_.emplace(key, std::move(made)).first;
    ++link->early;
  }
  WorkerStep& step = *found->second;
  if (!step.run) {
    step.early_bytes += bytes;
    early_bytes_ += bytes;
    *over_limit = early_bytes_ > waiting_limit();
  }
  return found->second;
}

inline void Endpoint::on_value(const LinkRef& link, const FrameHeader& header, Value&& value) {
  bool over_limit = false;
  const int64_t bytes = value.empty() ? 0 : value.tensor.bytes;
  const StepRef step = step_for_value(link, {header.session, header.step}, bytes, &over_limit);
  if (!step) {
    if (over_limit) link->fail("it has sent values for more steps than may wait for their order");
    return;
  }
  if (over_limit)
    return stop_step(step, HR_RESOURCE_EXHAUSTED,
                     "values that came before the order to run take half of the memory");
  step->arrive({header.edge, header.frame, header.iteration}, std::move(value),
               header.flags & kDead ? 1 : 0);
}

inline void Endpoint::on_no_memory(const LinkRef& link, const FrameHeader& header,
                                   int64_t bytes) noexcept {
  char why[400];
  if (bytes)
    std::snprintf(why, sizeof why, "%.120s has no memory for a tensor of %lld bytes from %.120s",
                  name_.c_str(), (long long)bytes, link->peer_name.c_str());
  else
    std::snprintf(why, sizeof why, "%.120s has no memory for what %.120s has sent", name_.c_str(),
                  link->peer_name.c_str());
  const StepKey key{header.session, header.step};
  const bool value = header.type == FrameType::kTensor;
  try {
    if (value && header.flags & kFetch) {
      if (auto step = led(link, header)) step->cancelled(HR_RESOURCE_EXHAUSTED, why);
      return;
    }
    if (header.type == FrameType::kCall || (value && header.flags & kFeed)) {
      remove_call({link->number, key});
      return answer(*link, key, HR_RESOURCE_EXHAUSTED, "", why, "", 0);
    }
    if (header.type == FrameType::kRun || value) {
      bool over_limit = false;
      if (auto step = step_for_value(link, key, 0, &over_limit))
        stop_step(step, HR_RESOURCE_EXHAUSTED, why);
      if (!value) answer(*link, key, HR_RESOURCE_EXHAUSTED, "", why, "", 0);
      return;
    }
  } catch (const std::exception&) {}
  // Whoever waits for the frame learns of the end of the link.
  link->fail("there is no memory for what it has sent");
}

// ---- runs

inline void Endpoint::on_run(const LinkRef& link, const FrameHeader& header) {
  const StepKey key{header.session, header.step};
  Failure failure;
  StepRef step, dropped;
  std::unique_ptr<Run> context(new Run());
  int64_t run = 0;
  {
    std::lock_guard<std::mutex> hold(lock_);
    if (closed_ || !links_.count(link->number)) return;  // the loss is the answer
    auto bound = bindings_.find(header.edge);
    auto ended = ended_.find(key);
    auto found = steps_.find(key);
    std::vector<LinkRef> links;
    if (found != steps_.end()) step = found->second;
    if (step && step->run) return;  // the order came twice
    if (!worker_ || bound == bindings_.end() || bound->second->session != header.session) {
      char why[400];
      std::snprintf(why, sizeof why,
                    "%.200s has no partition %lld of this session: it was closed, or the task has "
                    "been restarted",
                    name_.c_str(), (long long)header.edge);
      failure.set(HR_ABORTED, why);
    } else if (ended != ended_.end()) {
      failure = ended->second.failure;
    } else {
      for (auto& peer : bound->second->peers) {
        links.push_back(link_under_lock(peer.incarnation));
        if (links.back()) continue;
        char why[400];
        std::snprintf(why, sizeof why, "%.150s is not available: %.150s has no link to it",
                      peer.name.c_str(), name_.c_str());
        failure.set(HR_UNAVAILABLE, why);
        break;
      }
    }
    if (failure.code == HR_OK) {
      if (!step) {
        step = std::make_shared<WorkerStep>(key, memory_);
        steps_[key] = step;
      }
      settle(*step);
      step->connect(bound->second, link, std::move(links));
      run = step->run = ++last_run_;
    } else {
      if (step) dropped = remove(*step);
      keep_ended(key, failure);
    }
  }
  if (!run) return answer(*link, key, failure.code, "", failure.why, "", 0);
  context->endpoint = shared_from_this();
  context->step = step;
  const uint32_t flags = HR_RUN_HERE | (header.flags & kTraced ? HR_RUN_TRACED : 0);
  worker_->run(worker_, header.edge, run, flags, step->abi(), ran, context.release());
  // The order to stop may have come between the two.
  const Failure stopped = step->aborted();
  if (stopped.code != HR_OK) worker_->cancel(worker_, run, stopped.code, stopped.why);
}

inline void Endpoint::ran(void* argument, hr_code code, const char* node, const char* message,
                          const char* metadata, size_t metadata_size) {
  std::unique_ptr<Run> run(static_cast<Run*>(argument));
  WorkerStep& step = *run->step;
  Failure failure;
  if (code != HR_OK) failure = step.aborted();
  if (failure.code != HR_OK) {  // what the run reports follows from it
    code = failure.code;
    message = failure.why;
    node = "";
  } else if (code != HR_OK) {
    failure.set(code, message);
  }
  StepRef removed;
  {
    std::lock_guard<std::mutex> hold(run->endpoint->lock_);
    removed = run->endpoint->remove(step);
    if (code != HR_OK) run->endpoint->keep_ended(step.key, failure);
  }
  answer(*step.master(), step.key, code, node, message, metadata, metadata_size);
  if (code != HR_OK) step.give_up();
}

inline void Endpoint::answer(Link& link, const StepKey& key, hr_code code, const char* node,
                             const char* message, const char* metadata,
                             size_t metadata_size) noexcept {
  std::string text;
  if (code != HR_OK || metadata_size) {
    try {
      const uint32_t sizes[2] = {uint32_t(strnlen(node, kMaxMessageBytes)),
                                 uint32_t(strnlen(message, kMaxMessageBytes))};
      const size_t begin = sizeof sizes + sizes[0] + sizes[1];
      if (metadata_size > kMaxDoneBytes - begin) metadata_size = 0;  // an end without its trace
      text.reserve(begin + metadata_size);
      text.append(reinterpret_cast<const char*>(sizes), sizeof sizes);
      text.append(node, sizes[0]).append(message, sizes[1]).append(metadata, metadata_size);
    } catch (const std::exception&) { text.clear(); }
  }
  Message done;
  done.header.type = FrameType::kDone;
  done.header.session = key.session;
  done.header.step = key.step;
  done.header.extra = code;
  done.text = text.data();
  done.text_size = text.size();
  send_surely(link, done);
}

inline void Endpoint::stop_step(const StepRef& step, hr_code code, const char* why) noexcept {
  int64_t run;
  StepRef removed;
  Failure failure;
  failure.set(code, why);
  {
    std::lock_guard<std::mutex> hold(lock_);
    run = step->run;
    if (!run) {  // the order to run will be answered with the error
      removed = remove(*step);
      keep_ended(step->key, failure);
    }
  }
  step->abort(code, failure.why);
  if (run && worker_) worker_->cancel(worker_, run, code, failure.why);
}

inline void Endpoint::on_abort(const LinkRef& link, const FrameHeader& header,
                               const std::string& why) {
  const StepKey key{header.session, header.step};
  const hr_code code = header.extra > HR_OK && header.extra <= HR_UNAUTHENTICATED
                           ? hr_code(header.extra)
                           : HR_CANCELLED;
  StepRef step, given_up;
  std::shared_ptr<MasterStep> led;
  Call dropped;
  {
    std::lock_guard<std::mutex> hold(lock_);
    if (!links_.count(link->number)) return;
    auto call = calls_.find({link->number, key});
    auto found = steps_.find(key);
    if (header.flags & kGivenUp) {
      // The order to run may still come; what it then waits for, its master ends.
      if (found != steps_.end() && !found->second->run) given_up = remove(*found->second);
      return;
    }
    if (call != calls_.end()) {
      led = call->second.step;
      if (!led) dropped = take_call(call);
    } else if (found != steps_.end()) {
      // Only the master of a step ends it.
      if (!found->second->run || found->second->master() == link) step = found->second;
    } else {
      Failure failure;
      failure.set(code, why.c_str());
      keep_ended(key, failure);
    }
  }
  if (led) led->cancelled(code, why);
  if (step) stop_step(step, code, why.c_str());
}

inline void Endpoint::drop_old(int64_t now) {
  std::vector<StepRef> old;
  {
    std::lock_guard<std::mutex> hold(lock_);
    while (!ended_order_.empty()) {
      auto oldest = ended_.find(ended_order_.front());
      if (oldest != ended_.end()) {
        if (now - oldest->second.at_ns <= kKeepEndedNs) break;
        ended_.erase(oldest);
      }
      ended_order_.pop_front();
    }
    for (auto& entry : steps_)
      if (!entry.second->run && now - entry.second->since_ns > kKeepEndedNs)
        old.push_back(entry.second);
  }
  for (auto& step : old)
    stop_step(step, HR_ABORTED, "values of the step have come, but no order to run it");
}

}  // namespace headrace::distributed
