// SPDX-License-Identifier: Apache-2.0
// What `optimize` says and is told about prompts.
#pragma once

#include <optional>
#include <string>

#include "options.hpp"
#include "yolk/optimize.hpp"

namespace yolk::cli {

struct TextFlags {
    std::string search;  ///< empty: texts stay as they are
    hyper::TextOptions options;
    bool only = false;  ///< no numbers
};
/// --text and those that go with it.
void add_text_flags(App& app, TextFlags& flags);
/// Nothing without --text. `seed` is that of all draws.
[[nodiscard]] std::optional<hyper::TextOptions> text_options(const TextFlags& flags, std::uint64_t seed);

void print_text_step(const hyper::TextStep& step);
/// Of a dry run.
void print_text_cost(const hyper::OptimizeOutcome& outcome);
/// A line for each prompt search, and one about the models where some were asked.
void print_text_rounds(const hyper::OptimizeOutcome& outcome);

}  // namespace yolk::cli
