// SPDX-License-Identifier: Apache-2.0
#include "table_schema.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "yolk/core/log.hpp"

namespace yolk::autotune {
namespace {

constexpr std::int64_t kApplicationId = 0x596F6C6B;  // "Yolk"
constexpr std::array kTables{"keys", "choices", "samples", "quarantine"};

constexpr const char* kSchema = R"(
CREATE TABLE IF NOT EXISTS keys(
  id INTEGER PRIMARY KEY, device TEXT NOT NULL, driver TEXT NOT NULL, family TEXT NOT NULL, kernels TEXT NOT NULL,
  variant TEXT NOT NULL, extents TEXT NOT NULL,
  UNIQUE(device, driver, family, kernels, variant, extents));
CREATE TABLE IF NOT EXISTS choices(
  key INTEGER PRIMARY KEY, configuration TEXT NOT NULL, milliseconds REAL NOT NULL, heuristic REAL NOT NULL,
  plain REAL NOT NULL, spread REAL NOT NULL, evaluations INTEGER NOT NULL, pinned INTEGER NOT NULL,
  written INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS samples(
  id INTEGER PRIMARY KEY, key INTEGER NOT NULL, configuration TEXT NOT NULL, milliseconds REAL, reason TEXT NOT NULL,
  stage TEXT NOT NULL, written INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS samples_by_key ON samples(key);
CREATE TABLE IF NOT EXISTS quarantine(
  key INTEGER NOT NULL, configuration TEXT NOT NULL, reason TEXT NOT NULL, written INTEGER NOT NULL,
  PRIMARY KEY(key, configuration));
)";

Result<std::int64_t> number_of(const Database& database, const char* sql) {
    YOLK_TRY(Statement statement, database.prepare(sql));
    YOLK_TRY(const bool row, statement.step());
    return row ? statement.integer(0) : 0;
}

Result<TableState> read_state(const Database& database, bool thorough) {
    YOLK_TRY(const std::int64_t objects, number_of(database, "SELECT count(*) FROM sqlite_master"));
    YOLK_TRY(const std::int64_t application, number_of(database, "PRAGMA application_id"));
    YOLK_TRY(const std::int64_t version, number_of(database, "PRAGMA user_version"));
    if (objects == 0 && application == 0) return TableState::Empty;
    if (application != kApplicationId) return TableState::Foreign;
    if (version > kTableVersion) return TableState::Newer;
    if (version < kTableVersion) return TableState::Damaged;
    for (const char* table : kTables) {
        YOLK_TRY(Statement found, database.prepare("SELECT count(*) FROM sqlite_master WHERE type='table' AND name=?"));
        YOLK_TRY_VOID(found.bind(std::string_view(table)).step());
        if (found.integer(0) != 1) return TableState::Damaged;
    }
    if (!thorough) return TableState::Good;
    YOLK_TRY(Statement check, database.prepare("PRAGMA quick_check(1)"));
    YOLK_TRY(const bool row, check.step());
    return row && check.text(0) == "ok" ? TableState::Good : TableState::Damaged;
}

/// Held while a file is set aside; ends with the process, too.
class FileLock {
   public:
    explicit FileLock(const std::filesystem::path& path)
        : file_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
        if (file_ >= 0) ::flock(file_, LOCK_EX);
    }
    ~FileLock() {
        if (file_ >= 0) ::close(file_);
    }
    FileLock(const FileLock&) = delete;
    FileLock& operator=(const FileLock&) = delete;

   private:
    int file_;
};

std::filesystem::path free_name(const std::filesystem::path& path, const char* word) {
    for (int number = 1;; ++number) {
        std::filesystem::path name = path;
        name += fmt::format(".{}-{}", word, number);
        std::error_code ignored;
        if (!std::filesystem::exists(name, ignored)) return name;
    }
}

}  // namespace

Result<TableState> examine_table(const Database& database, bool thorough) {
    Result<TableState> state = read_state(database, thorough);
    if (state) return state;
    // The statements are right, so a plain SQLITE_ERROR is the file's, too: a schema format that SQLite does not know.
    const int code = state.error().native;
    if (says_damaged(code) || (code & 0xFF) == SQLITE_ERROR) return TableState::Damaged;
    return state;
}

Result<void> make_schema(const Database& database) {
    YOLK_TRY(Transaction transaction, Transaction::begin(database));
    YOLK_TRY_VOID(database.execute(kSchema));
    YOLK_TRY_VOID(database.execute(fmt::format("PRAGMA application_id={}", kApplicationId).c_str()));
    YOLK_TRY_VOID(database.execute(fmt::format("PRAGMA user_version={}", kTableVersion).c_str()));
    return transaction.commit();
}

Result<void> set_aside(const std::filesystem::path& path, bool thorough) {
    std::filesystem::path lock_path = path;
    lock_path += ".lock";
    const FileLock lock(lock_path);
    const char* word = nullptr;
    {
        YOLK_TRY(const Database database, Database::open(path, OpenMode::Existing));
        YOLK_TRY(const TableState state, examine_table(database, thorough));
        if (state == TableState::Damaged) word = "damaged";
        if (state == TableState::Newer) word = "newer";
    }
    if (word == nullptr) return {};  // another process was first
    const std::filesystem::path aside = free_name(path, word);
    std::error_code failed;
    std::filesystem::rename(path, aside, failed);
    if (failed) {
        return io_error(fmt::format("The tuning table '{}' is {} and cannot be renamed to '{}': {}.", path.string(),
                                    word, aside.string(), failed.message()),
                        failed.value());
    }
    for (const char* log_of : {"-wal", "-shm"}) {
        std::filesystem::path from = path;
        std::filesystem::path to = aside;
        std::filesystem::rename(from += log_of, to += log_of, failed);  // there need not be any
    }
    log_warning(fmt::format("The tuning table '{}' is {}{}; it was renamed to '{}', and a new one begins.",
                            path.string(), word, word[0] == 'n' ? " than this Yolk knows" : "",
                            aside.filename().string()));
    return {};
}

}  // namespace yolk::autotune
