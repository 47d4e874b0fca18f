// SPDX-License-Identifier: Apache-2.0
// The folder that a run writes: checked before training, filled while it goes on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "yolk/internal/core/descriptor.hpp"
#include "yolk/internal/core/json_fwd.hpp"
#include "yolk/internal/core/writer_lock.hpp"
#include "yolk/result.hpp"

namespace yolk::train {

/// Keeps every other run out of a folder that exists; nothing where it does not exist (yet) or cannot be locked for
/// another reason than another run. Puts back what a killed process was setting aside (previous_run.hpp). Error, Io:
/// another run is writing there.
[[nodiscard]] Result<std::optional<WriterLock>> lock_output_folder(const std::filesystem::path& folder);

/// Makes the folder if it is missing, locks it unless `lock` does so already, removes temporary files of killed runs,
/// and proves that files can be written to it, without touching those that are there. Errors: Io, with the reason.
[[nodiscard]] Result<void> prepare_output_folder(const std::filesystem::path& folder, std::optional<WriterLock>& lock);

[[nodiscard]] std::filesystem::path policy_path(const std::filesystem::path& folder);
[[nodiscard]] std::filesystem::path metrics_path(const std::filesystem::path& folder);
[[nodiscard]] std::filesystem::path checkpoint_path(const std::filesystem::path& folder);
[[nodiscard]] std::filesystem::path log_path(const std::filesystem::path& folder);
/// All files that a run may write, of whatever kind it is (run_folder.hpp).
[[nodiscard]] std::vector<std::filesystem::path> paths_of_run(const std::filesystem::path& folder);

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
/// lines. A file that is there is replaced by the first line, not before, or continued.
class MetricsFile {
   public:
    explicit MetricsFile(std::filesystem::path path) : path_(std::move(path)) {}
    /// Errors, Io: also where the file was removed or replaced since the last line.
    [[nodiscard]] Result<void> append(const Json& line);
    /// In place of the first append: atomically makes the file these settings and `kept` (kept_metrics), to append to.
    [[nodiscard]] Result<void> continue_from(const Json& settings, std::string_view kept);
    /// What was appended survives a power failure.
    [[nodiscard]] Result<void> sync();

   private:
    std::filesystem::path path_;
    Descriptor file_;
};

}  // namespace yolk::train
