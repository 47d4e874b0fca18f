// SPDX-License-Identifier: Apache-2.0
#include "progress.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "output.hpp"

namespace yolk::cli {

namespace {

std::string text_of(const train::GenerationReport& report, std::uint32_t generations, bool with_policy) {
    const std::uint32_t done = report.generation + 1;
    const std::uint32_t remaining = generations > done ? generations - done : 0;
    const std::string policy = with_policy ? fmt::format("policy {:.1f}, ", report.policy_return) : "";
    return fmt::format("generation {}/{}, mean {:.1f}, best {:.1f}, {}{} evaluations/s, {} left", done, generations,
                       report.mean_return, report.best_return, policy, rate_text(report.evaluations_per_second),
                       duration_text(report.seconds / done * remaining));
}

}  // namespace

std::string progress_text(const train::GenerationReport& report, std::uint32_t generations) {
    return text_of(report, generations, true);
}

std::string progress_bar(const train::GenerationReport& report, std::uint32_t generations, std::uint32_t columns) {
    constexpr std::size_t kMinCells = 4;
    constexpr std::size_t kMaxCells = 20;
    constexpr std::size_t kFrame = 3;                        // "[] "
    const std::size_t room = columns > 0 ? columns - 1 : 0;  // writing the last column makes some terminals wrap
    std::string text = text_of(report, generations, true);
    if (text.size() + kFrame + kMinCells > room) text = text_of(report, generations, false);
    const std::size_t spare = room > text.size() + kFrame ? room - text.size() - kFrame : 0;
    const std::size_t cells = std::clamp(spare, kMinCells, kMaxCells);
    const std::uint64_t done = std::min(report.generation + 1, generations);
    const std::size_t filled = generations == 0 ? cells : done * cells / generations;
    std::string line = fmt::format("[{}{}] {}", std::string(filled, '#'), std::string(cells - filled, '-'), text);
    if (line.size() > room) line.resize(room);
    return line;
}

Progress::Progress(std::uint32_t generations) : generations_(generations), terminal_(output_is_terminal()) {}

void Progress::show(const train::GenerationReport& report) {
    if (!terminal_) {
        print_line(progress_text(report, generations_));
        return;
    }
    print_text("\r\033[K" + progress_bar(report, generations_, terminal_columns()));
    line_open_ = true;
}

void Progress::finish() {
    if (line_open_) print_line("");
    line_open_ = false;
}

}  // namespace yolk::cli
