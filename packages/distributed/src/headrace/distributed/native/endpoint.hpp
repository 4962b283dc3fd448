// The endpoint of a task: its links, the steps that run here, and those that this master leads.
//
// Two threads: the I/O thread reads from the sockets, runs what is short, and reports lost links;
// the heartbeat thread sends signs of life and notices when a peer sends none. Callbacks of the
// worker, releases of values and sends never happen under the endpoint's lock: they may need the
// GIL, or call the endpoint again.
#pragma once
#include <sys/eventfd.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <thread>
#include <unordered_map>

#include "native/local_link.hpp"
#include "native/master_step.hpp"
#include "native/socket_link.hpp"
#include "native/stream_link.hpp"
#include "native/worker_step.hpp"

namespace headrace::distributed {

constexpr int64_t kKeepEndedNs = 60'000'000'000;  // how long late values of a failed step are known
constexpr size_t kMaxEnded = 16384;
constexpr int64_t kMaxEarly = 16384;  // steps and calls of a link without an order to run
constexpr size_t kMaxCallValues = 65536;
constexpr size_t kMaxEvents = 1024;

struct LinkEvent {
  uint64_t peer;
  std::string reason;
};

struct StepCounts {
  size_t running = 0;  // steps and calls
  size_t waiting = 0;  // those of which values have come, but no order to run
  size_t ended = 0;    // by failure, of which late values may come
};

class Endpoint : public Receiver, public std::enable_shared_from_this<Endpoint> {
 public:
  // owner: keeps the worker alive; null without one.
  Endpoint(std::string name, uint64_t incarnation, hr_worker* worker, std::shared_ptr<void> owner,
           int64_t heartbeat_ns, int64_t dead_after_ns, uint64_t max_tensor_bytes)
      : name_(std::move(name)), incarnation_(incarnation), worker_owner_(std::move(owner)),
        worker_(worker), memory_(worker ? worker_memory(*worker) : plain_memory()),
        heartbeat_ns_(heartbeat_ns), dead_after_ns_(dead_after_ns),
        max_tensor_bytes_(max_tensor_bytes) {}

  // False: the system gives no descriptor or thread.
  bool start();
  // Ends all links and steps; waits for the threads, unless one of them calls it.
  void close() noexcept;

  // ---- links

  // 0: the endpoint is closed; below: the socket cannot be watched.
  int64_t add_socket(int fd, uint64_t peer, const std::string& peer_name, bool shared_memory);
  std::shared_ptr<StreamLink> add_stream(uint64_t peer, const std::string& peer_name);
  int64_t add_local(const std::shared_ptr<Endpoint>& other);
  LinkRef link_to(uint64_t peer);
  std::vector<LinkRef> all_links();
  void close_links(uint64_t peer, const std::string& reason);
  // Waits for the loss of a link. False: none within the time.
  bool next_event(int64_t wait_ns, LinkEvent* event);

  // ---- a worker's partitions

  void bind(std::shared_ptr<const Binding> binding);
  void unbind(int64_t partition);
  // A step without a partition, whose values a caller sends and receives itself. Null: `problem`
  // says why.
  std::shared_ptr<WorkerStep> open_step(std::shared_ptr<const Binding> binding, StepKey key,
                                        std::string* problem);
  void end_step(const std::shared_ptr<WorkerStep>& step);

  // ---- a master's steps

  // The participants of a plan to which there is no link.
  std::vector<uint64_t> unlinked(const StepPlan& plan);
  // Makes a step; null if a participant has no link, which `missing` then names.
  std::shared_ptr<MasterStep> begin(const std::shared_ptr<const StepPlan>& plan,
                                    std::string* missing) {
    return begin(plan, nullptr, nullptr, missing);
  }
  // Sends the values of the feeds that are given, and then the order to run.
  void launch(MasterStep& step, const Value* const* values, uint8_t flags);
  // Sends the value of one feed of a step that runs.
  void send_feed(MasterStep& step, int32_t number, const Value& value);
  void forget(const MasterStep& step) noexcept;

  // ---- callables, which clients run by number

  void offer(int64_t callable, std::shared_ptr<const StepPlan> plan);
  void withdraw(int64_t callable);

  // ---- Receiver

  const Memory* memory() const override { return memory_; }
  uint64_t max_tensor_bytes() const override { return max_tensor_bytes_; }
  bool wants(const FrameHeader& header) override;
  void on_frame(const LinkRef& link, const FrameHeader& header, Value&& value,
                std::string&& text) override;
  void on_no_memory(const LinkRef& link, const FrameHeader& header,
                    int64_t bytes) noexcept override;
  void on_dead() noexcept override {
    look_for_dead_ = true;
    wake();
  }

  bool closed() {
    std::lock_guard<std::mutex> hold(lock_);
    return closed_;
  }
  StepCounts count_steps() {
    StepCounts counts;
    std::lock_guard<std::mutex> hold(lock_);
    counts.running = led_.size();
    counts.ended = ended_.size();
    for (auto& entry : steps_) ++(entry.second->run ? counts.running : counts.waiting);
    for (auto& entry : calls_) ++(entry.second.step ? counts.running : counts.waiting);
    return counts;
  }

