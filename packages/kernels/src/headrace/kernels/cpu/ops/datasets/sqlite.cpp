// The functions of SQLite's C interface that a query needs.
#include "ops/datasets/sqlite.hpp"

#include <dlfcn.h>

#include "loops/elements.hpp"

namespace hr::data {
namespace {

struct Library {
  int (*open_v2)(const char*, void**, int, const char*) = nullptr;
  int (*close_v2)(void*) = nullptr;
  int (*prepare_v2)(void*, const char*, int, void**, const char**) = nullptr;
  int (*step)(void*) = nullptr;
  int (*finalize)(void*) = nullptr;
  int (*column_count)(void*) = nullptr;
  long long (*column_int64)(void*, int) = nullptr;
  double (*column_double)(void*, int) = nullptr;
  const void* (*column_blob)(void*, int) = nullptr;
  int (*column_bytes)(void*, int) = nullptr;
  const char* (*errmsg)(void*) = nullptr;
  bool complete = false;

  Library() {
    void* found = nullptr;
    for (const char* name : {"libsqlite3.so.0", "libsqlite3.so", "libsqlite3.dylib"})
      if ((found = dlopen(name, RTLD_NOW | RTLD_LOCAL))) break;
    if (!found) return;
    complete = bind(found, "sqlite3_open_v2", &open_v2) &&
               bind(found, "sqlite3_close_v2", &close_v2) &&
               bind(found, "sqlite3_prepare_v2", &prepare_v2) &&
               bind(found, "sqlite3_step", &step) && bind(found, "sqlite3_finalize", &finalize) &&
               bind(found, "sqlite3_column_count", &column_count) &&
               bind(found, "sqlite3_column_int64", &column_int64) &&
               bind(found, "sqlite3_column_double", &column_double) &&
               bind(found, "sqlite3_column_blob", &column_blob) &&
               bind(found, "sqlite3_column_bytes", &column_bytes) &&
               bind(found, "sqlite3_errmsg", &errmsg);
  }
  template <class F> static bool bind(void* library, const char* name, F* function) {
    *function = reinterpret_cast<F>(dlsym(library, name));
    return *function != nullptr;
  }
};

const Library& library() {
  static const Library loaded;
  if (!loaded.complete)
    throw Failure{HR_UNAVAILABLE,
                  "SqlDataset needs SQLite's library, libsqlite3.so.0: install SQLite"};
  return loaded;
}

constexpr int kReadOnly = 1, kRow = 100, kDone = 101;

}  // namespace

SqliteQuery::SqliteQuery(const std::string& file, const std::string& query) {
  const Library& sqlite = library();
  int code = sqlite.open_v2(file.c_str(), &database_, kReadOnly, nullptr);
  const bool opened = code == 0;
  if (opened)
    code = sqlite.prepare_v2(database_, query.data(), int(query.size()), &statement_, nullptr);
  if (code == 0 && statement_) return;
  const std::string error =
      "[" + std::to_string(code) + "] " + (database_ ? sqlite.errmsg(database_) : "no memory");
  sqlite.finalize(statement_);
  sqlite.close_v2(database_);
  if (!opened) throw Failure{HR_NOT_FOUND, "Sqlite::Open(" + file + ") failed: " + error};
  throw Failure{HR_UNKNOWN, "Prepare() failed: " + error + ": " + query};
}

SqliteQuery::~SqliteQuery() {
  library().finalize(statement_);
  library().close_v2(database_);
}

int SqliteQuery::columns() const { return library().column_count(statement_); }

bool SqliteQuery::next() {
  switch (library().step(statement_)) {
    case kRow: return true;
    case kDone: return false;
    default: throw Failure{HR_UNKNOWN, library().errmsg(database_)};
  }
}

Tensor SqliteQuery::value(hr_ctx* ctx, int column, hr_dtype dtype) const {
  const Library& sqlite = library();
  if (dtype == HR_STRING) {
    const void* text = sqlite.column_blob(statement_, column);
    const int bytes = sqlite.column_bytes(statement_, column);
    return text_tensor(ctx, {static_cast<const char*>(text), text ? size_t(bytes) : 0});
  }
  Tensor made = new_tensor(ctx, dtype, {});
  if (dtype == HR_DOUBLE) {
    *write<double>(made.get()) = sqlite.column_double(statement_, column);
    return made;
  }
  const long long number = sqlite.column_int64(statement_, column);
  switch (dtype) {
    case HR_BOOL: *write<bool>(made.get()) = number != 0; break;
    case HR_INT8: *write<int8_t>(made.get()) = int8_t(number); break;
    case HR_INT16: *write<int16_t>(made.get()) = int16_t(number); break;
    case HR_INT32: *write<int32_t>(made.get()) = int32_t(number); break;
    case HR_UINT8: *write<uint8_t>(made.get()) = uint8_t(number); break;
    case HR_UINT16: *write<uint16_t>(made.get()) = uint16_t(number); break;
    default: *write<int64_t>(made.get()) = int64_t(number);
  }
  return made;
}

}  // namespace hr::data
