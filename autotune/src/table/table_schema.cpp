// SPDX-License-Identifier: Apache-2.0
#include "table_schema.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <utility>

#include "yolk/core/json.hpp"
#include "yolk/core/log.hpp"
#include "yolk/oracle/families.hpp"

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
  written INTEGER NOT NULL, reopened INTEGER NOT NULL DEFAULT 0);
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
    if (version < 1) return TableState::Damaged;
    const TableState readable = version < kTableVersion ? TableState::Older : TableState::Good;
    for (const char* table : kTables) {
        YOLK_TRY(Statement found, database.prepare("SELECT count(*) FROM sqlite_master WHERE type='table' AND name=?"));
        YOLK_TRY_VOID(found.bind(std::string_view(table)).step());
        if (found.integer(0) != 1) return TableState::Damaged;
    }
    if (!thorough) return readable;
    YOLK_TRY(Statement check, database.prepare("PRAGMA quick_check(1)"));
    YOLK_TRY(const bool row, check.step());
    return row && check.text(0) == "ok" ? readable : TableState::Damaged;
}

constexpr std::string_view kMagic("SQLite format 3\0", 16);
constexpr std::size_t kHeaderBytes = 100;
constexpr std::size_t kApplicationIdAt = 68;  // four bytes, the most significant first
constexpr std::size_t kSchemaBytes = std::size_t{1}
                                     << 16U;  // holds the first page, where SQLite keeps the tables' text

std::string first_bytes(const std::filesystem::path& path, std::size_t count) {
    std::string bytes(count, '\0');
    std::ifstream file(path, std::ios::binary);
    file.read(bytes.data(), static_cast<std::streamsize>(count));
    bytes.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
    return bytes;
}

