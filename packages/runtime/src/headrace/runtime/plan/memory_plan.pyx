# cython: language_level=3
"""Offsets in one arena for values whose lifetimes are known.

First fit over the gaps in order of address, in one pass over the steps: memory that is not used
after a step is a gap at the next. Pieces of 64 bytes and more are aligned to cache lines.
"""

from libc.stdint cimport int32_t, int64_t
from libcpp.algorithm cimport sort
from libcpp.pair cimport pair
from libcpp.vector cimport vector


cdef extern from *:
    """
    #include <cstdint>
    #include <iterator>
    #include <map>
    namespace {
    // The free parts of an arena that grows at its end.
    class Gaps {
     public:
      int64_t take(int64_t bytes) {
        for (auto it = gaps_.begin(); it != gaps_.end(); ++it) {
          if (it->second < bytes) continue;
          const int64_t at = it->first, left = it->second - bytes;
          gaps_.erase(it);
          if (left > 0) gaps_[at + bytes] = left;
          return at;
        }
        // If the last gap reaches to the end, it grows.
        if (!gaps_.empty()) {
          auto last = std::prev(gaps_.end());
          if (last->first + last->second == end_) {
            const int64_t at = last->first;
            gaps_.erase(last);
            end_ = at + bytes;
            return at;
          }
        }
        const int64_t at = end_;
        end_ += bytes;
        return at;
      }
      void give(int64_t at, int64_t bytes) {
        auto next = gaps_.lower_bound(at);
        if (next != gaps_.end() && at + bytes == next->first) {
          bytes += next->second;
          next = gaps_.erase(next);
        }
        if (next != gaps_.begin()) {
          auto before = std::prev(next);
          if (before->first + before->second == at) {
            before->second += bytes;
            return;
          }
        }
        gaps_[at] = bytes;
      }
      int64_t end() const { return end_; }

     private:
      std::map<int64_t, int64_t> gaps_;
      int64_t end_ = 0;
    };
    }
    """
    cdef cppclass Gaps:
        int64_t take(int64_t bytes) nogil
        void give(int64_t at, int64_t bytes) nogil
        int64_t end() nogil


cdef inline int64_t rounded(int64_t bytes) noexcept nogil:
    if bytes <= 16:
        return 16
    return (bytes + 63) & ~<int64_t>63


cdef int64_t plan_memory(vector[Lifetime]& lifetimes) except -1:
    cdef Gaps gaps
    cdef vector[pair[int32_t, int32_t]] ends   # (last step, which), ascending
    cdef size_t i, dead = 0
    cdef int32_t which
    cdef size_t n = lifetimes.size()
    ends.resize(n)
    for i in range(n):
        ends[i].first = max(lifetimes[i].last, lifetimes[i].first)
        ends[i].second = <int32_t>i
    sort(ends.begin(), ends.end())
    for i in range(n):
        while dead < n and ends[dead].first < lifetimes[i].first:
            which = ends[dead].second
            gaps.give(lifetimes[which].offset, rounded(lifetimes[which].bytes))
            dead += 1
        lifetimes[i].offset = gaps.take(rounded(lifetimes[i].bytes))
    return gaps.end()
