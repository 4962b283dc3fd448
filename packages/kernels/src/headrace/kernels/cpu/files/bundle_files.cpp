// Names the files of a checkpoint bundle, renames temporary files into place together, and merges
// two bundles.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <set>

#include "files/bundle_reader.hpp"
#include "files/bundle_writer.hpp"
#include "files/protobuf_writer.hpp"
#include "files/sorted_table.hpp"

namespace hr::bundle {
namespace {

constexpr int64_t kVersion = 1;
constexpr double kStaleAfterSeconds = 600;

std::string host() {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return name;
}

std::string numbered(const char* format, int64_t number) {
  char text[64];
  std::snprintf(text, sizeof text, format, (long long)number);
  return text;
}

size_t digits_at(const std::string& text, size_t at) {
  size_t end = at;
  while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
  return end - at;
}

// The process that a temporary name of this host speaks of; -1 if the name is another.
int64_t writer_of(const std::string& name, const std::string& mark) {
  const size_t found = name.rfind(mark);
  if (found == name.npos) return -1;
  size_t at = found + mark.size();
  const size_t pid = digits_at(name, at);
  if (!pid || pid > 9 || name[at + pid] != '-') return -1;
  const int64_t process = std::stoll(name.substr(at, pid));
  at += pid + 1;
  const size_t number = digits_at(name, at);
  if (!number) return -1;
  const std::string end = name.substr(at + number);
  const bool data =
      end.rfind(".data-", 0) == 0 && end.size() > 6 && digits_at(end, 6) == end.size() - 6;
  return end == ".index" || data ? process : -1;
}

// Removes what writers of this host left that were killed a while ago.
void remove_stale_temporaries(const std::string& folder) {
  const std::string mark = ".tmp-" + host() + "-";
  for (const std::string& name : disk::names_in(folder)) {
    const int64_t process = writer_of(name, mark);
    if (process < 0 || ::kill(pid_t(process), 0) == 0 || errno == EPERM) continue;
    const std::string path = folder + "/" + name;
    struct stat status;
    if (::stat(path.c_str(), &status) == 0 &&
        std::difftime(std::time(nullptr), status.st_mtime) > kStaleAfterSeconds)
      ::unlink(path.c_str());
  }
}

// After a failure, which is the one to report.
void remove_quietly(const std::string& path) noexcept {
  try {
    disk::remove(path);
  } catch (...) {}
}

// All files that belong to a prefix.
std::vector<std::string> files_of(const std::string& prefix) {
  std::vector<std::string> files;
  if (disk::exists(index_path(prefix))) files.push_back(index_path(prefix));
  const size_t slash = prefix.rfind('/');
  const std::string folder = slash == prefix.npos ? "" : prefix.substr(0, slash + 1);
  const std::string stem = prefix.substr(folder.size()) + ".data-";
  for (const std::string& name : disk::names_in(disk::folder_of(prefix))) {
    if (name.rfind(stem, 0) != 0) continue;
    const size_t shard = digits_at(name, stem.size()), of = stem.size() + shard;
    if (shard >= 5 && name.compare(of, 4, "-of-") == 0 && digits_at(name, of + 4) >= 5 &&
        of + 4 + digits_at(name, of + 4) == name.size())
      files.push_back(folder + name);
  }
  return files;
}

}  // namespace

int64_t shard_count(const std::string& prefix, int64_t requested) {
  if (!disk::exists(index_path(prefix))) return requested;
  try {
    return Reader(prefix).shards() == requested ? requested + 1 : requested;
  } catch (const Failure&) {
    return requested;  // corrupted already
  }
}

std::string index_path(const std::string& prefix) { return prefix + ".index"; }

std::string shard_path(const std::string& prefix, int64_t shard, int64_t shards) {
  return prefix + numbered(".data-%05lld", shard) + numbered("-of-%05lld", shards);
}

std::string temporary_name(const std::string& prefix) {
  // Writers in Python count from zero.
  static std::atomic<int64_t> next{1000000000};
  const std::string folder = disk::folder_of(prefix);
  disk::make_folders(folder);
  if (!remote::is_remote(folder)) remove_stale_temporaries(folder);
  return prefix + ".tmp-" + host() + numbered("-%lld", ::getpid()) + numbered("-%lld", next++);
}

void publish(const std::string& prefix, const std::string& temporary,
             std::vector<std::string> shards, const Entries& entries) {
  // What a bundle's files are called depends on the bundle that they replace: writers take turns.
  const disk::FolderLock turn(disk::folder_of(prefix));
  const std::vector<std::string> older = files_of(prefix);
  const int64_t count = shard_count(prefix, int64_t(shards.size()));
  const bool is_remote = remote::is_remote(prefix);
  for (int64_t i = int64_t(shards.size()); i < count; ++i) {  // none of the tensors is in these
    shards.push_back(is_remote ? shard_path(prefix, i, count)
                               : temporary + numbered(".data-%05lld", i));
    disk::Output(shards.back()).close(false);
  }
  TableWriter table;
  table.add("", protobuf::Message()
                    .number(1, uint64_t(count))
                    .always(3, protobuf::Message().number(1, kVersion))
                    .bytes());
  for (const auto& [key, entry] : entries) table.add(key, entry.encoded());
  // By URL the upload replaces an index at once, and a renamed one would be copied.
  const std::string written = is_remote ? index_path(prefix) : temporary + ".index";
  const auto write_index = [&] {
    disk::Output index(written);
    index.write(table.finish());
    index.close(true);
  };
  if (!is_remote) write_index();
  std::set<std::string> kept{index_path(prefix)};
  for (int64_t i = 0; i < count; ++i) kept.insert(shard_path(prefix, i, count));
  try {
    for (int64_t i = 0; i < count; ++i)
      if (const std::string name = shard_path(prefix, i, count); name != shards[size_t(i)])
        disk::rename(shards[size_t(i)], name);
    disk::sync_folder(disk::folder_of(prefix));
    if (is_remote) write_index();
    else disk::rename(written, index_path(prefix));
  } catch (...) {  // nothing is left but the older bundle, which has none of the shards' names
    kept.erase(index_path(prefix));
    for (const std::string& path : older)
      if (!is_remote) kept.erase(path);  // by URL the shards are among them
    for (const std::string& path : kept) remove_quietly(path);
    throw;
  }
  disk::sync_folder(disk::folder_of(prefix));
  for (const std::string& path : older)
    if (!kept.count(path)) disk::remove(path);
}

// ---- several bundles as one ---------------------------------------------------------------------

namespace {

std::unique_ptr<Reader> opened_part(const std::string& prefix) {
  try {
    return std::make_unique<Reader>(prefix);
  } catch (const Failure& failure) {
    if (failure.code != HR_NOT_FOUND) throw;
    throw Failure{HR_NOT_FOUND,
                  failure.text +
                      "; the tasks of a sharded save write to one folder, which all of "
                      "them must share, or to an object store"};
  }
}

void merge_entry(Entries* entries, const std::string& key, Entry entry, const std::string& prefix) {
  auto [there, fresh] = entries->try_emplace(key, entry);
  if (fresh) return;
  if (there->second.slices.empty() || entry.slices.empty())
    throw Failure{HR_ALREADY_EXISTS,
                  prefix + ": '" + key + "' is also in another of the merged bundles"};
  if (there->second.dtype != entry.dtype || there->second.dims != entry.dims)
    throw Failure{HR_INVALID_ARGUMENT,
                  prefix + ": slices of '" + key + "' disagree about its shape or dtype"};
  for (std::string& slice : entry.slices) there->second.slices.push_back(std::move(slice));
}

}  // namespace

void merge(const std::vector<std::string>& prefixes, const std::string& merged, bool delete_old) {
  const bool is_remote = remote::is_remote(merged);
  const std::string temporary = temporary_name(merged);
  Entries entries;
  std::vector<std::string> origins, shards;
  for (const std::string& prefix : prefixes) {
    const auto reader = opened_part(prefix);
    for (auto& [key, entry] : reader->entries()) {
      entry.shard += int64_t(origins.size());
      merge_entry(&entries, key, std::move(entry), prefix);
    }
    for (int64_t i = 0; i < reader->shards(); ++i)
      origins.push_back(shard_path(prefix, i, reader->shards()));
  }
  const int64_t count = is_remote ? shard_count(merged, int64_t(origins.size())) : 0;
  try {
    for (const std::string& origin : origins) {
      const auto i = int64_t(shards.size());
      shards.push_back(is_remote ? shard_path(merged, i, count)
                                 : temporary + numbered(".data-%05lld", i));
      disk::link_or_copy(origin, shards.back());
    }
    publish(merged, temporary, shards, entries);
  } catch (...) {
    for (const std::string& path : shards) remove_quietly(path);
    if (!is_remote) {
      remove_quietly(temporary + numbered(".data-%05lld", int64_t(shards.size())));
      remove_quietly(temporary + ".index");
    }
    throw;
  }
  if (!delete_old) return;
  // Only now, so that a kill before this point loses nothing.
  for (const std::string& prefix : prefixes)
    if (prefix != merged) disk::remove(index_path(prefix));
  for (const std::string& origin : origins)
    if (origin.rfind(merged + ".data-", 0) != 0) disk::remove(origin);
  for (const std::string& prefix : prefixes) disk::remove_folder_if_empty(disk::folder_of(prefix));
}

}  // namespace hr::bundle
