// SPDX-License-Identifier: Apache-2.0
// `yolk tune` on a device: search, prove, time, and write what was found to the table.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "options.hpp"
#include "yolk/oracle/family.hpp"

namespace yolk::cli {

struct LiveFlags {
    std::string job;
    std::string shapes;
    float seconds = 0.0F;  ///< 0: the default
    bool again = false;
    std::string record;
    // Of `yolk tune --surface`, too:
    std::string strategy = "natural";
    std::uint32_t budget = 0;  ///< 0: the default
    std::uint64_t seed = 1;
    std::string prior;
    std::string algebra;  ///< of add_algebra_flag; empty: auto
};

void add_live_flags(App& app, LiveFlags& flags);
[[nodiscard]] Result<int> tune_live(const LiveFlags& flags, const CommonFlags& common);

}  // namespace yolk::cli
