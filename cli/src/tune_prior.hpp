// SPDX-License-Identifier: Apache-2.0
// `yolk tune --train-prior`: what the house strategy begins with, trained by EGGROLL over recorded surfaces.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "options.hpp"
#include "yolk/autotune/prior_file.hpp"

namespace yolk::cli {

struct PriorFlags {
    std::vector<std::string> train;
    std::vector<std::string> held_out;
    std::string out;
    std::uint32_t generations = 10;
    std::uint32_t population = 16;
    bool portfolio_only = false;
    // Of `yolk tune --surface`, too:
    std::uint32_t budget = 0;  ///< 0: the default
    std::uint64_t seed = 1;
    std::uint32_t threads = 0;
};

void add_prior_flags(App& app, PriorFlags& flags);
[[nodiscard]] Result<int> train_prior(const PriorFlags& flags, const CommonFlags& common);

/// `named`, else prior.json beside the tuning table, where there is one.
[[nodiscard]] Result<std::optional<autotune::PriorFile>> find_prior(const std::string& named);

}  // namespace yolk::cli
