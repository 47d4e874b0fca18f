// SPDX-License-Identifier: Apache-2.0
// Configurations that are worth a try before anything is known of a device: a few per family that together were good on
// the devices and shapes recorded. `yolk tune` measures them first; a plan never takes them, since nobody has proven
// them on the device at hand.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "yolk/autotune/knob_value.hpp"
#include "yolk/autotune/prior_file.hpp"

namespace yolk::autotune {

inline constexpr std::size_t kShippedPortfolio = 8;

/// What comes with Yolk, from autotune/data/portfolio.json; it says itself what it was recorded on. Parsed once.
[[nodiscard]] const PriorFile& shipped_portfolio();

/// The portfolio of a family in the order in which to try it; empty where the file has none.
[[nodiscard]] std::vector<StoredConfiguration> portfolio_of(const PriorFile& file, std::string_view family);

/// The file with nothing left but portfolios of at most `most` configurations.
[[nodiscard]] Result<PriorFile> only_portfolios(const PriorFile& file, std::size_t most = kShippedPortfolio);

}  // namespace yolk::autotune
