// SPDX-License-Identifier: Apache-2.0
#include "check_progress.hpp"

#include <fmt/format.h>

#include "numbers.hpp"
#include "output.hpp"

namespace yolk::cli {
namespace {

constexpr std::chrono::seconds kBetweenLines{30};
constexpr std::chrono::milliseconds kBetweenRewrites{50};

}  // namespace

Result<Part> parse_part(std::string_view text) {
    const auto wrong = [text] {
        return bad_input("'{}' is not a part; give K/N, the K-th of N parts, K from 1 to N, as in 2/8.", text);
    };
    const std::size_t slash = text.find('/');
    if (slash == std::string_view::npos) return wrong();
    const Result<std::uint32_t> number = parse_number<std::uint32_t>(text.substr(0, slash));
    const Result<std::uint32_t> count = parse_number<std::uint32_t>(text.substr(slash + 1));
    if (!number || !count || *number == 0 || *number > *count) return wrong();
    return Part{*number, *count};
}

std::string check_progress_text(const oracle::CheckProgress& progress, double seconds) {
    std::string text = fmt::format("{}: {} of {} runs", progress.family, progress.runs, progress.runs_of_part);
    if (progress.failures > 0)
        text += fmt::format(", {} failure{}", progress.failures, progress.failures == 1 ? "" : "s");
    if (progress.runs == 0) return text;
    const auto remaining = static_cast<double>(progress.runs_of_part - progress.runs);
    return text + fmt::format(", {} left", duration_text(seconds / static_cast<double>(progress.runs) * remaining));
}

CheckDisplay::CheckDisplay() : terminal_(errors_are_terminal()) {}

void CheckDisplay::show(const oracle::CheckProgress& progress, Clock::time_point now) {
    if (family_ != progress.family) {
        family_ = progress.family;
        began_ = last_line_ = now;
    }
    if (now - last_line_ < (terminal_ ? Clock::duration(kBetweenRewrites) : Clock::duration(kBetweenLines))) return;
    last_line_ = now;
    const std::string text = check_progress_text(progress, std::chrono::duration<double>(now - began_).count());
    print_note(fmt::format("{}{}{}", terminal_ ? "\r\033[K" : "", text, terminal_ ? "" : "\n"));
    line_open_ = terminal_;
}

void CheckDisplay::show_failure(const char* family, const std::string& failure) {
    finish();
    print_note(fmt::format("FAILED {}: {}\n", family, failure));
}

void CheckDisplay::finish() {
    if (line_open_) print_note("\r\033[K");
    line_open_ = false;
}

}  // namespace yolk::cli
