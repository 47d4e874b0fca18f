// SPDX-License-Identifier: Apache-2.0
// A page about prompt searches, from their log: who is best at which example, which prompt came from which, and all of
// their texts. One file of HTML that loads nothing and needs no script.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "yolk/core/result.hpp"
#include "yolk/hyper/text_search.hpp"

namespace yolk::hyper {

struct ReportedCandidate {
    std::uint32_t iteration = 0;
    TextStepKind kind = TextStepKind::Start;
    std::vector<std::uint32_t> parents{};  ///< candidates before it
    std::vector<double> scores{};          ///< [validation examples]
    Texts texts{};
};

/// One search: a log of rounds has several.
struct TextRunReport {
    std::string search{};
    std::uint64_t seed = 0;
    double perfect_score = 1.0;
    std::vector<TextStep> steps{};
    std::vector<ReportedCandidate> candidates{};  ///< at least the start
    std::string stopped_by{};                     ///< empty: the log has no end
};

/// Of the lines that searches wrote (TextRunOptions::log); lines of other kinds are passed over, and so is a last line
/// without its newline. `what` names the text in errors. Errors, BadInput: no prompt search in it, a damaged line (its
/// number).
[[nodiscard]] Result<std::vector<TextRunReport>> read_text_log(std::string_view log, std::string_view what);

/// The page; the same bytes for the same reports.
[[nodiscard]] std::string text_report_page(std::span<const TextRunReport> runs, std::string_view title);

}  // namespace yolk::hyper
