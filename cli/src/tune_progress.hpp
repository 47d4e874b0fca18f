// SPDX-License-Identifier: Apache-2.0
// What every live search of `yolk tune` checks before it begins, and shows while it runs.
#pragma once

#include <cstdint>
#include <string>

#include "options.hpp"
#include "tune_live.hpp"
#include "yolk/autotune/tune_live.hpp"

namespace yolk::cli {

inline constexpr std::uint32_t kDefaultBudget = 60;
inline constexpr double kDefaultSeconds = 540.0;

/// Budget, seconds and strategy.
[[nodiscard]] Result<void> check_search_flags(const LiveFlags& flags);

/// One line that is rewritten on a terminal, JSON lines with --json, nothing with --quiet.
class SearchProgress {
   public:
    explicit SearchProgress(const CommonFlags& common);
    void show(const std::string& shape, const autotune::LiveProgress& progress) const;
    void finish() const;

   private:
    bool live_;
    bool json_;
};

}  // namespace yolk::cli
