// SPDX-License-Identifier: Apache-2.0
// Answers on disk, so that the same request is paid for once. A SQLite file that several processes may share.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "yolk/internal/chat/message.hpp"
#include "yolk/result.hpp"

namespace yolk::chat {

/// One thread at a time; another process may have the same file open. Prompts and replies are in it, the key never is.
class AnswerCache {
   public:
    /// Creates the file if it does not exist. Errors: Io, if it cannot be opened or is damaged; a damaged file is not
    /// changed.
    [[nodiscard]] static Result<AnswerCache> open(const std::filesystem::path& path);
    ~AnswerCache();
    AnswerCache(AnswerCache&& other) noexcept;
    AnswerCache& operator=(AnswerCache&& other) noexcept;

    /// `identity` is all that an answer depends on: the URL, the sample and the request's canonical text. It is stored,
    /// and compared, so that two requests with one hash do not share an answer.
    [[nodiscard]] Result<std::optional<Answer>> find(std::string_view identity);
    /// Replaces an earlier answer.
    [[nodiscard]] Result<void> store(std::string_view identity, const Answer& answer);

   private:
    struct File;
    explicit AnswerCache(std::unique_ptr<File> file);
    std::unique_ptr<File> file_;
};

}  // namespace yolk::chat
