// Deflate (RFC 1951): the part of zlib that writing PNG and record files needs.
#ifndef HEADRACE_CPU_FILES_DEFLATE_HPP
#define HEADRACE_CPU_FILES_DEFLATE_HPP

#include <string>
#include <string_view>

namespace hr {

// The bytes as a zlib stream (RFC 1950).
std::string zlib_compressed(std::string_view bytes);
// The bytes as a gzip file (RFC 1952), without a name and time.
std::string gzip_compressed(std::string_view bytes);

}  // namespace hr

#endif
