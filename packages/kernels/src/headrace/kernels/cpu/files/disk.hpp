// File and directory operations of the kernels for checkpoints and files, also by URL.
#ifndef HEADRACE_CPU_FILES_DISK_HPP
#define HEADRACE_CPU_FILES_DISK_HPP

#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "files/remote_files.hpp"
#include "headrace/kernel.h"
#include "processor/parallel.hpp"

namespace hr {

// The failure of a kernel that works with files; error_boundary reports it to the context.
struct Failure {
  hr_code code;
  std::string text;
};

// Runs the body of a compute function, and reports what it throws to the context.
template <class Body> hr_code error_boundary(hr_ctx* ctx, Body&& body) {
  const auto poll_step = [ctx] { poll(ctx); };
  const remote::WhileWaiting here(poll_step);
  try {
    body();
    return HR_OK;
  } catch (const Failure& failure) {
    return hr_ctx_fail(ctx, failure.code, "%s", failure.text.c_str());
  } catch (const std::bad_alloc&) {
    return hr_ctx_fail(ctx, HR_RESOURCE_EXHAUSTED, "out of memory");
  }
}

// For what the context itself reported.
inline void check(hr_code code) {
  if (code != HR_OK) throw Failure{code, ""};
}

namespace disk {

// A path without "file://".
std::string local_path(const std::string& path);
// Throws the Failure of an errno: "PATH; No such file or directory".
[[noreturn]] void fail(const std::string& path, int error);

std::string folder_of(const std::string& path);  // "." where the path names none
bool exists(const std::string& path);
void make_folders(const std::string& folder);
std::vector<std::string> names_in(const std::string& folder);  // none where there is no folder
// What matches a pattern; unsorted.
std::vector<std::string> matching(const std::string& pattern);
std::string read(const std::string& path);
void rename(const std::string& from, const std::string& to);  // replaces what bears the name
void remove(const std::string& path);                         // if it is there
void remove_folder_if_empty(const std::string& folder);
// A second name for a file, or a second copy where that cannot be. Both are local or both not.
void link_or_copy(const std::string& from, const std::string& to);
void sync_folder(const std::string& folder);

// Holds a folder's lock, which the writers in Python take too; a killed holder lets go of it. By
// URL there are no locks.
class FolderLock {
 public:
  explicit FolderLock(const std::string& folder);
  FolderLock(const FolderLock&) = delete;
  ~FolderLock();

 private:
  int file_;
};

class Output {
 public:
  // Empties a file that is there. By URL, it is replaced at once by `close`, and a file that is not
  // closed never appears.
  explicit Output(std::string path);
  Output(const Output&) = delete;
  ~Output();
  void write(const void* data, size_t size);
  void write(std::string_view bytes) { write(bytes.data(), bytes.size()); }
  // Gives the system all that was written; with `sync` the disk has it, too.
  void close(bool sync);
  int64_t position() const { return position_; }
  const std::string& path() const { return path_; }

 private:
  void flush();
  std::string path_, held_;
  std::unique_ptr<remote::Writer> remote_;
  int file_;
  int64_t position_ = 0;
};

}  // namespace disk
}  // namespace hr

#endif
