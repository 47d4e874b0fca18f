// SPDX-License-Identifier: Apache-2.0
// Everything that the next iteration of GEPA depends on, and its file: JSON, written beside and renamed. Reading trusts
// nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "yolk/core/json.hpp"
#include "yolk/hyper/text_search.hpp"

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
[[nodiscard]] std::string encode_state(const GepaState& state, const Json& settings);
/// `what` names the bytes in errors. `components` and `validation_size` are what it has to fit. Errors, BadInput: a
/// foreign file, a later version, damage, other settings (the first that differs).
[[nodiscard]] Result<GepaState> decode_state(std::string_view text, const Json& settings, std::uint32_t validation_size,
                                             std::string_view what);

}  // namespace yolk::hyper::prompts
