// SPDX-License-Identifier: Apache-2.0
// What a search for better prompts reads: scores by example, and what each hyperfunction was given and gave.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "yolk/hyper/value.hpp"

namespace yolk::hyper {

/// Texts by the names of their groups.
using Texts = std::map<std::string, std::string>;

/// One call of a hyperfunction.
struct TextRecord {
    std::string component{};  ///< the hyperfunction
    Value inputs{};           ///< a record, its fields named after what the operands are: inputs, hyperfunctions
    Value output{};           ///< an empty text where the call failed
    std::string feedback{};   ///< on the example's prediction; of a failed example, its error
};

/// One example under some texts.
struct TextScore {
    double score = 0.0;                  ///< TextEvaluationOptions::failed_score where it failed
    std::optional<std::string> error{};  ///< what the system's function, a hyperfunction, or the metric and its
                                         ///< feedback failed with
    Value prediction{};
    std::vector<TextRecord> records{};  ///< in the order of the program; where they were asked for
};

struct TextEvaluationOptions {
    bool capture = false;       ///< keep records
    double failed_score = 0.0;  ///< of an example that failed; for metrics that go below 0, something lower
};

}  // namespace yolk::hyper
