// A folder of compiled programs, which processes share without locks.
//
// An entry is written beside its name and renamed, so a reader sees all of it or none; it carries a
// checksum, so damage shows. Where the folder cannot be used, nothing is kept, and all works.
#ifndef HEADRACE_OPENCL_PROGRAMS_BINARY_CACHE_HPP
#define HEADRACE_OPENCL_PROGRAMS_BINARY_CACHE_HPP

#include <string>

namespace hr::cl {

// $HEADRACE_CACHE_DIR, or headrace in the user's cache folder; "" if there is neither.
std::string cache_folder();

// The program kept under a key, 64 hexadecimal digits. False: there is none, or it is damaged, or
// it belongs to another user.
bool read_cached(const std::string& key, std::string* binary);

void write_cached(const std::string& key, const std::string& binary);

}  // namespace hr::cl

#endif
