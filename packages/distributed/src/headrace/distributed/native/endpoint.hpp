// The endpoint of a task: its links, the steps that run here, and those that this master leads. One
// thread reads from the sockets, answers for life, and runs what is short.
#pragma once
#include <sys/eventfd.h>

#include <deque>
#include <thread>
#include <unordered_set>

#include "native/local_link.hpp"
#include "native/master_step.hpp"
#include "native/socket_link.hpp"
#include "native/stream_link.hpp"

namespace headrace::distributed {

struct LinkEvent {
  uint64_t peer;
  std::string reason;
};

class Endpoint : public Receiver, public std::enable_shared_from_this<Endpoint> {
 public:
  Endpoint(std::string name, uint64_t incarnation, hr_worker* worker, int64_t heartbeat_ns,
           int64_t dead_after_ns, uint64_t max_tensor_bytes)
      : name_(std::move(name)),
        incarnation_(incarnation),
        worker_(worker),
        heartbeat_ns_(heartbeat_ns),
        dead_after_ns_(dead_after_ns),
        max_tensor_bytes_(max_tensor_bytes) {
    if (worker) {
      worker_memory_ = {worker->allocate, worker->retain, worker->release, worker->set_string,
                        worker->wrap};
    }
  }
  ~Endpoint() override {
    if (epoll_ >= 0) ::close(epoll_);
    if (wake_ >= 0) ::close(wake_);
  }

  // False: the system gives no descriptor or thread.
  bool start() {
    epoll_ = epoll_create1(EPOLL_CLOEXEC);
    wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (epoll_ < 0 || wake_ < 0) return false;
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = 0;
    epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_, &event);
    auto self = std::make_shared<LocalLink>(shared_from_this());
    self->pair(self, shared_from_this());
    add_link(self, incarnation_, name_);
    try {
      thread_ = std::thread([self = shared_from_this()] { self->serve(); });
    } catch (const std::system_error&) { return false; }
    return true;
  }

  // Ends all links and steps. The I/O thread may not call it.
  void close() {
    {
      std::lock_guard<std::mutex> hold(lock_);
      if (closed_) return;
      closed_ = true;
    }
    Message bye;
    bye.header.type = FrameType::kBye;
    for (const LinkRef& link : all_links()) {
      if (std::string(link->plane()) != "local") link->send(&bye, 1);
    }
    std::vector<std::shared_ptr<MasterStep>> led;
    {
      std::lock_guard<std::mutex> hold(lock_);
      for (auto& entry : led_) led.push_back(entry.second);
    }
    for (auto& step : led) step->cancelled(HR_CANCELLED, name_ + " was stopped");
    for (const LinkRef& link : all_links()) link->close(name_ + " was stopped");
    stop_ = true;
    wake();
    if (thread_.joinable()) thread_.join();
    events_ready_.notify_all();
  }

  // ---- links

  int64_t add_socket(int fd, uint64_t peer, const std::string& peer_name, bool shared_memory) {
    auto link = std::make_shared<SocketLink>(shared_from_this(), fd, epoll_, shared_memory);
    if (!add_link(link, peer, peer_name)) return -1;
    if (!link->watch()) {
      link->close("the socket cannot be watched");
      on_lost(link, "the socket cannot be watched");
      return -1;
    }
    return link->number;
  }

  std::shared_ptr<StreamLink> add_stream(uint64_t peer, const std::string& peer_name) {
    auto link = std::make_shared<StreamLink>(shared_from_this());
    return add_link(link, peer, peer_name) ? link : nullptr;
  }

  int64_t add_local(const std::shared_ptr<Endpoint>& other) {
    auto here = std::make_shared<LocalLink>(shared_from_this());
    auto there = std::make_shared<LocalLink>(other);
    here->pair(there, other);
    there->pair(here, shared_from_this());
    if (!other->add_link(there, incarnation_, name_)) return -1;
    if (!add_link(here, other->incarnation_, other->name_)) {
      there->close("the other side was stopped");
      return -1;
    }
    return here->number;
  }

  LinkRef link_to(uint64_t peer) {
    std::lock_guard<std::mutex> hold(lock_);
    auto found = by_peer_.find(peer);
    return found == by_peer_.end() || found->second->dead ? nullptr : found->second;
  }

  std::vector<LinkRef> all_links() {
    std::vector<LinkRef> found;
    std::lock_guard<std::mutex> hold(lock_);
    for (auto& entry : links_) found.push_back(entry.second);
    return found;
  }

