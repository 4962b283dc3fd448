#include "files/disk.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace hr::disk {
namespace {

constexpr size_t kHeld = 1 << 16;

hr_code code_of(int error) {
  switch (error) {
    case ENOENT: return HR_NOT_FOUND;
    case EACCES:
    case EPERM:
    case EROFS: return HR_PERMISSION_DENIED;
    case EEXIST: return HR_ALREADY_EXISTS;
    case EISDIR:
    case ENOTDIR:
    case ENOTEMPTY: return HR_FAILED_PRECONDITION;
    // EFBIG: a quota of one file. headrace.formats.os_errors has the same mapping.
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
    case ENOMEM: return HR_RESOURCE_EXHAUSTED;
    case EINVAL:
    case ENAMETOOLONG: return HR_INVALID_ARGUMENT;
    default: return HR_UNKNOWN;
  }
}

int opened(const std::string& path, int flags) {
  const std::string name = local_path(path);
  int file;
  do file = ::open(name.c_str(), flags | O_CLOEXEC, 0666);
  while (file < 0 && errno == EINTR);
  if (file < 0) fail(path, errno);
  return file;
}

void sync_and_close(const std::string& path, int file) {
  const int error = ::fsync(file) ? errno : 0;
  ::close(file);
  if (error) fail(path, error);
}

void write_through(const std::string& path, int file, const char* data, size_t size) {
  while (size > 0) {
    const ssize_t done = ::write(file, data, size);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail(path, errno);
    data += done;
    size -= size_t(done);
  }
}

remote::Reply ask(remote::Verb verb, const std::string& path, const std::string& other = "") {
  remote::Request request;
  request.verb = verb;
  request.path = path;
  request.other = other;
  return remote::call(std::move(request));
}

}  // namespace

using remote::is_remote;
using remote::Verb;

std::string local_path(const std::string& path) {
  constexpr std::string_view kScheme = "file://";
  return path.compare(0, kScheme.size(), kScheme) == 0 ? path.substr(kScheme.size()) : path;
}

void fail(const std::string& path, int error) {
  throw Failure{code_of(error), path + "; " + std::strerror(error)};
}

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash ? path.substr(0, slash) : "/";
}

bool exists(const std::string& path) {
  if (is_remote(path)) return ask(Verb::kExists, path).handle != 0;
  struct stat status;
  return ::stat(local_path(path).c_str(), &status) == 0;
}

void make_folders(const std::string& path) {
  if (is_remote(path)) {
    ask(Verb::kMakeDirectories, path);
    return;
  }
  const std::string folder = local_path(path);
  if (exists(folder)) return;
  if (folder_of(folder) != folder) make_folders(folder_of(folder));
  if (::mkdir(folder.c_str(), 0777) && errno != EEXIST) fail(folder, errno);
}

std::vector<std::string> names_in(const std::string& folder) {
  if (is_remote(folder)) return remote::names_of(ask(Verb::kListDirectory, folder));
  std::vector<std::string> names;
  if (DIR* open = ::opendir(local_path(folder).c_str())) {
    while (const dirent* entry = ::readdir(open)) names.push_back(entry->d_name);
    ::closedir(open);
  }
  return names;
}

std::vector<std::string> matching(const std::string& pattern) {
  if (is_remote(pattern)) return remote::names_of(ask(Verb::kGlob, pattern));
  glob_t found{};
  std::vector<std::string> paths;
  const int code = ::glob(local_path(pattern).c_str(), GLOB_NOSORT, nullptr, &found);
  if (code == 0) paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  if (code == GLOB_NOSPACE) throw std::bad_alloc();
  return paths;
}

std::string read(const std::string& path) {
  if (is_remote(path)) {
    const remote::Reader file(path);
    std::string contents(size_t(file.size()), '\0');
    file.read(0, contents.size(), contents.data());
    return contents;
  }
  const int file = opened(path, O_RDONLY);
  struct stat status;
  std::string bytes;
  // A file that grows meanwhile, or whose size the system does not report, is read to its end.
  if (::fstat(file, &status) == 0 && status.st_size > 0) bytes.reserve(size_t(status.st_size) + 1);
  char piece[kHeld];
  for (;;) {
    const ssize_t got = ::read(file, piece, sizeof piece);
    if (got < 0 && errno == EINTR) continue;
    const int error = got < 0 ? errno : 0;
    if (got <= 0) ::close(file);
    if (error) fail(path, error);
    if (got == 0) return bytes;
    bytes.append(piece, size_t(got));
  }
}

void rename(const std::string& from, const std::string& to) {
  if (is_remote(from)) {
    ask(Verb::kRename, from, to);
    return;
  }
  if (::rename(local_path(from).c_str(), local_path(to).c_str())) fail(to, errno);
}

void remove(const std::string& path) {
  if (is_remote(path)) {
    ask(Verb::kRemove, path);
    return;
  }
  if (::unlink(local_path(path).c_str()) && errno != ENOENT) fail(path, errno);
}

void remove_folder_if_empty(const std::string& folder) {
  if (is_remote(folder)) ask(Verb::kRemoveEmptyDirectory, folder);
  else ::rmdir(local_path(folder).c_str());
}

void link_or_copy(const std::string& from, const std::string& to) {
  if (is_remote(from)) {
    ask(Verb::kCopy, from, to);
    return;
  }
  if (::link(local_path(from).c_str(), local_path(to).c_str()) == 0) return;
  Output copy(to);
  copy.write(read(from));
  copy.close(true);
}

FolderLock::FolderLock(const std::string& folder)
    : file_(is_remote(folder) ? -1 : ::open(local_path(folder).c_str(), O_RDONLY | O_CLOEXEC)) {
  // Some file systems have no locks; writers then do as well as they can.
  while (file_ >= 0 && ::flock(file_, LOCK_EX) && errno == EINTR) {}
}

FolderLock::~FolderLock() {
  if (file_ >= 0) ::close(file_);
}

void sync_folder(const std::string& folder) {
  if (is_remote(folder)) return;
  const int file = ::open(local_path(folder).c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return;  // some file systems do not open folders
  ::fsync(file);
  ::close(file);
}

Output::Output(std::string path) : path_(std::move(path)), file_(-1) {
  if (is_remote(path_)) remote_ = std::make_unique<remote::Writer>(path_);
  else file_ = opened(path_, O_WRONLY | O_CREAT | O_TRUNC);
}

Output::~Output() {
  if (file_ >= 0) ::close(file_);
}

void Output::write(const void* data, size_t size) {
  position_ += int64_t(size);
  if (remote_) return remote_->write(static_cast<const char*>(data), size);
  if (held_.size() + size <= kHeld) {
    held_.append(static_cast<const char*>(data), size);
    return;
  }
  flush();
  write_through(path_, file_, static_cast<const char*>(data), size);
}

void Output::flush() {
  write_through(path_, file_, held_.data(), held_.size());
  held_.clear();
}

void Output::close(bool sync) {
  if (remote_) return remote_->close();
  flush();
  const int file = file_;
  file_ = -1;
  if (sync) return sync_and_close(path_, file);
  if (::close(file)) fail(path_, errno);
}

}  // namespace hr::disk
