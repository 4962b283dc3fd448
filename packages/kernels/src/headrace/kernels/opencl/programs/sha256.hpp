// SHA-256 (FIPS 180-4), for the names and checksums of cached programs.
#ifndef HEADRACE_OPENCL_PROGRAMS_SHA256_HPP
#define HEADRACE_OPENCL_PROGRAMS_SHA256_HPP

#include <string>
#include <string_view>

namespace hr::cl {

// 64 hexadecimal digits.
std::string sha256(std::string_view bytes);

}  // namespace hr::cl

#endif
