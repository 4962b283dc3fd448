// Inflate (RFC 1951): the part of zlib that PNG reading needs.
#ifndef HEADRACE_CPU_FILES_INFLATE_HPP
#define HEADRACE_CPU_FILES_INFLATE_HPP

#include <cstddef>
#include <string>
#include <string_view>

namespace hr {

// Unpacks a zlib stream of just `size` bytes; null, or what is wrong with it.
const char* zlib_unpacked(std::string_view stream, size_t size, std::string* bytes);

}  // namespace hr

#endif
