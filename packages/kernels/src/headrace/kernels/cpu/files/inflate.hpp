// Inflate (RFC 1951), of zlib and gzip streams.
#ifndef HEADRACE_CPU_FILES_INFLATE_HPP
#define HEADRACE_CPU_FILES_INFLATE_HPP

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "files/byte_source.hpp"

namespace hr {

struct CorruptStream {
  const char* what;
};

// Unpacks a stream as it is read, with a window of some 100 KB. read throws CorruptStream.
class InflateSource : public ByteSource {
 public:
  enum Wrapper { kZlib, kGzip };  // a gzip stream may have several members
  InflateSource(std::unique_ptr<ByteSource> from, Wrapper wrapper);
  ~InflateSource() override;
  size_t read(char* to, size_t n) override;

 private:
  class Decoder;
  std::unique_ptr<Decoder> decoder_;
};

// Unpacks a zlib stream of just `size` bytes; null, or what is wrong with it.
const char* zlib_unpacked(std::string_view stream, size_t size, std::string* bytes);

}  // namespace hr

#endif
