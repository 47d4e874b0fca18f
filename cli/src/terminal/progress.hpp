// SPDX-License-Identifier: Apache-2.0
// Training as people watch it.
#pragma once

#include <cstdint>
#include <string>

#include "yolk/train.hpp"

namespace yolk::cli {

/// "generation 3/100, mean 45.2, best 500.0, policy 312.0, 1.02 M evaluations/s, 0:42 left". The time left is for all
/// generations; a run that solves its task ends sooner.
[[nodiscard]] std::string progress_text(const train::GenerationReport& report, std::uint32_t generations);

/// The same after a bar, within `columns`, which a terminal must not wrap: in a narrow one the bar shrinks, then the
/// policy's return is left out.
[[nodiscard]] std::string progress_bar(const train::GenerationReport& report, std::uint32_t generations,
                                       std::uint32_t columns);

/// A bar that rewrites its line on a terminal, else a line per generation. To standard output.
class Progress {
   public:
    explicit Progress(std::uint32_t generations);
    void show(const train::GenerationReport& report);
    /// Leaves the bar's line, so that what follows begins a new one.
    void finish();

   private:
    std::uint32_t generations_;
    bool terminal_;
    bool line_open_ = false;
};

}  // namespace yolk::cli
