// Rejects working memory that the machine lacks before any of it is touched: on a system that
// overcommits, the allocation succeeds and the process is killed later.
#ifndef HEADRACE_LIBRARY_MEMORY_NEEDS_HPP
#define HEADRACE_LIBRARY_MEMORY_NEEDS_HPP

#include <unistd.h>

#include <cstdint>
#include <new>

namespace hr {

// Throws std::bad_alloc where n elements of `size` bytes are more than the machine's memory.
inline void need_memory(int64_t n, int64_t size) {
  static const double physical =
      double(::sysconf(_SC_PHYS_PAGES)) * double(::sysconf(_SC_PAGESIZE));
  if (double(n) * double(size) > physical) throw std::bad_alloc();
}

}  // namespace hr

#endif
