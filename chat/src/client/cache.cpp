// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/chat/cache.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include "yolk/internal/core/file.hpp"
#include "yolk/internal/core/hash.hpp"

namespace yolk::chat {
namespace cache_owners {
struct CloseDatabase {
    void operator()(sqlite3* database) const noexcept { sqlite3_close_v2(database); }
};
struct FinalizeStatement {
    void operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }
};
using StatementOwner = std::unique_ptr<sqlite3_stmt, FinalizeStatement>;
}  // namespace cache_owners
using cache_owners::CloseDatabase;
using cache_owners::StatementOwner;
namespace {

constexpr int kBusyMilliseconds = 20000;
constexpr int kFormat = 1;

std::string hash_of(std::string_view identity) { return Hasher().add(std::as_bytes(std::span(identity))).hex(); }

void bind_text(sqlite3_stmt* statement, int index, std::string_view text) noexcept {
    sqlite3_bind_text64(statement, index, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8);
}

std::string text_of(sqlite3_stmt* statement, int column) {
    const auto* const text = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
    return text == nullptr ? std::string()
                           : std::string(text, static_cast<std::size_t>(sqlite3_column_bytes(statement, column)));
}

}  // namespace

struct AnswerCache::File {
    std::string path;
    std::unique_ptr<sqlite3, CloseDatabase> database;
    StatementOwner find, store;

    [[nodiscard]] Error error(int code) const {
        const int primary = code & 0xFF;
        const bool damaged = primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB || primary == SQLITE_FORMAT;
        return io_error(fmt::format("The cache of answers '{}' cannot be used: {}.{}", path,
                                    database ? sqlite3_errmsg(database.get()) : sqlite3_errstr(code),
                                    damaged ? " It was left as it is; move it away, or name another file." : ""),
                        code);
    }
    [[nodiscard]] Result<void> execute(const char* sql) const {
        const int code = sqlite3_exec(database.get(), sql, nullptr, nullptr, nullptr);
        if (code != SQLITE_OK) return error(code);
        return {};
    }
    [[nodiscard]] Result<StatementOwner> prepare(const char* sql) const {
        sqlite3_stmt* raw = nullptr;
        const int code = sqlite3_prepare_v2(database.get(), sql, -1, &raw, nullptr);
        StatementOwner statement(raw);
        if (code != SQLITE_OK) return error(code);
        return statement;
    }
    [[nodiscard]] Result<int> format() const {
        YOLK_TRY(const StatementOwner asked, prepare("PRAGMA user_version"));
        const int code = sqlite3_step(asked.get());
        if (code != SQLITE_ROW) return error(code);
        return sqlite3_column_int(asked.get(), 0);
    }
};

AnswerCache::AnswerCache(std::unique_ptr<File> file) : file_(std::move(file)) {}
AnswerCache::~AnswerCache() = default;
AnswerCache::AnswerCache(AnswerCache&& other) noexcept = default;
AnswerCache& AnswerCache::operator=(AnswerCache&& other) noexcept = default;

Result<AnswerCache> AnswerCache::open(const std::filesystem::path& path) {
    YOLK_TRY_VOID(check_regular_file(path));  // SQLite would block on a named pipe
    auto file = std::make_unique<File>();
    file->path = path.string();
    sqlite3* raw = nullptr;
    const int code =
        sqlite3_open_v2(path.c_str(), &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
    file->database.reset(raw);
    if (code != SQLITE_OK) return file->error(code);
    sqlite3_busy_timeout(raw, kBusyMilliseconds);
    YOLK_TRY(const int found, file->format());
    if (found != 0 && found != kFormat)
        return bad_input("The cache of answers '{}' has format {}; this program reads format {}. Name another file.",
                         file->path, found, kFormat);
    // A log beside the file: readers and a writer do not wait for each other, and an answer costs no flush. After a
    // power failure the last answers may be missing; the file is whole. SQLite does not wait here, whatever the busy
    // timeout says; where it is busy, another process is about to ask for the same log, or the file goes without.
    static_cast<void>(sqlite3_exec(raw, "PRAGMA journal_mode=WAL", nullptr, nullptr, nullptr));
    YOLK_TRY_VOID(file->execute("PRAGMA synchronous=NORMAL"));
    if (found != kFormat) {
        // The lock is taken before anything is read: a reader that turns into a writer is refused without waiting.
        YOLK_TRY_VOID(file->execute(
            "BEGIN IMMEDIATE; CREATE TABLE IF NOT EXISTS answers(hash TEXT PRIMARY KEY, identity TEXT NOT NULL, "
            "content "
            "TEXT NOT NULL, finish_reason TEXT NOT NULL, prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT "
            "NULL) WITHOUT ROWID; PRAGMA user_version=1; COMMIT"));
    }
    YOLK_TRY(file->find, file->prepare("SELECT identity, content, finish_reason, prompt_tokens, completion_tokens FROM "
                                       "answers WHERE hash = ?1"));
    YOLK_TRY(file->store, file->prepare("INSERT OR REPLACE INTO answers VALUES(?1, ?2, ?3, ?4, ?5, ?6)"));
    return AnswerCache(std::move(file));
}

Result<std::optional<Answer>> AnswerCache::find(std::string_view identity) {
    sqlite3_stmt* const statement = file_->find.get();
    const std::string hash = hash_of(identity);
    bind_text(statement, 1, hash);
    const int code = sqlite3_step(statement);
    std::optional<Answer> answer;
    if (code == SQLITE_ROW && text_of(statement, 0) == identity) {
        const auto count = [&](int column) {
            return static_cast<std::uint64_t>(sqlite3_column_int64(statement, column));
        };
        answer = Answer{.content = text_of(statement, 1),
                        .finish_reason = text_of(statement, 2),
                        .usage = {.prompt_tokens = count(3), .completion_tokens = count(4)},
                        .from_cache = true};
    }
    Result<std::optional<Answer>> result = std::move(answer);
    if (code != SQLITE_ROW && code != SQLITE_DONE) result = file_->error(code);
    sqlite3_reset(statement);
    return result;
}

Result<void> AnswerCache::store(std::string_view identity, const Answer& answer) {
    sqlite3_stmt* const statement = file_->store.get();
    const std::string hash = hash_of(identity);
    bind_text(statement, 1, hash);
    bind_text(statement, 2, identity);
    bind_text(statement, 3, answer.content);
    bind_text(statement, 4, answer.finish_reason);
    sqlite3_bind_int64(statement, 5, static_cast<std::int64_t>(answer.usage.prompt_tokens));
    sqlite3_bind_int64(statement, 6, static_cast<std::int64_t>(answer.usage.completion_tokens));
    const int code = sqlite3_step(statement);
    Result<void> result;
    if (code != SQLITE_DONE) result = file_->error(code);
    sqlite3_reset(statement);
    return result;
}

}  // namespace yolk::chat
