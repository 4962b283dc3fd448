// Threads that begin operations of all waiting kinds and cancel each other's runs: each operation
// ends once. Built with -fsanitize=thread, it finds races of the objects without a session.
#include <atomic>
#include <cstdio>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "state/queue.hpp"
#include "state/synchronisation/accumulator.hpp"
#include "state/synchronisation/graph_mutex.hpp"
#include "state/synchronisation/staging_area.hpp"

using namespace headrace;

static constexpr int kRounds = 200, kThreads = 4;
static std::atomic<int> ended{0};
static hr_ctx_api api;

static void done(void*, hr_code) { ++ended; }
static hr_code fail(hr_ctx*, hr_code code, const char*, ...) { return code; }

struct OneRun {
  Run run;
  OneRun() {
    run.ctx = hr_ctx{};
    run.ctx.api = &api;
    run.ctx.cancelled = run.cancelled.address();
  }
};

// The objects, with kernels that make no outputs.
struct Objects {
  Accumulator accumulator;
  GraphMutex mutex;
  StagingArea area;
  Queue queue;

  Objects() {
    as_new_object(&accumulator, "Accumulator");
    as_new_object(&mutex, "Mutex");
    as_new_object(&area, "StagingArea");
    as_new_object(&queue, "Queue");
    accumulator.complete_take = [](Accumulator*, TakeGradient*) { return hr_code(HR_OK); };
    mutex.give_lock = [](GraphMutex* locked, Waiting*) {
      locked->unlock();
      return hr_code(HR_OK);
    };
    queue.complete_dequeue = [](Waiter*, const QueueSpec*) { return hr_code(HR_OK); };
    area.limits.capacity = 1;
    queue.spec.capacity = 1;
  }
};

template <class Object, class Set>
static void begin(Object& object, hr_ctx* ctx, Set set) {
  auto one = object.new_waiter(ctx, nullptr, 0, done, nullptr);
  set(one.front().get());
  Object::submit(std::move(one));
}

// Six operations.
static void begin_all(Objects& objects, hr_ctx* ctx, bool peeks) {
  objects.accumulator.apply(9, [](GradientSum*) { return hr_code(HR_OK); });
  begin(objects.accumulator, ctx, [](TakeGradient* w) { w->required = 1; });
  begin(objects.mutex, ctx, [](Waiting*) {});
  begin(objects.area, ctx, [](StageWaiter* w) {
    w->kind = StageWaiter::kPut;
    w->tuple.emplace_back();
  });
  begin(objects.area, ctx, [peeks](StageWaiter* w) {
    w->kind = peeks ? StageWaiter::kPeek : StageWaiter::kGet;
    w->tuple.emplace_back();
  });
  begin(objects.queue, ctx, [](Waiter* w) {
    w->kind = Waiter::kEnqueue;
    w->elements.emplace_back();
  });
  begin(objects.queue, ctx, [](Waiter* w) {
    w->kind = Waiter::kDequeue;
    w->requested = 2;
  });
}

int main() {
  std::memset(&api, 0, sizeof api);
  api.fail = fail;
  api.on_cancel = run_on_cancel;
  api.forget_cancel = run_forget_cancel;
  int begun = 0;
  for (int round = 0; round < kRounds; ++round) {
    Objects objects;
    std::vector<std::unique_ptr<OneRun>> runs;
    for (int i = 0; i < 2 * kThreads; ++i) runs.push_back(std::make_unique<OneRun>());
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] {
        begin_all(objects, &runs[2 * t]->run.ctx, true);
        begin_all(objects, &runs[2 * t + 1]->run.ctx, false);
        if (t == 0)
          begin(objects.queue, &runs[1]->run.ctx, [](Waiter* w) { w->kind = Waiter::kClose; });
        run_cancel(&runs[2 * t]->run);
      });
    for (std::thread& thread : threads) thread.join();
    objects.queue.close_now();
    for (auto& one : runs) run_cancel(&one->run);
    begun += 2 * kThreads * 6 + 1;
    if (ended != begun)
      return std::printf("round %d: %d of %d ended\n", round, ended.load(), begun), 1;
  }
  std::printf("%d ended\n", ended.load());
  return 0;
}
