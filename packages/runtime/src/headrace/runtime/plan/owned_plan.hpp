// Owns the plan that a kernel's `prepare` made.
#pragma once

namespace headrace {

struct OwnedPlan {
  void* plan = nullptr;
  void (*destroy)(void*) = nullptr;

  OwnedPlan() = default;
  OwnedPlan(const OwnedPlan&) = delete;
  OwnedPlan& operator=(const OwnedPlan&) = delete;
  ~OwnedPlan() { end_plan(); }

  void end_plan() {
    if (plan && destroy) destroy(plan);
    plan = nullptr;
  }
};

}  // namespace headrace
