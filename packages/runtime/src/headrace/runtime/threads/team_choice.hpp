// Whether the intra-op pool makes a kernel schedule faster, by what its runs took.
//
// A team waits for its slowest thread at the end of each loop. A schedule of many short loops may
// gain nothing by it, and it loses where other programs use the cores: a thread of the team then
// gets its core some milliseconds late. So both ways are tried, and the slower one again from time
// to time.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>

#include "threads/cost_model.hpp"

namespace headrace {

// A race between two runs loses a sample or tries a way more often.
class TeamChoice {
 public:
  // Whether the next run shall use the team. `ns`: the expected time on one thread.
  bool wants_team(double ns) {
    if (ns > kLong) return true;
    const uint32_t n = runs_.load(std::memory_order_relaxed);
    runs_.store(n + 1, std::memory_order_relaxed);
    if (n < 2 * kTries) return n < kTries;
    const bool faster = team_.ns() < kTeamGain * one_.ns();
    const uint32_t trial = place_in_trial(n);
    if (trial == 0) (faster ? one_ : team_).forget();  // what was measured may hold no longer
    return trial < kTries ? !faster : faster;
  }

  // What a run took, with the hand-over.
  void ran_on_team(double ns) {
    // The first run plans the schedule for the team.
    if (planned_.exchange(true, std::memory_order_relaxed)) team_.add(ns);
  }
  void ran_on_one(double ns) { one_.add(ns); }

 private:
  static constexpr uint32_t kTries = 4, kMostBetweenTrials = 256;

  // A mean over the latest runs: unlike the cost, it counts what other load adds.
  class Mean {
   public:
    double ns() const { return ns_.load(std::memory_order_relaxed); }
    void add(double ns) {
      const uint32_t n = std::min(runs_.load(std::memory_order_relaxed) + 1, 8u);
      runs_.store(n, std::memory_order_relaxed);
      const double before = this->ns();
      ns_.store(before + (ns - before) / n, std::memory_order_relaxed);
    }
    void forget() { runs_.store(0, std::memory_order_relaxed); }

   private:
    std::atomic<double> ns_{0};
    std::atomic<uint32_t> runs_{0};
  };
  Mean one_, team_;
  std::atomic<uint32_t> runs_{0};
  std::atomic<bool> planned_{false};

  // Trials begin at 16, 32, 64 and 128 runs, and then every 256: how many runs ago one began.
  static uint32_t place_in_trial(uint32_t n) {
    uint32_t between = 4 * kTries;
    while (between < kMostBetweenTrials && n >= 2 * between) between *= 2;
    return n < between ? kTries : n % between;
  }
};

}  // namespace headrace
