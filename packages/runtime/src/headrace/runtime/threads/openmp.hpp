// OpenMP, if the compiler supports it. Apple's clang does not: loops then run on one thread.
#pragma once
#ifdef _OPENMP
#include <omp.h>
#else
inline void omp_set_num_threads(int) {}
inline int omp_get_max_threads() { return 1; }
#endif
