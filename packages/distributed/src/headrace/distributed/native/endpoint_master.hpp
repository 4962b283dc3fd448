// The steps that an endpoint leads, as a master or as the client of one.
#pragma once
#include "native/endpoint.hpp"

namespace headrace::distributed {

inline std::vector<uint64_t> Endpoint::unlinked(const StepPlan& plan) {
  std::vector<uint64_t> missing;
  for (auto& participant : plan.participants)
    if (!link_to(participant.peer)) missing.push_back(participant.peer);
  return missing;
}

// call: of which the step is; it must still be wanted.
inline std::shared_ptr<MasterStep> Endpoint::begin(const std::shared_ptr<const StepPlan>& plan,
                                                   std::function<void(MasterStep&)> at_end,
                                                   const CallKey* call, std::string* missing) {
  std::shared_ptr<MasterStep> step;
  std::lock_guard<std::mutex> hold(lock_);
  step =
      std::make_shared<MasterStep>(plan, StepKey{plan->session, ++last_step_}, std::move(at_end));
  if (closed_) {
    *missing = name_ + ", which was stopped";
    return nullptr;
  }
  for (auto& participant : plan->participants) {
    step->links.push_back(link_under_lock(participant.peer));
    if (!step->links.back()) {
      *missing = participant.name;
      return nullptr;
    }
  }
  if (call) {
    auto found = calls_.find(*call);
    if (found == calls_.end()) {
      *missing = "the client";
      return nullptr;
    }
    found->second.step = step;
  }
  try {
    led_[step->key] = step;
  } catch (const std::bad_alloc&) {
    if (call) calls_.find(*call)->second.step.reset();
    throw;
  }
  return step;
}

inline Message feed_message(const MasterStep& step, const StepPlan::Feed& feed,
                            const Value& value) {
  Message message;
  message.header.type = FrameType::kTensor;
  message.header.session = step.key.session;
  message.header.step = step.key.step;
  message.header.edge = feed.edge;
  if (step.plan->call) message.header.flags = kFeed;
  message.value = &value.tensor;
  return message;
}

inline void Endpoint::launch(MasterStep& step, const Value* const* values, uint8_t flags) {
  const StepPlan& plan = *step.plan;
  std::vector<Message> messages;
  for (int64_t fetch : plan.fetches)
    if (fetch < 0 && values[-1 - fetch]) step.fed(int32_t(-1 - fetch), *values[-1 - fetch]);
  for (size_t i = 0; i < plan.participants.size(); ++i) {
    messages.clear();
    for (auto& feed : plan.feeds)
      if (feed.participant == int32_t(i) && values[feed.feed])
        messages.push_back(feed_message(step, feed, *values[feed.feed]));
    Message run;
    run.header.type = plan.call ? FrameType::kCall : FrameType::kRun;
    run.header.flags = flags;
    run.header.session = step.key.session;
    run.header.step = step.key.step;
    run.header.edge = plan.participants[i].partition;
    messages.push_back(run);
    step.links[i]->send(messages.data(), messages.size());
  }
  step.started();
}

inline void Endpoint::send_feed(MasterStep& step, int32_t number, const Value& value) {
  step.fed(number, value);
  for (auto& feed : step.plan->feeds) {
    if (feed.feed != number) continue;
    const Message message = feed_message(step, feed, value);
    step.links[size_t(feed.participant)]->send(&message, 1);
  }
}

inline void Endpoint::forget(const MasterStep& step) noexcept {
  std::shared_ptr<MasterStep> forgotten;
  std::lock_guard<std::mutex> hold(lock_);
  auto found = led_.find(step.key);
  if (found == led_.end()) return;
  forgotten = std::move(found->second);
  led_.erase(found);
}

// The step of a frame from one of its participants; null: it is over.
inline std::shared_ptr<MasterStep> Endpoint::led(const LinkRef& link, const FrameHeader& header) {
  std::shared_ptr<MasterStep> step;
  {
    std::lock_guard<std::mutex> hold(lock_);
    auto found = led_.find({header.session, header.step});
    if (found == led_.end()) return nullptr;
    step = found->second;
  }
  for (const LinkRef& other : step->links)
    if (other == link) return step;
  return nullptr;
}

inline void Endpoint::on_frame(const LinkRef& link, const FrameHeader& header, Value&& value,
                               std::string&& text) {
  switch (header.type) {
    case FrameType::kRun: return on_run(link, header);
    case FrameType::kCall: return on_call(link, header);
    case FrameType::kDone: return on_done(link, header, text);
    case FrameType::kAbort: return on_abort(link, header, text);
    case FrameType::kTensor: break;
    default: return;
  }
  if (header.flags & kFetch) {
    if (auto step = led(link, header))
      step->arrive(header.edge, std::move(value), header.flags & kDead);
  } else if (header.flags & kFeed) {
    on_call_value(link, header, std::move(value));
  } else {
    on_value(link, header, std::move(value));
  }
}

inline void Endpoint::on_done(const LinkRef& link, const FrameHeader& header,
                              const std::string& text) {
  const auto step = led(link, header);
  if (!step) return;
  hr_code code = header.extra >= HR_OK && header.extra <= HR_UNAUTHENTICATED ? hr_code(header.extra)
                                                                             : HR_UNKNOWN;
  std::string node, message, metadata;
  try {
    uint32_t sizes[2] = {0, 0};
    if (text.size() >= sizeof sizes) std::memcpy(sizes, text.data(), sizeof sizes);
    const size_t begin = sizeof sizes + size_t(sizes[0]);
    if (text.size() >= sizeof sizes && begin + sizes[1] <= text.size()) {
      node = text.substr(sizeof sizes, sizes[0]);
      message = text.substr(begin, sizes[1]);
      metadata = text.substr(begin + sizes[1]);
    }
  } catch (const std::bad_alloc&) {}  // the code says enough
  for (size_t i = 0; i < step->links.size(); ++i)
    if (step->links[i] == link) step->ended(int32_t(i), code, node, message, std::move(metadata));
}

// ---- calls of clients

constexpr char kTooManyCalls[] = "it has more calls than may wait for their order or their end";

inline void Endpoint::offer(int64_t callable, std::shared_ptr<const StepPlan> plan) {
  std::lock_guard<std::mutex> hold(lock_);
  callables_[callable].swap(plan);
}

inline void Endpoint::withdraw(int64_t callable) {
  std::lock_guard<std::mutex> hold(lock_);
  callables_.erase(callable);
}

// Under the lock: the call of a client, perhaps a new one; calls_.end(): there are too many.
inline Endpoint::Calls::iterator Endpoint::find_call(Link& link, const CallKey& key) {
  auto found = calls_.find(key);
  if (found != calls_.end() || link.early >= kMaxEarly) return found;
  found = calls_.emplace(key, Call()).first;
  ++link.early;
  return found;
}

// Under the lock.
inline Endpoint::Call Endpoint::take_call(Calls::iterator found) noexcept {
  auto link = links_.find(found->first.link);
  if (link != links_.end()) --link->second->early;
  Call taken = std::move(found->second);
  early_bytes_ -= taken.bytes;
  calls_.erase(found);
  return taken;
}

inline Endpoint::Call Endpoint::remove_call(const CallKey& key) noexcept {
  std::lock_guard<std::mutex> hold(lock_);
  auto found = calls_.find(key);
  return found == calls_.end() ? Call() : take_call(found);
}

inline void Endpoint::on_call_value(const LinkRef& link, const FrameHeader& header, Value&& value) {
  const CallKey key{link->number, {header.session, header.step}};
  const char* problem = nullptr;
  {
    std::lock_guard<std::mutex> hold(lock_);
    if (closed_ || !links_.count(link->number)) return;
    auto found = find_call(*link, key);
    const int64_t bytes = value.empty() ? 0 : value.tensor.bytes;
    if (found == calls_.end()) {
      problem = kTooManyCalls;
    } else if (found->second.step) {
      return;  // the call runs
    } else if (found->second.values.size() >= kMaxCallValues) {
      problem = "it has sent more values for a call than there are feeds";
    } else if (early_bytes_ + bytes > waiting_limit()) {
      problem = "values that came before the order to run take half of the memory";
    } else if (found->second.values.emplace(header.edge, std::move(value)).second) {
      found->second.bytes += bytes;
      early_bytes_ += bytes;
    }
  }
  if (problem) link->fail(problem);
}

inline hr_code call_values(const StepPlan& plan, const std::unordered_map<int64_t, Value>& given,
                           std::vector<const Value*>* values, std::string* problem) {
  values->resize(plan.feed_dtypes.size());
  for (size_t i = 0; i < values->size(); ++i) {
    auto found = given.find(int64_t(i));
    if (found == given.end() || found->second.empty()) {
      *problem = "feed " + std::to_string(i) + " of the call has no value";
      return HR_INVALID_ARGUMENT;
    }
    const hr_dtype came = found->second.tensor.dtype;
    if (came != plan.feed_dtypes[i]) {
      *problem = "feed " + std::to_string(i) + " of the call has DataType " + std::to_string(came) +
                 ", where " + std::to_string(plan.feed_dtypes[i]) + " is expected";
      return HR_INVALID_ARGUMENT;
    }
    (*values)[i] = &found->second;
  }
  return HR_OK;
}

inline void Endpoint::on_call(const LinkRef& link, const FrameHeader& header) {
  const CallKey key{link->number, {header.session, header.step}};
  std::shared_ptr<const StepPlan> plan;
  std::unordered_map<int64_t, Value> given;
  bool known;
  {
    std::lock_guard<std::mutex> hold(lock_);
    if (closed_ || !links_.count(link->number)) return;  // the loss is the answer
    auto found = find_call(*link, key);
    known = found != calls_.end();
    if (known) {
      if (found->second.step) return;  // the order came twice
      auto callable = callables_.find(header.edge);
      if (callable != callables_.end()) plan = callable->second;
      given.swap(found->second.values);
      early_bytes_ -= found->second.bytes;
      found->second.bytes = 0;
    }
  }
  if (!known) return link->fail(kTooManyCalls);
  std::vector<const Value*> values;
  std::shared_ptr<MasterStep> step;
  std::string problem;
  hr_code code = HR_ABORTED;
  if (!plan)
    problem = name_ + " has no callable " + std::to_string(header.edge) +
              ": its session was closed, or the task has been restarted";
  else code = call_values(*plan, given, &values, &problem);
  if (code == HR_OK) {
    auto at_end = [self = shared_from_this(), link, key](MasterStep& ended) {
      self->end_call(link, key, ended);
    };
    step = begin(plan, std::move(at_end), &key, &problem);
    if (!step) {
      code = HR_UNAVAILABLE;
      problem = "there is no link to " + problem;
    }
  }
  if (!step) {
    remove_call(key);
    return answer(*link, key.step, code, "", problem.c_str(), "", 0);
  }
  try {
    launch(*step, values.data(), header.flags & kTraced);
  } catch (const std::bad_alloc&) {
    step->cancelled(HR_RESOURCE_EXHAUSTED, "no memory to start the step");
  }
}

inline void Endpoint::end_call(const LinkRef& link, const CallKey& call,
                               MasterStep& step) noexcept {
  forget(step);
  remove_call(call);
  const StepKey& key = call.step;
  hr_code code = step.code();
  std::string why, metadata;
  try {
    std::vector<Message> messages;
    for (size_t i = 0; code == HR_OK && i < step.results.size(); ++i) {
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
    if (!messages.empty()) link->send(messages.data(), messages.size());
    // Messages one after the other are merged when they are read.
    for (const std::string& part : step.metadata) metadata += part;
    why = step.message();
  } catch (const std::exception&) {
    if (code == HR_OK) code = HR_RESOURCE_EXHAUSTED;
  }
  if (code != step.code()) return answer(*link, key, code, "", "no memory for the results", "", 0);
  answer(*link, key, code, step.node().c_str(), why.c_str(), metadata.data(), metadata.size());
}

}  // namespace headrace::distributed
