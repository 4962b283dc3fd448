// Drivers link LLVM. Where another library has loaded an LLVM of its own with RTLD_GLOBAL, as
// TensorFlow does, a driver that the loader opens binds to those symbols, and crashes when it
// starts, or at its first program if that library came later.
#include "api/drivers.hpp"

#include <dlfcn.h>

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace hr::cl {
namespace {

// A function of LLVM that every user of it has.
constexpr const char* kOfLlvm = "_ZN4llvm2cl6Option11addArgumentEv";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// The library that a .icd file names, or "".
std::string library_of(const std::filesystem::path& icd) {
  std::string line;
  std::ifstream file(icd);
  std::getline(file, line);
  while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back()))) line.pop_back();
  return line;
}

// What ocl-icd's and Khronos' loader read.
std::vector<std::string> libraries() {
  std::vector<std::string> found;
  std::istringstream names(variable("OCL_ICD_FILENAMES"));
  for (std::string name; std::getline(names, name, ':');) found.push_back(name);
  std::string place = variable("OCL_ICD_VENDORS");
  if (place.empty()) place = variable("OPENCL_VENDOR_PATH");
  if (place.empty()) place = "/etc/OpenCL/vendors";
  std::error_code error;
  if (std::filesystem::path(place).extension() == ".icd") found.push_back(library_of(place));
  // Empty if there is no such folder.
  std::filesystem::directory_iterator entry(place, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error))
    if (entry->path().extension() == ".icd") found.push_back(library_of(entry->path()));
  return found;
}

}  // namespace

int driver_flags() {
  int flags = RTLD_NOW | RTLD_LOCAL;  // no symbol is bound later
#ifdef RTLD_DEEPBIND
  // Only where it is needed: sanitizers and other allocators of the process would be passed over.
  if (::dlsym(RTLD_DEFAULT, kOfLlvm)) flags |= RTLD_DEEPBIND;
#endif
  return flags;
}

void open_drivers() {
  const int flags = driver_flags();
  for (const std::string& name : libraries())
    if (!name.empty()) ::dlopen(name.c_str(), flags);
}

}  // namespace hr::cl
