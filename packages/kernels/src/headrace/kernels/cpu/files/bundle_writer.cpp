#include "files/bundle_writer.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>

#include "files/protobuf_writer.hpp"
#include "headrace/bundle_reader.h"
#include "library/shapes.hpp"
#include "library/text.hpp"
#include "loops/elements.hpp"

namespace hr::bundle {
namespace {

// Tensors begin at multiples of this, so that a memory map of them is aligned.
constexpr int64_t kAlignment = 64;

[[noreturn]] void reject(const std::string& text) { throw Failure{HR_INVALID_ARGUMENT, text}; }

std::string shown(const std::vector<int64_t>& dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) text += (i ? ", " : "") + std::to_string(dims[i]);
  return text + "]";
}

// Writes strings: all lengths, the masked CRC of the lengths, all bytes.
uint32_t write_strings(const hr_tensor* t, disk::Output* file) {
  std::string head;
  uint32_t crc = 0;
  const int64_t n = hr_elements(t);
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t length = text_at(t, i).size();
    protobuf::varint(&head, length);
    std::string fixed;  // what the CRC counts a length as
    if (length >> 32) protobuf::fixed(&fixed, length);
    else protobuf::fixed(&fixed, uint32_t(length));
    crc = hr_crc32c_extend(crc, fixed.data(), fixed.size());
  }
  std::string check;
  protobuf::fixed(&check, hr_crc32c_mask(crc));
  crc = hr_crc32c_extend(crc, check.data(), check.size());
  file->write(head + check);
  for (int64_t i = 0; i < n; ++i) {
    const std::string_view text = text_at(t, i);
    file->write(text);
    crc = hr_crc32c_extend(crc, text.data(), text.size());
  }
  return crc;
}

std::string slice_message(const Slice& slice) {
  protobuf::Message created;
  for (size_t i = 0; i < slice.starts.size(); ++i) {
    std::string extent;
    if (slice.lengths[i] >= 0) {
      extent = protobuf::Message().number(1, uint64_t(slice.starts[i])).bytes();
      extent.push_back(16);  // a length of 0 is a length, too
      protobuf::varint(&extent, uint64_t(slice.lengths[i]));
    }
    created.always(1, std::string_view(extent));
  }
  return created.bytes();
}

}  // namespace

std::string Entry::encoded() const {
  protobuf::Message shape, created;
  for (int64_t dim : dims) shape.always(2, protobuf::Message().number(1, uint64_t(dim)));
  created.number(1, uint64_t(dtype)).always(2, shape).number(3, uint64_t(shard));
  created.number(4, uint64_t(offset)).number(5, uint64_t(size)).fixed32(6, crc);
  for (const std::string& slice : slices) created.always(7, std::string_view(slice));
  return created.bytes();
}

// ---- slices -------------------------------------------------------------------------------------

Slice parsed_slice(std::string_view text, const std::string& name) {
  const std::string_view all = text;
  auto malformed = [&]() {
    reject(name + ": expected a shape and a slice such as '4 5 0,2:-', not '" + std::string(all) +
           "'");
  };
  auto number = [&](std::string_view digits) {
    int64_t value = -1;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (read.ec != std::errc() || read.ptr != digits.data() + digits.size()) malformed();
    return value;
  };
  Slice slice;
  for (size_t end; (end = text.find(' ')) != text.npos; text.remove_prefix(end + 1))
    slice.full.push_back(number(text.substr(0, end)));
  for (bool more = true; more;) {
    const size_t end = text.find(':');
    const std::string_view part = text.substr(0, end);
    const size_t comma = part.find(',');
    if (part != "-" && comma == part.npos) malformed();
    slice.starts.push_back(part == "-" ? 0 : number(part.substr(0, comma)));
    slice.lengths.push_back(part == "-" ? -1 : number(part.substr(comma + 1)));
    more = end != text.npos;
    if (more) text.remove_prefix(end + 1);
  }
  if (slice.starts.size() != slice.full.size() || slice.full.size() > HR_MAX_RANK) malformed();
  return slice;
}

void normalise(Slice* slice, const std::string& name) {
  for (size_t i = 0; i < slice->full.size(); ++i) {
    int64_t &start = slice->starts[i], &length = slice->lengths[i];
    const int64_t size = slice->full[i];
    if (length < 0) length = size - start;
    if (start < 0 || length < 0 || length > size || start > size - length)
      reject("slice " + std::to_string(start) + ":" + std::to_string(start + length) + " of '" +
             name + "' exceeds a dimension of " + std::to_string(size));
    if (start == 0 && length == size) length = -1;
  }
}