/// For a database that SQLite cannot read.
bool was_ours(const std::filesystem::path& path) {
    const std::string bytes = first_bytes(path, kSchemaBytes);
    if (bytes.size() < kHeaderBytes || !bytes.starts_with(kMagic)) return false;
    std::uint32_t id = 0;
    for (std::size_t i = 0; i < 4; ++i) id = id << 8U | static_cast<std::uint8_t>(bytes[kApplicationIdAt + i]);
    const auto names = [&bytes](const char* table) {
        return bytes.find(fmt::format("CREATE TABLE {}(", table)) != std::string::npos;
    };
    return id == kApplicationId || std::ranges::all_of(kTables, names);
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

Error foreign_file(const std::filesystem::path& path, std::string_view what) {
    return bad_input(
        "'{}' is {}, not a tuning table of Yolk's; it is left as it is. Name another place in $YOLK_TABLE: a table of "
        "Yolk's, or a file that is not there yet.",
        path.string(), what);
}

Result<void> check_place(const std::filesystem::path& path) {
    std::error_code failed;
    const std::filesystem::file_status status = std::filesystem::status(path, failed);
    if (!std::filesystem::exists(status)) {
        const std::filesystem::path folder = path.parent_path();
        if (!folder.empty() && std::filesystem::exists(folder, failed) &&
            !std::filesystem::is_directory(folder, failed)) {
            return bad_input(
                "The tuning table '{}' cannot be there: '{}' is not a folder. Name a folder in $YOLK_CACHE, or another "
                "file in $YOLK_TABLE.",
                path.string(), folder.string());
        }
        return {};
    }
    if (std::filesystem::is_directory(status)) return foreign_file(path, "a folder");
    if (!std::filesystem::is_regular_file(status)) return foreign_file(path, "not a regular file");
    const std::string begin = first_bytes(path, kMagic.size());
    if (!begin.empty() && begin != kMagic) return foreign_file(path, "a file with other content");
    return {};
}

Result<TableState> examine_table(const Database& database, const std::filesystem::path& path, bool thorough) {
    Result<TableState> state = read_state(database, thorough);
    if (state) return state;
    // The statements are right, so a plain SQLITE_ERROR is the file's, too: a schema format that SQLite does not know.
    const int code = state.error().native;
    if (says_damaged(code) || (code & 0xFF) == SQLITE_ERROR)
        return was_ours(path) ? TableState::Damaged : TableState::Foreign;
    return state;
}

std::optional<std::vector<std::uint64_t>> parse_extents(const std::string& text) {
    return extents_of_json(Json::parse(text, nullptr, false));
}

std::optional<std::vector<std::uint64_t>> extents_of_json(const Json& json) {
    if (!json.is_array()) return std::nullopt;
    std::vector<std::uint64_t> extents;
    for (const Json& extent : json) {
        if (!extent.is_number_unsigned()) return std::nullopt;
        extents.push_back(extent.get<std::uint64_t>());
    }
    return extents;
}

namespace {

/// Version 2 has other samples and a column more. What the notice says.
Result<std::string> drop_cold_samples(const Database& database) {
    YOLK_TRY_VOID(database.execute("DELETE FROM samples WHERE milliseconds IS NOT NULL"));
    const std::int64_t samples = database.changed_rows();
    YOLK_TRY_VOID(database.execute("ALTER TABLE choices ADD COLUMN reopened INTEGER NOT NULL DEFAULT 0"));
    YOLK_TRY_VOID(database.execute("UPDATE choices SET reopened=1 WHERE pinned=0"));
    return fmt::format(
        "by a Yolk that timed a kernel's first run, with the driver's compilation in it: {} samples are dropped. {} "
        "choices stay in use until yolk tune has measured their shapes again; pinned ones stay as they are.",
        samples, database.changed_rows());
}

/// Versions 3 and 4 write shapes in other words. What the notice says; empty where nothing is lost.
Result<std::string> drop_unreadable_shapes(const Database& database) {
    YOLK_TRY(Statement rows, database.prepare("SELECT id, family, variant, extents FROM keys"));
    const auto lost_id = [](const Statement& row) -> std::optional<std::int64_t> {
        const oracle::Family* family = oracle::find_family(row.text(1));
        if (family == nullptr || family->operation == nullptr) return std::nullopt;
        const auto extents = parse_extents(row.text(3));
        if (extents && family->operation->of_key({.variant = row.text(2), .extents = *extents})) return std::nullopt;
        return row.integer(0);
    };
    YOLK_TRY(const std::vector<std::int64_t> lost, rows.all(lost_id));
    std::int64_t choices = 0;
    for (const std::int64_t id : lost) {
        for (const char* table : {"samples", "quarantine", "choices"}) {
            YOLK_TRY_VOID(database.execute(fmt::format("DELETE FROM {} WHERE key={}", table, id).c_str()));
        }
        choices += database.changed_rows();
        YOLK_TRY_VOID(database.execute(fmt::format("DELETE FROM keys WHERE id={}", id).c_str()));
    }
    if (lost.empty()) return std::string();
    return fmt::format(
        "by a Yolk that wrote shapes in other words: {} of them, with {} choices, are dropped. Run yolk tune to "
        "measure them again.",
        lost.size(), choices);
}

}  // namespace

Result<void> upgrade_table(const Database& database, const std::filesystem::path& path) {
    YOLK_TRY(Transaction transaction, Transaction::begin(database));
    YOLK_TRY(const std::int64_t version, number_of(database, "PRAGMA user_version"));
    if (version >= kTableVersion) return {};  // another process was first
    std::vector<std::string> notices;
    if (version < 2) {
        YOLK_TRY(std::string notice, drop_cold_samples(database));
        notices.push_back(std::move(notice));
    }
    YOLK_TRY(std::string notice, drop_unreadable_shapes(database));
    if (!notice.empty()) notices.push_back(std::move(notice));
    YOLK_TRY_VOID(database.execute(fmt::format("PRAGMA user_version={}", kTableVersion).c_str()));
    YOLK_TRY_VOID(transaction.commit());
    for (const std::string& each : notices)
        log_info(fmt::format("The tuning table '{}' was written {}", path.string(), each));
    return {};
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
        YOLK_TRY(const TableState state, examine_table(database, path, thorough));
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
