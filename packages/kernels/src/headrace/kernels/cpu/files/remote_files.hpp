// Files by URL ("s3://bucket/key"). Kernels put requests; threads of Python serve them through
// fsspec (file_server.py of this package), so that no kernel takes the GIL or runs Python.
#ifndef HEADRACE_CPU_FILES_REMOTE_FILES_HPP
#define HEADRACE_CPU_FILES_REMOTE_FILES_HPP

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/kernel.h"

namespace hr::remote {

// Whether a path names a file system other than the local one.
bool is_remote(std::string_view path);

// The numbers are those of file_server.py.
enum class Verb : int {
  kOpenReader = 0,  // path; replies handle, size, identity
  kReadRange = 1,   // handle, offset, count; replies bytes
  kCloseReader = 2,
  kOpenWriter = 3,  // path; replies handle
  kWrite = 4,       // handle, bytes
  kCloseWriter = 5,
  kDiscardWriter = 6,
  kExists = 7,         // path; replies 0 or 1
  kListDirectory = 8,  // path; replies names, each with a zero byte after it
  kGlob = 9,           // pattern; replies URLs in the same form
  kRename = 10,        // path, other
  kCopy = 11,          // path, other
  kRemove = 12,        // path, which may be missing
  kMakeDirectories = 13,
  kRemoveEmptyDirectory = 14,
  kIdentity = 15,  // path; replies what differs between two contents
};

struct Request {
  Verb verb = Verb::kExists;
  std::string path, other, bytes;
  int64_t handle = 0, offset = 0, count = 0;
};

struct Reply {
  hr_code code = HR_OK;
  int64_t handle = 0, size = 0;
  std::string bytes;  // of an error: its text
};

// What the threads of Python do; capsule_module.cpp sets it.
struct Host {
  // Starts a thread that serves; takes the GIL. Returns why it cannot, or "".
  std::string (*start)() = nullptr;
  void* (*release_gil)() = nullptr;   // null: this thread does not hold it
  void (*take_gil)(void*) = nullptr;  // after release_gil
};
void set_host(const Host& host);

// A request in progress. Dropped before its reply came, it is served all the same.
struct Pending;
std::shared_ptr<Pending> begin(Request request);
// Waits for the reply; throws Failure for an error, and what WhileWaiting throws.
Reply finish(const std::shared_ptr<Pending>& pending);
inline Reply call(Request request) { return finish(begin(std::move(request))); }

// While it lives, requests of this thread call `poll` about every 20 ms while they wait; it throws
// to end the wait.
class WhileWaiting {
 public:
  template <class Poll>
  explicit WhileWaiting(const Poll& poll)
      : WhileWaiting([](const void* f) { (*static_cast<const Poll*>(f))(); }, &poll) {}
  ~WhileWaiting();
  WhileWaiting(const WhileWaiting&) = delete;

 private:
  using Function = void (*)(const void*);
  WhileWaiting(Function function, const void* argument);
  const Function function_before_;
  const void* const argument_before_;
};

// A file that is read by ranges.
class Reader {
 public:
  explicit Reader(const std::string& path);  // throws Failure
  Reader(const Reader&) = delete;
  ~Reader();
  int64_t size() const { return size_; }
  const std::string& identity() const { return identity_; }
  // Reads [offset, offset + n), large ranges in several requests at once. Throws Failure, also
  // where the file is shorter.
  void read(int64_t offset, size_t n, char* to) const;
  std::shared_ptr<Pending> begin_read(int64_t offset, int64_t n) const;

 private:
  const std::string path_;
  int64_t handle_ = 0, size_ = 0;
  std::string identity_;
};

// A file that is read in order: the next part is fetched while one is read.
class Source {
 public:
  explicit Source(const std::string& path) : reader_(path) {}
  size_t read(char* to, size_t n);
  int64_t size() const { return reader_.size(); }

 private:
  const Reader reader_;
  std::string part_;
  size_t at_ = 0;
  int64_t fetched_ = 0;
  std::shared_ptr<Pending> next_;

  void fetch();
};

// A file that appears when it is closed.
class Writer {
 public:
  explicit Writer(const std::string& path);
  Writer(const Writer&) = delete;
  ~Writer();  // drops what was not closed
  void write(const char* data, size_t n);
  void close();

 private:
  int64_t handle_ = 0;
  bool open_ = false;
  std::string part_;

  void flush();
};

std::vector<std::string> names_of(const Reply& reply);

// ---- for the threads that serve -----------------------------------------------------------------

struct Served {
  int64_t number = 0;
  const Request* request = nullptr;  // until finish_request
  // No thread is left to serve the next request: this one must start another, which is counted.
  bool needs_thread = false;
};
// Waits for a request. False: none came for a while, and this thread should end.
bool next_request(Served* served);
// False: nobody waits for the reply any more.
bool finish_request(int64_t number, Reply reply);

}  // namespace hr::remote

#endif
