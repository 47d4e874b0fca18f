// SPDX-License-Identifier: Apache-2.0
// What the commands of `yolk tune` share: flags of a search, checks, and what is shown while one runs.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "interrupt.hpp"
#include "options.hpp"
#include "output.hpp"
#include "yolk/internal/autotune/algebra_choice.hpp"
#include "yolk/internal/autotune/recorded_surface.hpp"
#include "yolk/internal/core/json_fwd.hpp"
#include "yolk/tune.hpp"

namespace yolk::cli {

/// Of a search on a device.
struct SearchFlags {
    std::string strategy = "natural";
    std::uint32_t budget = autotune::kDefaultTuningBudget;
    std::uint64_t seed = 1;
    float seconds = static_cast<float>(autotune::kDefaultTuningTime.count());
    bool again = false;
    std::filesystem::path record;
};
void add_tuning_search_flags(App& app, SearchFlags& flags);
/// Budget and seconds.
[[nodiscard]] Result<void> check_search_flags(const SearchFlags& flags);

/// --parameters and --objective, for recordings that do not say these themselves.
void add_recording_flags(App& app, autotune::RecordingOptions& options);

/// --strategy alone. An unknown name is refused while parsing.
Option* add_strategy_flag(App& app, std::string& strategy);
[[nodiscard]] Result<std::string> parse_strategy(std::string_view text);
/// "goes with --strategy eggroll or smoothed".
[[nodiscard]] Condition with_strategy(const std::string& strategy, std::vector<std::string> names);

struct AlgebraFlags {
    std::optional<autotune::AlgebraPlace> place{};  ///< nothing: the command's default
};
/// --algebra, and what the device that it may be on is chosen by: --no-tuning, and where `with_device` --device.
void add_algebra_flags(App& app, AlgebraFlags& flags, const std::string& strategy, const std::string& otherwise,
                       CommonFlags& common, bool with_device);
/// `algebra` and what was counted.
void add_algebra_to(Json& json, const autotune::AlgebraReport& report);
/// For people: "algebra on llvmpipe: 1,234 proposals, the host took over 0 times". Prints nothing where there is
/// nothing to say.
void print_algebra(const autotune::AlgebraReport& report);

/// $YOLK_TABLE or the default. Error (BadInput): there is no place for one.
[[nodiscard]] Result<std::filesystem::path> table_path();

/// Last words where a signal meets a computation of the host that nothing can cut; the exit code.
[[nodiscard]] int say_what_is_kept(const std::filesystem::path& table);

/// One line that is rewritten on a terminal, JSON lines with --json, nothing with --quiet.
class SearchProgress {
   public:
    explicit SearchProgress(const CommonFlags& common);
    void show(const std::string& shape, const autotune::LiveProgress& progress) const;
    void finish() const { line_.finish(); }

   private:
    StatusLine line_;
    bool json_;
};

/// What tuning a device and tuning a kernel take of the flags; they show their progress and end at a signal.
template <class Options>
void take_search_flags(const SearchFlags& flags, const SearchProgress& progress, Options& options) {
    options.strategy = flags.strategy;
    options.budget = flags.budget;
    options.seed = flags.seed;
    options.time = std::chrono::duration<double>(flags.seconds);
    options.again = flags.again;
    options.record = flags.record;
    options.progress = [&progress](const std::string& shape, const autotune::LiveProgress& at) {
        progress.show(shape, at);
        return !InterruptGuard::requested();
    };
    options.ended = [&progress] { progress.finish(); };
    options.goes_on = [] { return !InterruptGuard::requested(); };
}

}  // namespace yolk::cli
