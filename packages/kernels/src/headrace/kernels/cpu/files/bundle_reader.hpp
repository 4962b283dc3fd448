// Reads checkpoint bundles through headrace/bundle_reader.h and turns its errors into Failures. Of
// a bundle by URL only the ranges of the requested tensors are fetched.
#ifndef HEADRACE_CPU_FILES_BUNDLE_READER_HPP
#define HEADRACE_CPU_FILES_BUNDLE_READER_HPP

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "files/bundle_ranges.hpp"
#include "files/bundle_writer.hpp"
#include "headrace/bundle_reader.h"

namespace hr::bundle {

class Reader {
 public:
  // Opens a bundle and reads its whole index, so that corruption anywhere in it is found.
  explicit Reader(const std::string& prefix);
  Reader(const Reader&) = delete;
  ~Reader() { hr_bundle_close(&bundle_); }

  int64_t shards() const { return int64_t(bundle_.num_shards); }
  // Whether the files are fetched, so that requests are worth planning.
  bool is_remote() const { return ranges_ != nullptr; }
  // Where the bytes of a tensor are, or those of its slices that overlap a normalised slice (null:
  // all); in the order of shards.
  std::vector<Range> ranges_of(const std::string& name, const Slice* wanted);
  // What the next calls read, in any order: what lies together is fetched together.
  void plan(std::vector<Range> ranges) { ranges_->plan(std::move(ranges)); }
  // Finds a tensor. Errors name it from then on.
  hr_bundle_entry find(const std::string& name);
  std::vector<std::pair<std::string, Entry>> entries();

  // Checks that the bytes of a tensor that is not partitioned are there, without reading them.
  void locate(const hr_bundle_entry& entry);
  // The stored bytes of such a tensor; they lie in the map, or are valid until the next call.
  hr_bundle_bytes bytes(const hr_bundle_entry& entry);
  // Those bytes, or any part of any tensor of numbers, put together from its slices and in the
  // machine's order; `to` null: only checks that they are there.
  void whole(const hr_bundle_entry& entry, const hr_bundle_bytes& stored, void* to);
  void region(const std::string& name, const hr_bundle_entry& entry, const int64_t* starts,
              const int64_t* sizes, void* to);
  void strings(const hr_bundle_entry& entry,
               void (*visit)(void* argument, uint64_t i, const uint8_t* data, uint64_t size),
               void* argument);

 private:
  [[noreturn]] void fail();
  void turn_round(hr_dtype dtype, char* at, int64_t bytes) const;
  void check(hr_bundle_code code) {
    if (code != HR_BUNDLE_OK) fail();
  }
  static int remember(void* self, const uint8_t* key, uint64_t key_size, const uint8_t* value,
                      uint64_t value_size);
  std::unique_ptr<BundleRanges> ranges_;
  std::string tensor_;  // that is read
  hr_bundle bundle_;
  std::unordered_map<std::string, hr_bundle_bytes> values_;  // entry messages, in the map
  std::vector<std::string> keys_;                            // in order
};

}  // namespace hr::bundle

#endif
