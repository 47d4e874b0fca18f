// SPDX-License-Identifier: Apache-2.0
// The folder that a run writes: checked before training, filled while it goes on.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "yolk/core/json_fwd.hpp"
#include "yolk/core/result.hpp"
#include "yolk/core/writer_lock.hpp"

namespace yolk::train {

/// Keeps every other run out of a folder that exists; nothing where it does not exist (yet) or cannot be locked for
/// another reason than another run. Error, Io: another run is writing there.
[[nodiscard]] Result<std::optional<WriterLock>> lock_output_folder(const std::filesystem::path& folder);

/// Makes the folder if it is missing, locks it unless `lock` does so already, removes temporary files of killed runs,
/// and proves that files can be written to it, without touching those that are there. Errors: Io, with the reason.
[[nodiscard]] Result<void> prepare_output_folder(const std::filesystem::path& folder, std::optional<WriterLock>& lock);

[[nodiscard]] std::filesystem::path policy_path(const std::filesystem::path& folder);
[[nodiscard]] std::filesystem::path metrics_path(const std::filesystem::path& folder);
[[nodiscard]] std::filesystem::path checkpoint_path(const std::filesystem::path& folder);
[[nodiscard]] std::filesystem::path log_path(const std::filesystem::path& folder);

/// The log of a run that another one without a log replaces. Error: Io.
[[nodiscard]] Result<void> remove_log(const std::filesystem::path& folder);
/// A checkpoint that must not be gone on from. Error: Io.
[[nodiscard]] Result<void> remove_checkpoint(const std::filesystem::path& folder);

/// What a line of metrics may say of the state after its generation: the digest, the hash, or both.
struct StateNames {
    std::string_view hash, digest;
};

/// The lines of the first `generations` generations in an old metrics file, as they are and without the settings;
/// empty where there is no file. Error: a file without the last of them, or where that is of another state.
[[nodiscard]] Result<std::string> kept_metrics(const std::filesystem::path& path, std::uint32_t generations,
                                               const StateNames& state);

/// The lines of the first `generations` generations of a metrics file that this process wrote, without the settings.
[[nodiscard]] Result<std::string> first_metrics(const std::filesystem::path& path, std::uint32_t generations);

/// JSON lines, each flushed to the system as it is written, so that a run can be watched and a killed one leaves whole
/// lines. An old file is replaced by the first line, not before, or continued.
class MetricsFile {
   public:
    explicit MetricsFile(std::filesystem::path path) : path_(std::move(path)) {}
    [[nodiscard]] Result<void> append(const Json& line);
    /// In place of the first append: atomically makes the file these settings and `kept` (kept_metrics), to append to.
    [[nodiscard]] Result<void> continue_from(const Json& settings, std::string_view kept);
    /// What was appended survives a power failure.
    [[nodiscard]] Result<void> sync();

   private:
    struct Close {
        void operator()(std::FILE* file) const noexcept { static_cast<void>(std::fclose(file)); }
    };
    [[nodiscard]] Result<void> open(const char* mode);
    [[nodiscard]] Error failure() const;
    std::filesystem::path path_;
    std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace yolk::train
