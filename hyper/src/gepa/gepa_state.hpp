// SPDX-License-Identifier: Apache-2.0
// Everything that the next iteration of GEPA depends on, and its file (yolk/internal/core/state_file.hpp). Reading
// trusts nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "yolk/internal/core/state_file.hpp"
#include "yolk/prompts.hpp"

namespace yolk::hyper {

/// As it stands in files (yolk/internal/core/json_fields.hpp).
template <class Fields>
void each_field(Fields& fields, TextCost& cost) {
    fields("metric_calls", cost.metric_calls);
    fields("model_calls", cost.model_calls);
    fields("prompt_tokens", cost.prompt_tokens);
    fields("completion_tokens", cost.completion_tokens);
    fields("cost", cost.cost);
}

}  // namespace yolk::hyper

namespace yolk::hyper::prompts {

struct Candidate {
    Texts texts{};
    std::vector<std::uint32_t> parents{};  ///< numbers below its own: none of the start, two of a merge
    std::vector<double> scores{};          ///< [validation examples]
    std::uint32_t next_component = 0;      ///< in turn, of those in the order of `texts`
    friend bool operator==(const Candidate&, const Candidate&) = default;
};

/// What was merged already: the two, their ancestor, and for each component whose text was taken.
struct Merged {
    std::uint32_t first = 0;
    std::uint32_t second = 0;
    std::uint32_t ancestor = 0;
    std::vector<std::uint32_t> taken{};
    friend bool operator==(const Merged&, const Merged&) = default;
};

struct GepaState {
    std::uint32_t iteration = 0;    ///< done
    std::uint32_t minibatches = 0;  ///< drawn
    std::uint32_t idle = 0;         ///< iterations in a row that asked no model for a text
    std::uint32_t failed = 0;       ///< reflections in a row that did
    std::uint32_t merges_due = 0;
    std::uint32_t merges_accepted = 0;
    bool added_by_mutation = false;  ///< in the last iteration
    std::vector<Candidate> candidates{};
    std::vector<Merged> merged{};
    TextCost cost{};
    std::uint64_t log_bytes = 0;  ///< of the log, behind the last iteration's line
    friend bool operator==(const GepaState&, const GepaState&) = default;

    [[nodiscard]] std::vector<std::vector<double>> scores() const;
    [[nodiscard]] std::vector<double> means() const;
    [[nodiscard]] std::uint32_t best() const;  ///< the highest mean, the earliest of equals
};

/// `settings`: an object of what the run depends on; a run only goes on with the same.
[[nodiscard]] StateFile gepa_file(const GepaState& state, const Json& settings);
/// `what` names the file in errors. Errors, BadInput: other settings (the first that differs); a state that is at odds
/// with itself, or not for so many validation examples.
[[nodiscard]] Result<GepaState> gepa_state_from(const StateFile& file, const Json& settings,
                                                std::uint32_t validation_size, std::string_view what);

/// Error: the first of `settings` that the file has another value of; one without settings fails the reader. `of`: "a
/// prompt search".
[[nodiscard]] Result<void> check_same_settings(FieldReader& reader, const Json& settings, std::string_view of,
                                               std::string_view what);

}  // namespace yolk::hyper::prompts
