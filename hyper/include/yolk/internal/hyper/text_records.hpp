// SPDX-License-Identifier: Apache-2.0
// What a search for better prompts reads: scores by example, and what each hyperfunction was given and gave.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "yolk/tensor.hpp"

namespace yolk::hyper {

/// Texts by the names of their groups.
using Texts = std::map<std::string, std::string>;

/// A call that used a text.
struct TextCall {
    std::string name{};  ///< of a hyperfunction; "model_call" or "schema_call" with model and tags, if any
    Value inputs{};      ///< a record: a model's messages by their roles, other operands named after what they are
    std::optional<Value> output{};  ///< nothing: it failed
};

/// One example, as reflection on one text reads it.
struct TextRecord {
    std::string component{};  ///< the group of the text
    Value inputs{};           ///< of the example, a record
    /// In which the text was used, in the order of the program: those of its own hyperfunction, and all host functions
    /// and models that were given it, or a text made of it. Empty where the example's answer is made of it without any.
    std::vector<TextCall> calls{};
    Value output{};                 ///< the example's answer; an empty text where it failed
    std::optional<double> score{};  ///< of the example
    std::string feedback{};         ///< on the example's prediction; of a failed example, its error
};

/// One example under some texts.
struct TextScore {
    double score = 0.0;                  ///< TextEvaluationOptions::failed_score where it failed
    std::optional<std::string> error{};  ///< what the system's function, a hyperfunction, or the metric and its
                                         ///< feedback failed with
    Value prediction{};
    std::vector<TextRecord> records{};  ///< where they were asked for: one of each text that was used
};

struct TextEvaluationOptions {
    bool capture = false;       ///< keep records
    double failed_score = 0.0;  ///< of an example that failed; for metrics that go below 0, something lower
};

}  // namespace yolk::hyper
