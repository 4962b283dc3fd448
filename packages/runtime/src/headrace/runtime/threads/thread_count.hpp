// Sets the size of the OpenMP team for kernels that are created in this scope.
#pragma once
#include "threads/openmp.hpp"

namespace headrace {

class OpenMPThreads {
 public:
  explicit OpenMPThreads(int threads) : before_(omp_get_max_threads()) {
    if (threads != before_) omp_set_num_threads(threads);
  }
  ~OpenMPThreads() { omp_set_num_threads(before_); }

 private:
  int before_;
};

}  // namespace headrace
