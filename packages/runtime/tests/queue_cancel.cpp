// A run that ends while one of its waiters enters a queue: however the two meet, the waiter is
// finished once.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "state/queue.hpp"

using namespace headrace;

static std::atomic<int> finished{0};

static void done(void*, hr_code code) {
  if (code != HR_CANCELLED) std::abort();
  ++finished;
}

static hr_code fail(hr_ctx*, hr_code code, const char*, ...) { return code; }

// As queue_kernels.pyx submits a dequeue, with `between` called at the moment that matters.
template <class Between>
static void dequeue(Queue* queue, Run* run, Between between) {
  Queue::Waiters one = Queue::new_waiter();
  Waiter* waiter = one.front().get();
  waiter->kind = Waiter::kDequeue;
  waiter->ctx = &run->ctx;
  waiter->done = done;
  waiter->argument = nullptr;
  waiter->requested = 1;
  waiter->object = queue;
  waiter->token = run_on_cancel(&run->ctx, Queue::on_cancel, waiter);
  if (waiter->token == 0) std::abort();
  between();
  queue->add(std::move(one));
}

int main() {
  hr_ctx_api api;
  std::memset(&api, 0, sizeof api);
  api.fail = fail;
  api.forget_cancel = run_forget_cancel;
  Queue queue;

  Run first;
  first.ctx = hr_ctx{};
  first.ctx.api = &api;
  first.ctx.cancelled = first.cancelled.address();
  dequeue(&queue, &first, [&] { run_cancel(&first); });
  if (finished != 1) return std::puts("cancelled before it was queued: waits for ever"), 1;

  for (int i = 0; i < 20000; ++i) {
    Run run;
    run.ctx = hr_ctx{};
    run.ctx.api = &api;
    run.ctx.cancelled = run.cancelled.address();
    std::thread other;
    dequeue(&queue, &run, [&] { other = std::thread([&] { run_cancel(&run); }); });
    other.join();
    if (finished != i + 2) return std::printf("run %d waits for ever\n", i), 1;
  }
  std::printf("%d\n", finished.load());
  return 0;
}
