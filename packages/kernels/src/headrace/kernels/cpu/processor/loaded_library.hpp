// Libraries that other modules of the process have loaded, such as NumPy's and Pillow's.
#ifndef HEADRACE_CPU_PROCESSOR_LOADED_LIBRARY_HPP
#define HEADRACE_CPU_PROCESSOR_LOADED_LIBRARY_HPP

#if defined(__linux__)
#include <dlfcn.h>
#include <link.h>

#include <cstring>
#include <string>
#include <vector>

namespace hr {

// Opens each loaded library whose file name is_wanted(const char* file_name), until accepts(void*
// handle) returns true; that one stays open. Returns whether there is one.
template <class IsWanted, class Accepts>
bool find_loaded_library(const IsWanted& is_wanted, const Accepts& accepts) {
  struct Search {
    const IsWanted& is_wanted;
    std::vector<std::string> paths;
  } search{is_wanted, {}};
  // The loader's lock is held in the callback; dlopen there would take its locks in the other
  // order.
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* argument) {
        auto* found = static_cast<Search*>(argument);
        const char* slash = std::strrchr(info->dlpi_name, '/');
        if (found->is_wanted(slash ? slash + 1 : info->dlpi_name))
          found->paths.emplace_back(info->dlpi_name);
        return 0;
      },
      &search);
  for (const std::string& path : search.paths) {
    void* handle = ::dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (!handle) continue;
    if (accepts(handle)) return true;
    ::dlclose(handle);
  }
  return false;
}

}  // namespace hr

#endif
#endif
