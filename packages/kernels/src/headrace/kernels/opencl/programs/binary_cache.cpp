#include "programs/binary_cache.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <ctime>

#include "programs/sha256.hpp"

namespace hr::cl {

namespace {

constexpr char kMagic[] = "headrace opencl program 1\n";
constexpr size_t kHeader = sizeof kMagic - 1 + 64 + 64 + 2;  // key and checksum, a line each
constexpr char kPartial[] = ".partial-";
constexpr time_t kAbandonedAfter = 3600;  // seconds

bool make_folders(const std::string& path) {
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) return false;
    if (end == std::string::npos) return true;
  }
}

std::string entry_path(const std::string& key) { return cache_folder() + "/" + key; }

// A file of this user; -1 if there is none.
int open_own(const std::string& path, int64_t* size) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return -1;
  struct stat about;
  if (::fstat(file, &about) != 0 || !S_ISREG(about.st_mode) || about.st_uid != ::geteuid()) {
    ::close(file);
    return -1;
  }
  *size = about.st_size;
  return file;
}

bool read_all(int file, char* to, size_t n) {
  while (n > 0) {
    const ssize_t got = ::read(file, to, n);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    n -= size_t(got);
  }
  return true;
}

bool write_all(int file, const char* from, size_t n) {
  while (n > 0) {
    const ssize_t put = ::write(file, from, n);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    from += put;
    n -= size_t(put);
  }
  return true;
}

// Removes what processes that were killed left behind.
void remove_abandoned(const std::string& folder) {
  DIR* listing = ::opendir(folder.c_str());
  if (!listing) return;
  const time_t now = ::time(nullptr);
  while (const dirent* entry = ::readdir(listing)) {
    const std::string name = entry->d_name;
    if (name.find(kPartial) == std::string::npos) continue;
    const std::string path = folder + "/" + name;
    struct stat about;
    if (::lstat(path.c_str(), &about) == 0 && now - about.st_mtime > kAbandonedAfter)
      ::unlink(path.c_str());
  }
  ::closedir(listing);
}

}  // namespace

std::string cache_folder() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value ? value : "");
  };
  std::string base = variable("HEADRACE_CACHE_DIR");
  if (base.empty()) {
    base = variable("XDG_CACHE_HOME");
    if (base.empty() && !variable("HOME").empty()) base = variable("HOME") + "/.cache";
    if (base.empty()) return {};
    base += "/headrace";
  }
  return base + "/opencl";
}

bool read_cached(const std::string& key, std::string* binary) {
  if (cache_folder().empty()) return false;
  int64_t size;
  const int file = open_own(entry_path(key), &size);
  if (file < 0) return false;
  std::string text(size_t(size), 0);
  const bool read = read_all(file, text.data(), text.size());
  ::close(file);
  if (!read || text.size() < kHeader) return false;
  *binary = text.substr(kHeader);
  return text.compare(0, kHeader, kMagic + key + "\n" + sha256(*binary) + "\n") == 0;
}

void write_cached(const std::string& key, const std::string& binary) {
  static std::atomic<int> number{0};
  const std::string folder = cache_folder();
  if (folder.empty() || !make_folders(folder)) return;
  static const bool cleaned = (remove_abandoned(folder), true);
  (void)cleaned;
  const std::string partial =
      entry_path(key) + kPartial + std::to_string(::getpid()) + "-" + std::to_string(++number);
  const int file =
      ::open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return;
  const std::string text = kMagic + key + "\n" + sha256(binary) + "\n" + binary;
  const bool written = write_all(file, text.data(), text.size());
  if (::close(file) != 0 || !written || ::rename(partial.c_str(), entry_path(key).c_str()) != 0)
    ::unlink(partial.c_str());
}

}  // namespace hr::cl
