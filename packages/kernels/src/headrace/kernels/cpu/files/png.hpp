// Writes PNG files.
#ifndef HEADRACE_CPU_FILES_PNG_HPP
#define HEADRACE_CPU_FILES_PNG_HPP

#include <cstdint>
#include <string>

namespace hr {

// A file of height x width pixels of 1 to 4 channels, each of `depth` bytes (1 or 2, as the
// machine has them).
std::string png(const void* pixels, int64_t height, int64_t width, int64_t channels, int depth);

}  // namespace hr

#endif
