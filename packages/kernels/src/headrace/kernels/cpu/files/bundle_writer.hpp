// Writes checkpoint bundles: the same bytes and file names as bundle_writer.py and bundle_files.py
// of headrace.formats, which document the format.
#ifndef HEADRACE_CPU_FILES_BUNDLE_WRITER_HPP
#define HEADRACE_CPU_FILES_BUNDLE_WRITER_HPP

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "files/disk.hpp"
#include "headrace/kernel.h"

namespace hr::bundle {

// A BundleEntryProto.
struct Entry {
  int32_t dtype = 0;
  std::vector<int64_t> dims;
  int64_t shard = 0, offset = 0, size = 0;
  uint32_t crc = 0;
  std::vector<std::string> slices;  // TensorSliceProto messages of a partitioned tensor
  std::string encoded() const;
};
using Entries = std::map<std::string, Entry>;

// A part of a partitioned tensor, of the "4 5 0,2:-" of SaveV2 and RestoreV2.
struct Slice {
  std::vector<int64_t> full, starts, lengths;  // lengths: -1 for all
};
Slice parsed_slice(std::string_view text, const std::string& name);
// Makes (0, -1) of full dimensions, and checks that the slice fits.
void normalise(Slice* slice, const std::string& name);
std::string slice_key(const std::string& name, const Slice& slice);

std::string index_path(const std::string& prefix);
std::string shard_path(const std::string& prefix, int64_t shard, int64_t shards);
std::string temporary_name(const std::string& prefix);
// How many shards a new bundle has in its file names. Never the number of the bundle that is
// replaced, since the two would then share file names before the index says which of them counts.
int64_t shard_count(const std::string& prefix, int64_t requested);
// Names shards and index by the prefix; the index's rename is what makes the bundle. By URL the
// shards have their names already, and the index is written last.
void publish(const std::string& prefix, const std::string& temporary,
             std::vector<std::string> shards, const Entries& entries);

class Writer {
 public:
  explicit Writer(std::string prefix);
  ~Writer();  // drops what was not finished
  void add(const std::string& name, const hr_tensor* value);
  void add_slice(const std::string& name, Slice slice, const hr_tensor* value);
  void finish();

 private:
  Entry write(const hr_tensor* value);
  std::string prefix_, temporary_;
  Entries entries_;
  std::unique_ptr<disk::Output> file_;
  bool published_ = false;
};

// One bundle of several; see bundle_merge.py.
void merge(const std::vector<std::string>& prefixes, const std::string& merged, bool delete_old);

}  // namespace hr::bundle

#endif
