// Bytes that are read in order: of memory, of a file, or unpacked from either.
#ifndef HEADRACE_CPU_FILES_BYTE_SOURCE_HPP
#define HEADRACE_CPU_FILES_BYTE_SOURCE_HPP

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "files/remote_files.hpp"

namespace hr {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Reads at least one byte and at most n; 0: the end.
  virtual size_t read(char* to, size_t n) = 0;
};

class MemorySource : public ByteSource {
 public:
  explicit MemorySource(std::string_view bytes) : left_(bytes) {}
  size_t read(char* to, size_t n) override {
    n = left_.copy(to, n);
    left_.remove_prefix(n);
    return n;
  }

 private:
  std::string_view left_;
};

// A file by path or URL. Throws Failure (disk.hpp) if it cannot be opened or read.
class FileSource : public ByteSource {
 public:
  explicit FileSource(std::string path);
  FileSource(const FileSource&) = delete;
  ~FileSource() override;
  size_t read(char* to, size_t n) override;
  int64_t size() const;

 private:
  std::string path_;
  std::unique_ptr<remote::Source> remote_;
  int file_ = -1;
};

// A source with a buffer.
class BufferedInput {
 public:
  // path: for errors of compressed data, which are DataLoss.
  BufferedInput(std::unique_ptr<ByteSource> source, std::string path)
      : source_(std::move(source)), path_(std::move(path)) {}

  // The next n bytes in one piece; fewer only at the end. Valid until the next call. The buffer
  // grows as data arrives, so that a corrupted size takes no memory.
  std::string_view peek(size_t n);
  void skip(size_t n) {  // what was peeked at
    at_ += n;
    position_ += int64_t(n);
  }
  // Passes over n bytes. False: there are fewer.
  bool skip_ahead(int64_t n);
  // Reads to the next "\n", which is left out, or to the end. False: there is nothing more.
  bool line(std::string_view* text);
  int64_t position() const { return position_; }

 private:
  std::unique_ptr<ByteSource> source_;
  std::string path_;
  std::vector<char> buffer_;
  size_t at_ = 0, end_ = 0;
  int64_t position_ = 0;
  bool ended_ = false;

  bool fill(size_t wanted);  // reads more; false: nothing came
};

}  // namespace hr

#endif
