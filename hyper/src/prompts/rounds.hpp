// SPDX-License-Identifier: Apache-2.0
// An optimization with prompts: prompt searches and searches of numbers by turns.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "system_texts.hpp"
#include "yolk/core/json.hpp"
#include "yolk/hyper/optimize.hpp"

namespace yolk::hyper::prompts {

/// Where the rounds stand between two searches.
struct RoundsState {
    std::uint32_t phase = 0;    ///< the one that is next: even ones are of prompts, odd ones of numbers
    OptimizeOutcome outcome{};  ///< rewards, steps, costs, rounds so far; no history
    Json parameters{};          ///< by group: a text, or a list of numbers
    std::uint64_t log_bytes = 0;
};

/// A JSON file, with the settings that all of it depends on. Errors of the second, BadInput: a foreign or damaged file,
/// other settings. `what` names it.
[[nodiscard]] std::string encode_rounds(const RoundsState& state, const Json& settings);
[[nodiscard]] Result<RoundsState> decode_rounds(std::string_view text, const Json& settings, std::string_view what);

[[nodiscard]] Json parameters_json(const ParameterSet& set);
/// Errors: groups or values that do not fit; then nothing is changed.
[[nodiscard]] Result<void> set_parameters(ParameterSet& set, const Json& json);

/// Makes one search of numbers, with these options, from where the system is.
using SearchNumbers = std::function<Result<OptimizeOutcome>(const OptimizeOptions& options)>;

/// What System::optimize does where there are prompts. The system's parameters become the best found; the caller puts
/// them back after an error.
[[nodiscard]] Result<OptimizeOutcome> optimize_by_rounds(const SystemTask& task, const OptimizeOptions& options,
                                                         const SearchNumbers& numbers);

/// Errors: no round, no text that is optimized, several processes, what options of rounds do not go with.
[[nodiscard]] Result<void> check_text_options(const OptimizeOptions& options);

}  // namespace yolk::hyper::prompts
