// SPDX-License-Identifier: Apache-2.0
// The files of a run of finetune(), which rank 0 writes.
#pragma once

#include <filesystem>
#include <optional>

#include "tuning_task.hpp"
#include "yolk/internal/train/run_folder.hpp"

namespace yolk::transformer {

struct TuningFiles {
    std::optional<train::RunFolder> folder{};
    std::filesystem::path previous{};
};
/// The folder of the options, with the configuration of the adapter that is to come; nothing where they name none.
[[nodiscard]] Result<TuningFiles> take_tuning_files(const std::filesystem::path& model, const FinetuneOptions& options);

/// The whole model with the searched matrices as they are, and the small files of `model`, for `yolk embed` and others.
[[nodiscard]] Result<void> write_merged(const std::filesystem::path& model, const std::filesystem::path& out,
                                        const hyper::ParameterSet& parameters);

}  // namespace yolk::transformer
