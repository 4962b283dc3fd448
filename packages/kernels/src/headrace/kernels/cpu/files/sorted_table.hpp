// Writes LevelDB's sorted tables, the format of a checkpoint's index file. sorted_table.py of
// headrace.formats writes the same bytes and documents them.
#ifndef HEADRACE_CPU_FILES_SORTED_TABLE_HPP
#define HEADRACE_CPU_FILES_SORTED_TABLE_HPP

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hr {

class TableBlock {
 public:
  explicit TableBlock(size_t restart_interval) : interval_(restart_interval) {}
  void add(std::string_view key, std::string_view value);
  std::string finish();  // and begins anew
  size_t size() const { return bytes_.size(); }

 private:
  size_t interval_, since_restart_ = 0;
  std::string bytes_, last_key_;
  std::vector<uint32_t> restarts_{0};
};

class TableWriter {
 public:
  // Keys come in increasing order.
  void add(std::string_view key, std::string_view value);
  std::string finish();  // the whole file

 private:
  void close_block();
  std::string write(const std::string& block);  // returns its handle
  std::string file_, last_key_, pending_;  // pending: the handle of a block the index lacks yet
  TableBlock block_{16}, index_{1};
};

}  // namespace hr

#endif
