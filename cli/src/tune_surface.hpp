// SPDX-License-Identifier: Apache-2.0
// `yolk tune --surface`: how good a strategy is on a surface that was recorded before. Uses no device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "options.hpp"

namespace yolk::cli {

struct SurfaceFlags {
    std::string surface;
    std::vector<std::string> transfer;
    std::string prior;
    std::string strategy = "natural";
    std::string step;            ///< empty: the strategy's own
    float learning_rate = 0.0F;  ///< 0: the strategy's own
    std::uint32_t budget = 200;
    std::uint32_t repeats = 100;
    std::uint64_t seed = 1;
    std::uint32_t threads = 0;
    std::string algebra;  ///< of add_algebra_flag; empty: host
};

void add_surface_flags(App& app, SurfaceFlags& flags);
[[nodiscard]] Result<int> tune_surface(const SurfaceFlags& flags, const CommonFlags& common);

}  // namespace yolk::cli
