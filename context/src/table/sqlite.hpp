// SPDX-License-Identifier: Apache-2.0
// SQLite with our errors and owners. One thread at a time.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "yolk/internal/core/owned.hpp"
#include "yolk/result.hpp"

namespace yolk {

/// Whether a code of SQLite's says that the file's bytes are wrong, not that it could not be read just now.
[[nodiscard]] bool says_damaged(int code) noexcept;
/// Whether it says that SQLite could not make or write the files that it has beside the database.
[[nodiscard]] bool says_read_only(int code) noexcept;

class Statement {
   public:
    Statement& bind(std::string_view text) noexcept;
    Statement& bind(std::int64_t number) noexcept;
    Statement& bind(double number) noexcept;
    Statement& bind(const std::optional<double>& number) noexcept;  ///< NULL for none
    template <class First, class Second, class... Rest>
    Statement& bind(const First& first, const Second& second, const Rest&... rest) noexcept {
        return bind(first).bind(second, rest...);
    }

    /// Whether there is a row. `native` of an error is SQLite's code.
    [[nodiscard]] Result<bool> step();
    /// Steps until there are no rows.
    [[nodiscard]] Result<void> run();
    /// What `read(*this)` gives for each row, where it gives anything.
    template <class Read>
    [[nodiscard]] auto all(Read read)
        -> Result<std::vector<typename std::invoke_result_t<Read, Statement&>::value_type>> {
        std::vector<typename std::invoke_result_t<Read, Statement&>::value_type> found;
        while (true) {
            YOLK_TRY(const bool row, step());
            if (!row) return found;
            if (auto value = read(*this)) found.push_back(*std::move(value));
        }
    }
    /// For the next run with other values.
    void reset() noexcept;

    [[nodiscard]] std::string text(int column) const;  ///< empty for NULL
    [[nodiscard]] std::int64_t integer(int column) const noexcept;
    [[nodiscard]] std::optional<double> real(int column) const noexcept;  ///< none for NULL and what is no number

   private:
    friend class Database;
    struct Finalize {
        void operator()(sqlite3_stmt* statement) const noexcept;
    };
    std::unique_ptr<sqlite3_stmt, Finalize> statement_;
    int bound_ = 0;
};

enum class OpenMode {
    Existing,
    Create,
    Unchanging,  ///< may only be read, and nobody writes it: SQLite makes no files beside it and takes no locks
};

class Database {
   public:
    /// Waits for what another process has locked, 20 seconds at most; nothing of the file is read yet. Error (Io):
    /// cannot be opened.
    [[nodiscard]] static Result<Database> open(const std::filesystem::path& path, OpenMode mode);

    [[nodiscard]] Result<Statement> prepare(std::string_view sql) const;
    [[nodiscard]] Result<void> execute(const char* sql) const;

   private:
    struct Close {
        void operator()(sqlite3* database) const noexcept;
    };
    struct Busy;
    Owned<Busy> busy_;  ///< the database refers to it
    std::unique_ptr<sqlite3, Close> database_;
};

/// Rolls back unless committed.
class Transaction {
   public:
    /// Takes the write lock at once, so that what is read in it is what is written over.
    [[nodiscard]] static Result<Transaction> begin(const Database& database);
    ~Transaction();
    Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
    Transaction& operator=(Transaction&&) = delete;
    [[nodiscard]] Result<void> commit();

   private:
    explicit Transaction(const Database& database) : database_(&database) {}
    const Database* database_;
};

}  // namespace yolk