  void close_links(uint64_t peer, const std::string& reason) {
    for (const LinkRef& link : all_links())
      if (link->peer == peer) link->close(reason);
  }

  // Waits for the loss of a link. False: none within the time.
  bool next_event(int64_t wait_ns, LinkEvent* event) {
    std::unique_lock<std::mutex> hold(lock_);
    events_ready_.wait_for(hold, std::chrono::nanoseconds(wait_ns),
                           [this] { return closed_ || !events_.empty(); });
    if (events_.empty()) return false;
    *event = std::move(events_.front());
    events_.pop_front();
    return true;
  }

  // ---- a worker's partitions

  void bind(std::shared_ptr<const Binding> binding) {
    std::lock_guard<std::mutex> hold(lock_);
    bindings_[binding->partition] = std::move(binding);
  }
  void unbind(int64_t partition) {
    std::lock_guard<std::mutex> hold(lock_);
    bindings_.erase(partition);
  }

  // A step without a partition, whose values a caller sends and receives itself.
  std::shared_ptr<WorkerStep> open_step(std::shared_ptr<const Binding> binding, StepKey key) {
    std::shared_ptr<WorkerStep> step = step_of(key, true);
    std::vector<LinkRef> links;
    for (auto& peer : binding->peers) {
      links.push_back(link_to(peer.incarnation));
      if (!links.back()) return nullptr;
    }
    step->connect(std::move(binding), nullptr, std::move(links));
    std::lock_guard<std::mutex> hold(lock_);
    step->run = ++last_run_;
    return step;
  }
  void end_step(const StepKey& key) {
    std::lock_guard<std::mutex> hold(lock_);
    steps_.erase(key);
    ended_[key] = now_ns();
  }

  // ---- a master's steps

  uint64_t next_step() { return ++last_step_; }

  // The participants of a plan to which there is no link.
  std::vector<uint64_t> unlinked(const StepPlan& plan) {
    std::vector<uint64_t> missing;
    for (auto& participant : plan.participants)
      if (!link_to(participant.peer)) missing.push_back(participant.peer);
    return missing;
  }

  // Makes a step; null if a participant has no link, which `missing` then names.
  std::shared_ptr<MasterStep> begin(const std::shared_ptr<const StepPlan>& plan,
                                    std::string* missing) {
    auto step = std::make_shared<MasterStep>(plan, StepKey{plan->session, next_step()});
    std::lock_guard<std::mutex> hold(lock_);
    for (auto& participant : plan->participants) {
      auto found = by_peer_.find(participant.peer);
      if (found == by_peer_.end() || found->second->dead) {
        *missing = participant.name;
        return nullptr;
      }
      step->links.push_back(found->second);
    }
    if (closed_) {
      *missing = name_;
      return nullptr;
    }
    led_[step->key] = step;
    return step;
  }

