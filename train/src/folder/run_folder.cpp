// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/train/run_folder.hpp"

#include "output_folder.hpp"
#include "previous_run.hpp"

namespace yolk::train {

struct RunFolder::State {
    std::filesystem::path folder;
    std::optional<WriterLock> lock{};
};

Result<RunFolder> RunFolder::take(const std::filesystem::path& folder) {
    RunFolder taken;
    taken.state_ = std::make_unique<State>(State{.folder = folder});
    YOLK_TRY(taken.state_->lock, lock_output_folder(folder));
    YOLK_TRY_VOID(prepare_output_folder(folder, taken.state_->lock));
    return taken;
}

Result<std::filesystem::path> RunFolder::set_aside() { return train::set_aside(state_->folder); }

std::filesystem::path RunFolder::model() const { return model_path(state_->folder); }
std::filesystem::path RunFolder::configuration() const { return configuration_path(state_->folder); }
std::filesystem::path RunFolder::metrics() const { return metrics_path(state_->folder); }
std::filesystem::path RunFolder::checkpoint() const { return checkpoint_path(state_->folder); }
std::filesystem::path RunFolder::log() const { return log_path(state_->folder); }

}  // namespace yolk::train
