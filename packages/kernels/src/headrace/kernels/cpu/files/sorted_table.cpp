#include "files/sorted_table.hpp"

#include <algorithm>

#include "files/protobuf_writer.hpp"
#include "headrace/crc32c.h"
#include "headrace/table_reader.h"

namespace hr {
namespace {

constexpr size_t kBlockBytes = 1 << 18;

size_t common(std::string_view a, std::string_view b) {
  const size_t n = std::min(a.size(), b.size());
  return size_t(std::mismatch(a.begin(), a.begin() + n, b.begin()).first - a.begin());
}

// A short key that is at least low and below high.
std::string separator(const std::string& low, std::string_view high) {
  const size_t same = common(low, high);
  if (same < low.size() && uint8_t(low[same]) + 1 < uint8_t(high[same])) {
    std::string created = low.substr(0, same + 1);
    ++created[same];
    return created;
  }
  return low;
}

// A short key that is at least `key`.
std::string successor(const std::string& key) {
  for (size_t i = 0; i < key.size(); ++i) {
    if (uint8_t(key[i]) == 0xff) continue;
    std::string created = key.substr(0, i + 1);
    ++created[i];
    return created;
  }
  return key;
}

}  // namespace

void TableBlock::add(std::string_view key, std::string_view value) {
  size_t shared = 0;
  if (since_restart_ == interval_) {
    restarts_.push_back(uint32_t(bytes_.size()));
    since_restart_ = 0;
  } else {
    shared = common(last_key_, key);
  }
  protobuf::varint(&bytes_, shared);
  protobuf::varint(&bytes_, key.size() - shared);
  protobuf::varint(&bytes_, value.size());
  bytes_.append(key.substr(shared)).append(value);
  ++since_restart_;
  last_key_ = key;
}

std::string TableBlock::finish() {
  for (uint32_t restart : restarts_) protobuf::fixed(&bytes_, restart);
  protobuf::fixed(&bytes_, uint32_t(restarts_.size()));
  std::string created = std::move(bytes_);
  *this = TableBlock(interval_);
  return created;
}

void TableWriter::add(std::string_view key, std::string_view value) {
  if (!pending_.empty()) index_.add(separator(last_key_, key), pending_);
  pending_.clear();
  block_.add(key, value);
  last_key_ = key;
  if (block_.size() >= kBlockBytes) close_block();
}

std::string TableWriter::finish() {
  if (block_.size()) close_block();
  if (!pending_.empty()) index_.add(successor(last_key_), pending_);
  std::string footer = write(TableBlock(1).finish());
  footer += write(index_.finish());
  footer.resize(HR_TABLE_FOOTER_BYTES - 8, '\0');
  protobuf::fixed(&footer, uint64_t(HR_TABLE_MAGIC));
  return std::move(file_ += footer);
}

void TableWriter::close_block() { pending_ = write(block_.finish()); }

std::string TableWriter::write(const std::string& block) {
  std::string handle;
  protobuf::varint(&handle, file_.size());
  protobuf::varint(&handle, block.size());
  const size_t begin = file_.size();
  file_ += block;
  file_.push_back(0);  // not compressed
  protobuf::fixed(&file_, hr_masked_crc32c(file_.data() + begin, block.size() + 1));
  return handle;
}

}  // namespace hr