  // Sends the values of the feeds that are given, and then the order to run.
  void launch(MasterStep& step, const Value* const* values, uint8_t flags, int64_t timeout_ms) {
    const StepPlan& plan = *step.plan;
    std::vector<Message> messages;
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
      run.header.iteration = timeout_ms;
      run.header.extra = int64_t(messages.size());
      messages.push_back(run);
      step.links[i]->send(messages.data(), messages.size());
      // A link that died since `begin` found it has reported its loss before the step was known.
      if (step.links[i]->dead) step.lost(step.links[i].get(), "the connection was lost");
    }
    if (plan.participants.empty()) step.cancelled(HR_OK, "");
  }

  Message feed_message(const MasterStep& step, const StepPlan::Feed& feed, const Value& value) {
    Message message;
    message.header.type = FrameType::kTensor;
    message.header.session = step.key.session;
    message.header.step = step.key.step;
    message.header.edge = feed.edge;
    if (step.plan->call) message.header.flags = kFeed;
    message.value = &value.tensor;
    return message;
  }

  // Sends the value of one feed of a step that runs.
  void send_feed(MasterStep& step, int32_t number, const Value& value) {
    for (auto& feed : step.plan->feeds) {
      if (feed.feed != number) continue;
      const Message message = feed_message(step, feed, value);
      step.links[size_t(feed.participant)]->send(&message, 1);
    }
  }

  void forget(const MasterStep& step) {
    std::lock_guard<std::mutex> hold(lock_);
    led_.erase(step.key);
  }

  // ---- callables, which clients run by number

  void offer(int64_t callable, std::shared_ptr<const StepPlan> plan) {
    std::lock_guard<std::mutex> hold(lock_);
    callables_[callable] = std::move(plan);
  }
  void withdraw(int64_t callable) {
    std::lock_guard<std::mutex> hold(lock_);
    callables_.erase(callable);
  }

  // ---- Receiver

  const Memory* memory() const override { return worker_ ? &worker_memory_ : plain_memory(); }
  uint64_t max_tensor_bytes() const override { return max_tensor_bytes_; }

  bool wants(const FrameHeader& header) override {
    const StepKey key{header.session, header.step};
    std::lock_guard<std::mutex> hold(lock_);
    if (header.flags & kFetch) return led_.count(key);
    return !closed_ && (header.flags & kFeed || !ended_.count(key));
  }

  void on_frame(const LinkRef& link, const FrameHeader& header, Value&& value,
                std::string&& text) override;
  void on_no_memory(const LinkRef& link, const FrameHeader& header, int64_t bytes) override;
  void on_lost(const LinkRef& link, const std::string& reason) override;

  const std::string& name() const { return name_; }
  uint64_t incarnation() const { return incarnation_; }
  bool closed() {
    std::lock_guard<std::mutex> hold(lock_);
    return closed_;
  }
  size_t n_steps() {
    std::lock_guard<std::mutex> hold(lock_);
    return steps_.size() + led_.size() + calls_.size();
  }

 private:
  struct Run {  // what the worker reports the end of a run to
    std::shared_ptr<Endpoint> endpoint;
    std::shared_ptr<WorkerStep> step;
  };
  struct CallKey {
    int64_t link;
    uint64_t session, step;
    bool operator==(const CallKey& o) const {
      return link == o.link && session == o.session && step == o.step;
    }
  };
  struct CallHash {
    size_t operator()(const CallKey& k) const {
      return size_t(mixed(uint64_t(k.link) + mixed(k.session + mixed(k.step))));
    }
  };
  struct Call {  // of a client: its values, then its step
    std::unordered_map<int64_t, Value> values;
    std::shared_ptr<MasterStep> step;
  };

  bool add_link(const LinkRef& link, uint64_t peer, const std::string& peer_name);
  std::shared_ptr<WorkerStep> step_of(const StepKey& key, bool create);
  void on_run(const LinkRef& link, const FrameHeader& header);
  void on_call(const LinkRef& link, const FrameHeader& header);
  void on_abort(const LinkRef& link, const FrameHeader& header, const std::string& why);
  void on_done(const LinkRef& link, const FrameHeader& header, const std::string& text);
  static void ran(void* argument, hr_code code, const char* node, const char* message,
                  const char* metadata, size_t metadata_size);
  static void answer(const LinkRef& link, StepKey key, hr_code code, const std::string& node,
                     const std::string& message, const std::string& metadata);
  void answer_call(const LinkRef& link, StepKey key, MasterStep& step);
  void stop_step(const std::shared_ptr<WorkerStep>& step, hr_code code, const std::string& why);
  void serve();
  void tick(int64_t now);
  void wake() {
    const uint64_t one = 1;
    if (::write(wake_, &one, sizeof one) < 0) {}  // full: it is awake
  }

  const std::string name_;
  const uint64_t incarnation_;
  hr_worker* const worker_;
  Memory worker_memory_{};
  const int64_t heartbeat_ns_, dead_after_ns_;
  const uint64_t max_tensor_bytes_;
  int epoll_ = -1, wake_ = -1;
  std::thread thread_;
  std::atomic<bool> stop_{false};
  std::atomic<uint64_t> last_step_{0};

  std::mutex lock_;  // all below
  bool closed_ = false;
  int64_t last_link_ = 0, last_run_ = 0;
  std::unordered_map<int64_t, LinkRef> links_;
  std::unordered_map<uint64_t, LinkRef> by_peer_;
  std::unordered_map<StepKey, std::shared_ptr<WorkerStep>, StepKeyHash> steps_;
  std::unordered_map<StepKey, int64_t, StepKeyHash> ended_;  // by failure: when
  std::unordered_map<int64_t, std::shared_ptr<const Binding>> bindings_;
  std::unordered_map<StepKey, std::shared_ptr<MasterStep>, StepKeyHash> led_;
  std::unordered_map<int64_t, std::shared_ptr<const StepPlan>> callables_;
  std::unordered_map<CallKey, Call, CallHash> calls_;
  std::deque<LinkEvent> events_;
  std::condition_variable events_ready_;
};

}  // namespace headrace::distributed