 private:
  typedef std::shared_ptr<WorkerStep> StepRef;

  struct Run {  // what the worker reports the end of a run to
    std::shared_ptr<Endpoint> endpoint;
    StepRef step;
  };
  struct CallKey {
    int64_t link;
    StepKey step;
    bool operator==(const CallKey& o) const { return link == o.link && step == o.step; }
  };
  struct CallHash {
    size_t operator()(const CallKey& k) const {
      return size_t(mixed(uint64_t(k.link) + mixed(StepKeyHash()(k.step))));
    }
  };
  struct Call {  // of a client: its values, then its step
    std::unordered_map<int64_t, Value> values;
    int64_t bytes = 0;
    std::shared_ptr<MasterStep> step;
  };
  struct Ended {
    int64_t at_ns;
    Failure failure;
  };

  // endpoint_links.hpp
  bool add_link(const LinkRef& link, uint64_t peer, const std::string& peer_name);
  LinkRef link_under_lock(uint64_t peer);
  LinkRef dead_link();
  void report_dead_links() noexcept;
  void lose(const LinkRef& link);
  void serve() noexcept;
  void keep_alive(int64_t last) noexcept;
  void tick(int64_t now, bool judge);
  void wake() noexcept;
  bool start_threads();

  // endpoint_worker.hpp
  StepRef step_for_value(const LinkRef& link, const StepKey& key, int64_t bytes, bool* over_limit);
  void settle(WorkerStep& step) noexcept;
  StepRef remove(const WorkerStep& step) noexcept;
  void keep_ended(const StepKey& key, const Failure& failure) noexcept;
  void on_value(const LinkRef& link, const FrameHeader& header, Value&& value);
  void on_run(const LinkRef& link, const FrameHeader& header);
  void on_abort(const LinkRef& link, const FrameHeader& header, const std::string& why);
  static void ran(void* argument, hr_code code, const char* node, const char* message,
                  const char* metadata, size_t metadata_size);
  void stop_step(const StepRef& step, hr_code code, const char* why) noexcept;
  void drop_old(int64_t now);
  static void answer(Link& link, const StepKey& key, hr_code code, const char* node,
                     const char* message, const char* metadata, size_t metadata_size) noexcept;

  // endpoint_master.hpp
  typedef std::unordered_map<CallKey, Call, CallHash> Calls;
  std::shared_ptr<MasterStep> begin(const std::shared_ptr<const StepPlan>& plan,
                                    std::function<void(MasterStep&)> at_end, const CallKey* call,
                                    std::string* missing);
  std::shared_ptr<MasterStep> led(const LinkRef& link, const FrameHeader& header);
  void on_done(const LinkRef& link, const FrameHeader& header, const std::string& text);
  void on_call_value(const LinkRef& link, const FrameHeader& header, Value&& value);
  void on_call(const LinkRef& link, const FrameHeader& header);
  void end_call(const LinkRef& link, const CallKey& call, MasterStep& step) noexcept;
  Calls::iterator find_call(Link& link, const CallKey& key);
  Call take_call(Calls::iterator found) noexcept;
  Call remove_call(const CallKey& key) noexcept;

  const std::string name_;
  const uint64_t incarnation_;
  const std::shared_ptr<void> worker_owner_;
  hr_worker* const worker_;
  const Memory* const memory_;
  const int64_t heartbeat_ns_, dead_after_ns_;
  const uint64_t max_tensor_bytes_;
  UniqueFd epoll_, wake_;
  std::thread io_thread_, heartbeat_thread_;
  std::atomic<bool> stop_{false}, look_for_dead_{false};
  std::atomic<int64_t> io_busy_since_ns_{0};  // 0: the I/O thread waits
  std::mutex beat_lock_;
  std::condition_variable beat_;

  std::mutex lock_;  // all below
  bool closed_ = false;
  int64_t last_link_ = 0, last_run_ = 0;
  uint64_t last_step_ = 0;
  int64_t early_bytes_ = 0;  // of values for steps and calls without an order to run
  std::unordered_map<int64_t, LinkRef> links_;
  std::unordered_map<uint64_t, LinkRef> by_peer_;  // the one that is used
  std::unordered_map<StepKey, StepRef, StepKeyHash> steps_;
  std::unordered_map<StepKey, Ended, StepKeyHash> ended_;  // by failure
  std::deque<StepKey> ended_order_;
  std::unordered_map<int64_t, std::shared_ptr<const Binding>> bindings_;
  std::unordered_map<StepKey, std::shared_ptr<MasterStep>, StepKeyHash> led_;
  std::unordered_map<int64_t, std::shared_ptr<const StepPlan>> callables_;
  Calls calls_;
  std::deque<LinkEvent> events_;
  std::condition_variable events_ready_;
};

}  // namespace headrace::distributed
