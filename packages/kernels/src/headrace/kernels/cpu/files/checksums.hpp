// Checksums of zlib, gzip and PNG. CRC-32C, that of records, is in headrace/crc32c.h.
#ifndef HEADRACE_CPU_FILES_CHECKSUMS_HPP
#define HEADRACE_CPU_FILES_CHECKSUMS_HPP

#include <cstdint>
#include <string_view>

namespace hr {

// The checksum of the bytes before, and of these.
uint32_t adler32(std::string_view bytes, uint32_t before = 1);
uint32_t crc32(std::string_view bytes, uint32_t before = 0);

}  // namespace hr

#endif
