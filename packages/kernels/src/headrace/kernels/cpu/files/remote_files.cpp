#include "files/remote_files.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <utility>

#include "files/disk.hpp"

namespace hr::remote {

struct Pending {
  Request request;
  Reply reply;
  bool done = false, abandoned = false;
};

namespace {

constexpr int64_t kPart = 8 << 20;    // of a file that is read or written in order
constexpr int64_t kRange = 16 << 20;  // of one request of a large read
constexpr size_t kAtOnce = 4;         // requests of a large read
constexpr int kMostThreads = 16;
constexpr auto kPollInterval = std::chrono::milliseconds(20);
constexpr auto kIdle = std::chrono::seconds(10);

struct Queue {
  const pid_t process = ::getpid();
  std::mutex lock;
  std::condition_variable arrived, finished;
  std::deque<std::shared_ptr<Pending>> waiting;
  std::map<int64_t, std::shared_ptr<Pending>> served;
  int64_t next = 1;
  int threads = 0, idle = 0;  // threads: with those that start
};

// A forked child has none of the threads, and the lock may be held: it gets a queue of its own.
Queue& queue() {
  static std::atomic<Queue*> current{nullptr};
  Queue* found = current.load();
  while (!found || found->process != ::getpid()) {
    auto* made = new Queue;
    if (current.compare_exchange_strong(found, made)) return *made;
    delete made;
  }
  return *found;
}

Host& host() {
  static Host given;
  return given;
}

thread_local void (*poll_of_thread)(const void*) = nullptr;
thread_local const void* polled_of_thread = nullptr;

// Lets other threads have the GIL while this one waits.
class WithoutGil {
 public:
  WithoutGil() : state_(host().release_gil ? host().release_gil() : nullptr) {}
  ~WithoutGil() {
    if (state_) host().take_gil(state_);
  }
  WithoutGil(const WithoutGil&) = delete;

 private:
  void* const state_;
};

}  // namespace

bool is_remote(std::string_view path) {
  const size_t end = path.find(':');
  if (end == path.npos || end == 0 || path.compare(end, 3, "://") != 0) return false;
  if (!std::isalpha(static_cast<unsigned char>(path[0]))) return false;
  for (const char c : path.substr(0, end))
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '+' && c != '.' && c != '-')
      return false;
  return path.substr(0, end) != "file";
}

void set_host(const Host& given) { host() = given; }

WhileWaiting::WhileWaiting(Function function, const void* argument)
    : function_before_(std::exchange(poll_of_thread, function)),
      argument_before_(std::exchange(polled_of_thread, argument)) {}

WhileWaiting::~WhileWaiting() {
  poll_of_thread = function_before_;
  polled_of_thread = argument_before_;
}

// ---- requests -----------------------------------------------------------------------------------

namespace {

void start_thread(Queue& q) {
  const std::string problem =
      host().start ? host().start() : "the kernels were loaded without headrace.kernels.cpu";
  if (problem.empty()) return;
  const std::lock_guard<std::mutex> hold(q.lock);
  --q.threads;
  for (const auto& pending : q.waiting) {
    pending->reply.code = HR_INTERNAL;
    pending->reply.bytes = pending->request.path + ": no thread serves files by URL: " + problem;
    pending->done = true;
  }
  q.waiting.clear();
  q.finished.notify_all();
}

}  // namespace

std::shared_ptr<Pending> begin(Request request) {
  auto pending = std::make_shared<Pending>();
  pending->request = std::move(request);
  Queue& q = queue();
  bool start;
  {
    const std::lock_guard<std::mutex> hold(q.lock);
    q.waiting.push_back(pending);
    start = q.threads == 0;
    if (start) ++q.threads;
  }
  q.arrived.notify_one();
  if (start) start_thread(q);
  return pending;
}

Reply finish(const std::shared_ptr<Pending>& pending) {
  Queue& q = queue();
  const WithoutGil without;
  std::unique_lock<std::mutex> hold(q.lock);
  while (!pending->done) {
    q.finished.wait_for(hold, kPollInterval);
    if (pending->done || !poll_of_thread) continue;
    hold.unlock();
    try {
      poll_of_thread(polled_of_thread);
    } catch (...) {
      hold.lock();
      pending->abandoned = true;
      throw;
    }
    hold.lock();
  }
  if (pending->reply.code != HR_OK) throw Failure{pending->reply.code, pending->reply.bytes};
  return std::move(pending->reply);
}

