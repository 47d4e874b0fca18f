// SPDX-License-Identifier: Apache-2.0
#include "table_schema.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "yolk/internal/core/descriptor.hpp"
#include "yolk/internal/core/file.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/core/text_file.hpp"
#include "yolk/json.hpp"
#include "yolk/log.hpp"

namespace yolk {
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

Result<bool> has_table(const Database& database, std::string_view table) {
    YOLK_TRY(Statement found, database.prepare("SELECT count(*) FROM sqlite_master WHERE type='table' AND name=?"));
    YOLK_TRY_VOID(found.bind(table).step());
    return found.integer(0) == 1;
}

Result<TableState> read_state(const Database& database, bool thorough) {
    YOLK_TRY(const std::int64_t objects, number_of(database, "SELECT count(*) FROM sqlite_master"));
    YOLK_TRY(const std::int64_t application, number_of(database, "PRAGMA application_id"));
    YOLK_TRY(const std::int64_t version, number_of(database, "PRAGMA user_version"));
    if (objects == 0 && application == 0) return TableState::Empty;
    if (application != kApplicationId) return TableState::Foreign;
    if (version < 1) return TableState::Damaged;
    if (version != kTableVersion) return TableState::OtherVersion;
    for (const char* table : kTables) {
        YOLK_TRY(const bool there, has_table(database, table));
        if (!there) return TableState::Damaged;
    }
    if (!thorough) return TableState::Good;
    YOLK_TRY(Statement check, database.prepare("PRAGMA quick_check(1)"));
    YOLK_TRY(const bool row, check.step());
    return row && check.text(0) == "ok" ? TableState::Good : TableState::Damaged;
}

constexpr std::string_view kMagic("SQLite format 3\0", 16);
constexpr std::size_t kHeaderBytes = 100;
constexpr std::size_t kApplicationIdAt = 68;  // four bytes, the most significant first
constexpr std::size_t kSchemaBytes = std::size_t{1}
                                     << 16U;  // holds the first page, where SQLite keeps the tables' text

/// For a database that SQLite cannot read.
bool was_ours(const std::filesystem::path& path) {
    const std::string bytes = read_beginning(path, kSchemaBytes).value_or(std::string());
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
    explicit FileLock(const std::filesystem::path& path) {
        if (Result<Descriptor> file = open_regular_file(path, O_RDWR | O_CREAT, 0600); file) {
            file_ = std::move(file).value();
            ::flock(file_.get(), LOCK_EX);
        }
    }

   private:
    Descriptor file_;
};

std::filesystem::path free_name(const std::filesystem::path& path, const char* word) {
    for (int number = 1;; ++number) {
        std::filesystem::path name = path_beside(path, fmt::format(".{}-{}", word, number));
        std::error_code ignored;
        if (!std::filesystem::exists(name, ignored)) return name;
    }
}

}  // namespace

Error foreign_file(const std::filesystem::path& path, std::string_view what) {
    return bad_input(
        "'{}' is {}, not a tuning table of Yolk's; it is left as it is. Name another place in $YOLK_TABLE: a table of "
        "Yolk's, or a file that is not there yet.",
        shown(path), what);
}

Error other_version(const Database& database, const std::filesystem::path& path) {
    return bad_input(
        "'{}' is a tuning table of version {}, and this Yolk reads and writes version {}; it is left as it is. Move it "
        "away and tune again, or name another place in $YOLK_TABLE.",
        shown(path), number_of(database, "PRAGMA user_version").value_or(0), kTableVersion);
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
                shown(path), shown(folder));
        }
        return {};
    }
    if (std::filesystem::is_directory(status)) return foreign_file(path, "a folder");
    if (!std::filesystem::is_regular_file(status)) return foreign_file(path, "not a regular file");
    const std::string begin = read_beginning(path, kMagic.size()).value_or(std::string());
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
    return extents_of_json(parse_json(text, "a row").value_or(nullptr));
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

Result<void> make_schema(const Database& database) {
    YOLK_TRY(Transaction transaction, Transaction::begin(database));
    YOLK_TRY_VOID(database.execute(kSchema));
    YOLK_TRY_VOID(database.execute(fmt::format("PRAGMA application_id={}", kApplicationId).c_str()));
    YOLK_TRY_VOID(database.execute(fmt::format("PRAGMA user_version={}", kTableVersion).c_str()));
    return transaction.commit();
}

Result<void> set_aside(const std::filesystem::path& path, bool thorough) {
    const FileLock lock(path_beside(path, ".lock"));
    {
        YOLK_TRY(const Database database, Database::open(path, OpenMode::Existing));
        YOLK_TRY(const TableState state, examine_table(database, path, thorough));
        if (state != TableState::Damaged) return {};  // another process was first
    }
    const std::filesystem::path aside = free_name(path, "damaged");
    std::error_code failed;
    std::filesystem::rename(path, aside, failed);
    if (failed) {
        return io_error(fmt::format("The tuning table '{}' is damaged and cannot be renamed to '{}': {}.", shown(path),
                                    shown(aside), failed.message()),
                        failed.value());
    }
    for (const char* log_of : {"-wal", "-shm"}) {
        std::filesystem::path from = path;
        std::filesystem::path to = aside;
        std::filesystem::rename(from += log_of, to += log_of, failed);  // there need not be any
    }
    log_warning(fmt::format("The tuning table '{}' is damaged; it was renamed to '{}', and a new one begins.",
                            shown(path), shown(aside.filename())));
    return {};
}

}  // namespace yolk
