// SPDX-License-Identifier: Apache-2.0
#include "sqlite_library.hpp"

#include <dlfcn.h>

namespace yolk {
namespace {

constexpr const char* kSqliteName = "libsqlite3.so.0";

Result<SqliteLibrary> open_sqlite() {
    void* const handle = ::dlopen(kSqliteName, RTLD_NOW | RTLD_LOCAL);  // stays open
    if (handle == nullptr) {
        const char* const reason = ::dlerror();  // NOLINT(concurrency-mt-unsafe): glibc's is of the thread
        return unsupported(
            "A tuning table is read and written by SQLite, whose library cannot be loaded: {}. Install it (Debian: "
            "libsqlite3-0).",
            reason != nullptr ? reason : kSqliteName);
    }
    SqliteLibrary library;
#define YOLK_SQLITE_LOAD(name)                                                                                      \
    library.name = reinterpret_cast<decltype(library.name)>(::dlsym(handle, "sqlite3_" #name));                     \
    if (library.name == nullptr) {                                                                                  \
        return unsupported("The library {} has no function sqlite3_{}. Install SQLite 3.12 or newer.", kSqliteName, \
                           #name);                                                                                  \
    }
    YOLK_SQLITE_FUNCTIONS(YOLK_SQLITE_LOAD)
#undef YOLK_SQLITE_LOAD
    return library;
}

const Result<SqliteLibrary>& opened_sqlite() {
    static const Result<SqliteLibrary> kLibrary = open_sqlite();
    return kLibrary;
}

}  // namespace

Result<void> SqliteLibrary::load() {
    if (!opened_sqlite()) return opened_sqlite().error();
    return {};
}

const SqliteLibrary& SqliteLibrary::get() noexcept { return *opened_sqlite(); }

}  // namespace yolk
