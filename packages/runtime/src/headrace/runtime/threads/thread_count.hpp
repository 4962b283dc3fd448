// The size of the OpenMP team that kernels made in this scope may count on.
#pragma once
#include "threads/openmp.hpp"

namespace headrace {

class TeamOf {
 public:
  explicit TeamOf(int threads) : before_(omp_get_max_threads()) {
    if (threads != before_) omp_set_num_threads(threads);
  }
  ~TeamOf() { omp_set_num_threads(before_); }

 private:
  int before_;
};

}  // namespace headrace
