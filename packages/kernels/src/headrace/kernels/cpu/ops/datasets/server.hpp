// Serves the requests of steps to one pipeline, in their order.
//
// A request that the pipeline can serve without waiting is served on the thread of its step. All
// others go to a thread of the server, which starts when it is first needed and ends with the
// server. A cancelled step ends its request at once; what is then made for it waits for the next.
#pragma once

#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ops/datasets/dataset.hpp"
#include "ops/datasets/pipeline.hpp"

namespace hr::data {

class Server;

// One call of an asynchronous kernel.
struct Request {
  Request(hr_ctx* c, hr_done d, void* a) : ctx(c), done(d), argument(a) {}
  virtual ~Request() = default;
  // Works with the pipeline, on a thread that may wait. `ctx` must not be used: the step may have
  // been cancelled and be gone. Throws Failure.
  virtual void serve(Server& server) = 0;
  // Gives the kernel's outputs, once `serve` has returned. Throws Failure.
  virtual void deliver() {}
  // Keeps what `serve` made for a step that is gone.
  virtual void abandon(Server&, Failure) {}
  // Whether it can be served without waiting.
  virtual bool ready(Pipeline&) { return false; }

  hr_ctx* const ctx;
  const hr_done done;
  void* const argument;
  uint64_t token = 0;  // of the cancellation
  std::shared_ptr<Server> server;
};

class Server : public std::enable_shared_from_this<Server> {
 public:
  Server();
  // A forked child has neither the thread nor what holds the locks.
  bool forked() const;

  // Iterates over a dataset from now on. Throws Failure.
  void set_dataset(hr_ctx* ctx, hr_object* object, const DatasetRef& dataset);
  // Makes the dataset at the first request. `make` may wait.
  using Make = std::function<DatasetRef(Pipeline&)>;
  void set_factory(hr_ctx* ctx, hr_object* object, Make make);
  // Serves a request, now or later; `done` is called in any case.
  void enter(std::unique_ptr<Request> request);
  // Ends everything. The caller does not hold its lock; the thread is joined unless it calls.
  void shut_down();
  // The thread ends after the first request, and the server with it.
  void serve_one_only() { single_ = true; }

  // ---- for requests, while they are served
  Pipeline& pipeline() { return *serving_; }
  // False: the end. Throws Failure.
  bool next(Element* element);
  // An element that no step has taken; the next request gets it.
  struct Kept {
    bool end = false;
    Element element;
    Failure failure{HR_OK, ""};
  };
  std::deque<Kept>& kept() { return kept_; }

 private:
  std::mutex lock_;
  std::condition_variable changed_;
  bool stopping_ = false, single_ = false;
  bool busy_ = false;  // someone serves a request
  std::list<std::unique_ptr<Request>> waiting_;
  Request* current_ = nullptr;  // of the thread; null: its step is gone
  std::shared_ptr<Pipeline> pipeline_, serving_;
  // What on_end stops now, and what it has stopped: on_end must not be the last to hold a pipeline.
  int ending_ = 0;
  std::vector<std::shared_ptr<Pipeline>> ended_;
  Make make_;
  std::deque<Kept> kept_;   // of whoever is busy
  int64_t generation_ = 0;  // counts pipelines
  double took_ns_ = 0;      // by requests on the threads of steps
  hr_thread* thread_ = nullptr;

  const int process_;

  void replace(std::shared_ptr<Pipeline> made, Make make);
  std::shared_ptr<Pipeline> new_pipeline(hr_ctx* ctx, hr_object* object);
  bool serve_here(std::unique_ptr<Request>& request);
  void run();
  void serve_first(std::unique_lock<std::mutex>& hold);
  void start_thread(std::unique_lock<std::mutex>& hold);
  std::vector<std::shared_ptr<Pipeline>> take_ended(std::unique_lock<std::mutex>& hold);
  static void on_cancel(void* argument);
  static void on_end(void* argument);
};

}  // namespace hr::data