bool next_request(Served* served) {
  Queue& q = queue();
  std::unique_lock<std::mutex> hold(q.lock);
  ++q.idle;
  while (q.waiting.empty()) {
    // One thread stays, so that kernels need the GIL once in a process.
    if (q.arrived.wait_for(hold, kIdle) == std::cv_status::timeout && q.waiting.empty() &&
        q.idle > 1) {
      --q.idle;
      --q.threads;
      return false;
    }
  }
  --q.idle;
  std::shared_ptr<Pending> pending = std::move(q.waiting.front());
  q.waiting.pop_front();
  served->number = q.next++;
  served->request = &pending->request;
  served->needs_thread = q.idle == 0 && q.threads < kMostThreads;
  if (served->needs_thread) ++q.threads;
  q.served.emplace(served->number, std::move(pending));
  return true;
}

bool finish_request(int64_t number, Reply reply) {
  Queue& q = queue();
  bool wanted;
  {
    const std::lock_guard<std::mutex> hold(q.lock);
    const auto found = q.served.find(number);
    if (found == q.served.end()) return false;
    Pending& pending = *found->second;
    // The queue has the last reference to what was dropped without a wait.
    wanted = !pending.abandoned && found->second.use_count() > 1;
    pending.reply = std::move(reply);
    pending.done = true;
    q.served.erase(found);
  }
  q.finished.notify_all();
  return wanted;
}

// ---- files --------------------------------------------------------------------------------------

namespace {

Request about(Verb verb, const std::string& path) {
  Request request;
  request.verb = verb;
  request.path = path;
  return request;
}

Request about(Verb verb, int64_t handle) {
  Request request;
  request.verb = verb;
  request.handle = handle;
  return request;
}

}  // namespace

Reader::Reader(const std::string& path) : path_(path) {
  Reply reply = call(about(Verb::kOpenReader, path));
  handle_ = reply.handle;
  size_ = reply.size;
  identity_ = std::move(reply.bytes);
}

Reader::~Reader() {
  try {
    begin(about(Verb::kCloseReader, handle_));
  } catch (const std::bad_alloc&) {}  // it is closed with the process
}

std::shared_ptr<Pending> Reader::begin_read(int64_t offset, int64_t n) const {
  Request request = about(Verb::kReadRange, handle_);
  request.offset = offset;
  request.count = n;
  return begin(std::move(request));
}

void Reader::read(int64_t offset, size_t n, char* to) const {
  struct Part {
    std::shared_ptr<Pending> pending;
    char* to;
    size_t size;
  };
  std::deque<Part> parts;
  size_t begun = 0;
  while (begun < n || !parts.empty()) {
    while (begun < n && parts.size() < kAtOnce) {
      const size_t size = std::min(n - begun, size_t(kRange));
      parts.push_back({begin_read(offset + int64_t(begun), int64_t(size)), to + begun, size});
      begun += size;
    }
    const Part part = std::move(parts.front());
    parts.pop_front();
    const Reply reply = finish(part.pending);
    if (reply.bytes.size() != part.size)
      throw Failure{HR_DATA_LOSS, path_ + "; the file is truncated"};
    reply.bytes.copy(part.to, part.size);
  }
}

size_t Source::read(char* to, size_t n) {
  if (at_ == part_.size()) fetch();
  n = part_.copy(to, n, at_);
  at_ += n;
  return n;
}

void Source::fetch() {
  const auto begin_next = [this] {
    const int64_t n = std::min(kPart, reader_.size() - fetched_);
    next_ = n > 0 ? reader_.begin_read(fetched_, n) : nullptr;
    fetched_ += std::max<int64_t>(n, 0);
  };
  if (!next_) begin_next();
  at_ = 0;
  part_.clear();
  if (!next_) return;
  part_ = finish(std::exchange(next_, nullptr)).bytes;
  begin_next();
}

Writer::Writer(const std::string& path)
    : handle_(call(about(Verb::kOpenWriter, path)).handle), open_(true) {}

Writer::~Writer() {
  if (!open_) return;
  try {
    call(about(Verb::kDiscardWriter, handle_));
  } catch (...) {
  }  // an upload without an end leaves no file, and a step that is over does not wait
}

void Writer::flush() {
  Request request = about(Verb::kWrite, handle_);
  request.bytes.swap(part_);
  call(std::move(request));
}

void Writer::write(const char* data, size_t n) {
  while (n > 0) {
    const size_t some = std::min(n, size_t(kPart) - part_.size());
    part_.append(data, some);
    data += some;
    n -= some;
    if (part_.size() == size_t(kPart)) flush();
  }
}

void Writer::close() {
  if (!part_.empty()) flush();
  call(about(Verb::kCloseWriter, handle_));
  open_ = false;
}

std::vector<std::string> names_of(const Reply& reply) {
  std::vector<std::string> names;
  for (size_t at = 0, end; (end = reply.bytes.find('\0', at)) != std::string::npos; at = end + 1)
    names.push_back(reply.bytes.substr(at, end - at));
  return names;
}

}  // namespace hr::remote
