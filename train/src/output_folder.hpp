// SPDX-License-Identifier: Apache-2.0
// The folder that a run writes: checked before training, filled while it goes on.
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>

#include "yolk/core/json.hpp"
#include "yolk/core/result.hpp"

namespace yolk::train {

/// Makes the folder if it is missing and proves that files can be written to it, without touching those that are there.
/// Errors: Io, with the reason.
[[nodiscard]] Result<void> prepare_output_folder(const std::filesystem::path& folder);

[[nodiscard]] std::filesystem::path policy_path(const std::filesystem::path& folder);
[[nodiscard]] std::filesystem::path metrics_path(const std::filesystem::path& folder);

/// JSON lines, each flushed to the system as it is written, so that a run can be watched and a killed one leaves whole
/// lines. An old file is replaced by the first line, not before.
class MetricsFile {
   public:
    explicit MetricsFile(std::filesystem::path path) : path_(std::move(path)) {}
    [[nodiscard]] Result<void> append(const Json& line);

   private:
    struct Close {
        void operator()(std::FILE* file) const noexcept { static_cast<void>(std::fclose(file)); }
    };
    std::filesystem::path path_;
    std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace yolk::train
