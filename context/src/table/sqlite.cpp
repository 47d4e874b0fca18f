// SPDX-License-Identifier: Apache-2.0
#include "sqlite.hpp"

#include <fmt/format.h>

#include <chrono>
#include <system_error>
#include <thread>

#include "sqlite_library.hpp"
#include "yolk/internal/core/file.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/core/wait_notice.hpp"
#include "yolk/stop.hpp"

namespace yolk {
namespace {

constexpr std::chrono::seconds kBusyLimit{20};
constexpr std::chrono::milliseconds kBetweenTries{20};

/// Of an open database.
const SqliteLibrary& sqlite() noexcept { return SqliteLibrary::get(); }

Error sqlite_error(sqlite3* database, int code, std::string_view what) {
    const char* const path = database != nullptr ? sqlite().db_filename(database, "main") : nullptr;
    return io_error(fmt::format("The tuning table '{}' cannot {}: {}.{}", shown(path != nullptr ? path : ""), what,
                                database != nullptr ? sqlite().errmsg(database) : sqlite().errstr(code),
                                says_read_only(code)
                                    ? " Where its folder may only be read, nothing is tuned; name another place in "
                                      "$YOLK_TABLE."
                                    : ""),
                    code);
}

/// SQLite's way to name a file with options.
std::string unchanging_uri(const std::filesystem::path& path) {
    std::string uri = "file:";
    for (const char c : std::filesystem::absolute(path).string()) {
        const bool is_plain = c != '%' && c != '?' && c != '#' && static_cast<unsigned char>(c) > 0x20U;
        uri += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
    return uri + "?immutable=1";
}

}  // namespace

/// A wait for what another process has locked.
struct Database::Busy {
    std::filesystem::path path;
    std::chrono::steady_clock::time_point begun{};
    std::optional<WaitNotice> notice{};

    /// Whether to try again.
    static int again(void* context, int tries) {
        Busy& busy = *static_cast<Busy*>(context);
        if (tries == 0) {
            busy.begun = std::chrono::steady_clock::now();
            busy.notice.emplace(
                [&busy] {
                    return fmt::format("the tuning table '{}', which another process has locked,", shown(busy.path));
                },
                kBusyLimit);
        }
        const auto waited = std::chrono::steady_clock::now() - busy.begun;
        busy.notice->look(waited);
        if (waited >= kBusyLimit || stop_requested()) return 0;
        std::this_thread::sleep_for(kBetweenTries);
        return 1;
    }
};

bool says_damaged(int code) noexcept {
    const int primary = code & 0xFF;
    return primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB || primary == SQLITE_FORMAT;
}

bool says_read_only(int code) noexcept {
    const int primary = code & 0xFF;
    return primary == SQLITE_CANTOPEN || primary == SQLITE_READONLY;
}

void Statement::Finalize::operator()(sqlite3_stmt* statement) const noexcept { sqlite().finalize(statement); }
void Database::Close::operator()(sqlite3* database) const noexcept { sqlite().close_v2(database); }

Statement& Statement::bind(std::string_view text) noexcept {
    sqlite().bind_text64(statement_.get(), ++bound_, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
    return *this;
}
Statement& Statement::bind(std::int64_t number) noexcept {
    sqlite().bind_int64(statement_.get(), ++bound_, number);
    return *this;
}
Statement& Statement::bind(double number) noexcept {
    sqlite().bind_double(statement_.get(), ++bound_, number);
    return *this;
}
Statement& Statement::bind(const std::optional<double>& number) noexcept {
    if (number) return bind(*number);
    sqlite().bind_null(statement_.get(), ++bound_);
    return *this;
}

Result<bool> Statement::step() {
    const int code = sqlite().step(statement_.get());
    if (code == SQLITE_ROW) return true;
    if (code == SQLITE_DONE) return false;
    return sqlite_error(sqlite().db_handle(statement_.get()), code, "be read or written");
}

Result<void> Statement::run() {
    for (bool more = true; more;) {
        YOLK_TRY(more, step());
    }
    return {};
}

void Statement::reset() noexcept {
    sqlite().reset(statement_.get());
    bound_ = 0;
}

std::string Statement::text(int column) const {
    const unsigned char* const text = sqlite().column_text(statement_.get(), column);
    const auto size = static_cast<std::size_t>(sqlite().column_bytes(statement_.get(), column));
    return text == nullptr ? std::string() : std::string(reinterpret_cast<const char*>(text), size);
}
std::int64_t Statement::integer(int column) const noexcept { return sqlite().column_int64(statement_.get(), column); }
std::optional<double> Statement::real(int column) const noexcept {
    const int type = sqlite().column_type(statement_.get(), column);
    if (type != SQLITE_FLOAT && type != SQLITE_INTEGER) return std::nullopt;
    return sqlite().column_double(statement_.get(), column);
}

Result<Database> Database::open(const std::filesystem::path& path, OpenMode mode) {
    YOLK_TRY_VOID(check_regular_file(path));  // SQLite would block on a named pipe
    YOLK_TRY_VOID(SqliteLibrary::load());
    const int create = mode == OpenMode::Create ? SQLITE_OPEN_CREATE : 0;
    const bool unchanging = mode == OpenMode::Unchanging;
    const int access = unchanging ? SQLITE_OPEN_READONLY | SQLITE_OPEN_URI : SQLITE_OPEN_READWRITE | create;
    const std::string name = unchanging ? unchanging_uri(path) : path.string();
    sqlite3* raw = nullptr;
    const int code = sqlite().open_v2(name.c_str(), &raw, access | SQLITE_OPEN_NOMUTEX, nullptr);
    Database database;
    database.database_.reset(raw);
    if (code != SQLITE_OK) {
        const int cause = raw != nullptr ? sqlite().system_errno(raw) : 0;
        const std::string words = cause != 0 ? std::generic_category().message(cause) : sqlite().errstr(code);
        return io_error(fmt::format("The tuning table cannot be opened at '{}': {}. Name another place in $YOLK_TABLE.",
                                    shown(path), words),
                        code);
    }
    sqlite().extended_result_codes(raw, 1);
    database.busy_ = std::make_unique<Busy>(Busy{.path = path});
    sqlite().busy_handler(raw, &Busy::again, database.busy_.get());
    return database;
}

Result<Statement> Database::prepare(std::string_view sql) const {
    sqlite3_stmt* raw = nullptr;
    const int code = sqlite().prepare_v2(database_.get(), sql.data(), static_cast<int>(sql.size()), &raw, nullptr);
    Statement statement;
    statement.statement_.reset(raw);
    if (code != SQLITE_OK) return sqlite_error(database_.get(), code, "be read or written");
    return statement;
}

Result<void> Database::execute(const char* sql) const {
    const int code = sqlite().exec(database_.get(), sql, nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) return sqlite_error(database_.get(), code, "be read or written");
    return {};
}

Result<Transaction> Transaction::begin(const Database& database) {
    YOLK_TRY_VOID(database.execute("BEGIN IMMEDIATE"));
    return Transaction(database);
}
Transaction::~Transaction() {
    if (database_ != nullptr) static_cast<void>(database_->execute("ROLLBACK"));
}
Result<void> Transaction::commit() {
    const Database* const database = std::exchange(database_, nullptr);
    Result<void> committed = database->execute("COMMIT");
    if (!committed) static_cast<void>(database->execute("ROLLBACK"));
    return committed;
}

}  // namespace yolk