std::string slice_key(const std::string& name, const Slice& slice) {
  std::string key(2 * name.size() + 24 + 20 * slice.starts.size(), '\0');
  key.resize(hr_bundle_slice_key(reinterpret_cast<uint8_t*>(key.data()), name.c_str(),
                                 slice.starts.data(), slice.lengths.data(),
                                 int(slice.starts.size())));
  return key;
}

// ---- writing ------------------------------------------------------------------------------------

namespace {

void check_name(const std::string& name) {
  if (name.empty() || name.find('\0') != name.npos)
    reject("a tensor in a checkpoint needs a name without zero bytes, not '" + name + "'");
}

void check_dtype(const std::string& name, const hr_tensor* value) {
  if (value->dtype == HR_RESOURCE || value->dtype == HR_VARIANT || !hr_dtype_size(value->dtype))
    throw Failure{HR_UNIMPLEMENTED, "'" + name + "' has dtype " + std::to_string(value->dtype) +
                                        ", which no checkpoint can hold"};
}

}  // namespace

Writer::Writer(std::string prefix)
    : prefix_(std::move(prefix)), temporary_(temporary_name(prefix_)) {
  file_ = std::make_unique<disk::Output>(remote::is_remote(prefix_)
                                             ? shard_path(prefix_, 0, shard_count(prefix_, 1))
                                             : temporary_ + ".data-00000");
}

Writer::~Writer() {
  if (published_) return;
  if (remote::is_remote(prefix_)) {
    const std::string shard = file_ ? file_->path() : "";
    file_.reset();  // what is not closed never appears
    try {
      if (!shard.empty()) disk::remove(shard);
    } catch (...) {}  // the first failure is the one to report
    return;
  }
  for (const char* end : {".data-00000", ".data-00001", ".index"}) {
    try {
      disk::remove(temporary_ + end);
    } catch (const Failure&) {  // the first failure is the one to report
    }
  }
}

void Writer::add(const std::string& name, const hr_tensor* value) {
  check_name(name);
  check_dtype(name, value);
  if (entries_.count(name))
    throw Failure{HR_ALREADY_EXISTS, prefix_ + ": '" + name + "' was already added"};
  entries_[name] = write(value);
}

void Writer::add_slice(const std::string& name, Slice slice, const hr_tensor* value) {
  check_name(name);
  check_dtype(name, value);
  normalise(&slice, name);
  std::vector<int64_t> sizes, shape(value->dims, value->dims + value->rank);
  for (size_t i = 0; i < slice.full.size(); ++i)
    sizes.push_back(slice.lengths[i] < 0 ? slice.full[i] : slice.lengths[i]);
  if (sizes != shape)
    reject(prefix_ + ": slice of '" + name + "' is " + shown(sizes) + ", its value " +
           shown(shape));
  auto found = entries_.find(name);
  if (found != entries_.end() &&
      (found->second.slices.empty() || found->second.dims != slice.full ||
       found->second.dtype != value->dtype))
    reject(prefix_ + ": slices of '" + name + "' disagree about its shape or dtype: " +
           shown(found->second.dims) + " and " + shown(slice.full));
  const std::string key = slice_key(name, slice);
  if (entries_.count(key))
    throw Failure{HR_ALREADY_EXISTS, prefix_ + ": a slice of '" + name + "' was already added"};
  entries_[key] = write(value);
  Entry& whole = entries_[name];
  whole.dtype = value->dtype;
  whole.dims = slice.full;
  whole.slices.push_back(slice_message(slice));
}

Entry Writer::write(const hr_tensor* value) {
  Entry entry;
  entry.dtype = value->dtype;
  entry.dims.assign(value->dims, value->dims + value->rank);
  const bool plain = is_plain(value->dtype);
  const int64_t size = plain ? hr_elements(value) * hr_dtype_size(value->dtype) : 0;
  static constexpr char kZeros[kAlignment] = {};
  if (size) file_->write(kZeros, size_t(-file_->position() & (kAlignment - 1)));
  entry.offset = file_->position();
  uint32_t crc;
  if (plain) {
    crc = hr_crc32c_extend(0, value->data, size_t(size));
    file_->write(value->data, size_t(size));
  } else {
    crc = write_strings(value, file_.get());
  }
  entry.size = file_->position() - entry.offset;
  entry.crc = hr_crc32c_mask(crc);
  return entry;
}

void Writer::finish() {
  file_->close(true);
  publish(prefix_, temporary_, {file_->path()}, entries_);
  published_ = true;
}

}  // namespace hr::bundle
