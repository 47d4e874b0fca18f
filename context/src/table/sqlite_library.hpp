// SPDX-License-Identifier: Apache-2.0
// SQLite's functions, from the library that is loaded when a tuning table is opened for the first time: a program that
// has no table needs no SQLite.
#pragma once

#include <sqlite3.h>

#include "yolk/result.hpp"

// Members are named as SQLite names its functions, without "sqlite3_".
#define YOLK_SQLITE_FUNCTIONS(use)                                                                                     \
    use(bind_double) use(bind_int64) use(bind_null) use(bind_text64) use(busy_handler) use(close_v2) use(column_bytes) \
        use(column_double) use(column_int64) use(column_text) use(column_type) use(db_filename) use(db_handle)         \
            use(errmsg) use(errstr) use(exec) use(extended_result_codes) use(finalize) use(open_v2) use(prepare_v2)    \
                use(reset) use(step) use(system_errno)

namespace yolk {

struct SqliteLibrary {
#define YOLK_SQLITE_MEMBER(name) decltype(&sqlite3_##name) name = nullptr;
    YOLK_SQLITE_FUNCTIONS(YOLK_SQLITE_MEMBER)
#undef YOLK_SQLITE_MEMBER

    /// Loaded once, for as long as the process runs. Any thread. Error (Unsupported): there is no such library, or an
    /// older one.
    [[nodiscard]] static Result<void> load();
    /// After load() has succeeded.
    [[nodiscard]] static const SqliteLibrary& get() noexcept;
};

}  // namespace yolk
