// SPDX-License-Identifier: Apache-2.0
// An optimization with prompts: prompt searches and searches of numbers by turns.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "system_texts.hpp"
#include "yolk/internal/core/state_file.hpp"
#include "yolk/optimize.hpp"

namespace yolk::hyper::prompts {

/// Where the rounds stand between two searches.
struct RoundsState {
    std::uint32_t phase = 0;    ///< the one that is next: even ones are of prompts, odd ones of numbers
    OptimizeOutcome outcome{};  ///< rewards, steps, costs, rounds so far; no history
    std::uint64_t log_bytes = 0;
};

/// The state file, with the settings that all of it depends on and the system's parameters.
[[nodiscard]] Result<StateFile> rounds_file(const RoundsState& state, const Json& settings, const ParameterSet& set);
/// Fills in the set. `what` names the file in errors. Errors, BadInput: other settings (the first that differs), a
/// state that is not complete, parameters that do not fit the set; then nothing is changed.
[[nodiscard]] Result<RoundsState> rounds_state_from(const StateFile& file, const Json& settings, ParameterSet& set,
                                                    std::string_view what);

/// Makes one search of numbers, with these options, from where the system is.
using SearchNumbers = std::function<Result<OptimizeOutcome>(const OptimizeOptions& options)>;

/// What System::optimize does where there are prompts. The system's parameters become the best found; the caller puts
/// them back after an error.
[[nodiscard]] Result<OptimizeOutcome> optimize_by_rounds(const SystemTask& task, const OptimizeOptions& options,
                                                         const SearchNumbers& numbers);

/// Errors: no round, no text that is optimized, several processes, what options of rounds do not go with.
[[nodiscard]] Result<void> check_text_options(const OptimizeOptions& options);

}  // namespace yolk::hyper::prompts
