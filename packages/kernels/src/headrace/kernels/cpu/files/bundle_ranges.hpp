// The files of a bundle by URL, for hr_bundle_source: ranges that lie together are fetched
// together.
#ifndef HEADRACE_CPU_FILES_BUNDLE_RANGES_HPP
#define HEADRACE_CPU_FILES_BUNDLE_RANGES_HPP

#include <exception>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "files/remote_files.hpp"
#include "headrace/bundle_reader.h"

namespace hr::bundle {

struct Range {
  int64_t shard, offset, size;
  bool operator<(const Range& other) const {
    return std::tie(shard, offset, size) < std::tie(other.shard, other.offset, other.size);
  }
};

class BundleRanges {
 public:
  BundleRanges();
  BundleRanges(const BundleRanges&) = delete;

  const hr_bundle_source* source() const { return &source_; }
  // What will be read; small ranges with little between them become one request.
  void plan(std::vector<Range> ranges);
  // Throws what a function of the source threw last, if one did.
  void rethrow();

 private:
  hr_bundle_source source_;
  std::map<uint64_t, std::unique_ptr<remote::Reader>> files_;
  std::map<uint64_t, std::string> identities_;  // also of closed files
  std::map<uint64_t, int64_t> shards_;          // by handle
  uint64_t next_ = 1;
  std::vector<Range> windows_;
  Range window_{-1, 0, 0};
  std::string bytes_;  // of window_
  std::exception_ptr thrown_;

  template <class Body> int guarded(const Body& body);
  void read(uint64_t handle, int64_t offset, int64_t size, char* to);
};

}  // namespace hr::bundle

#endif
