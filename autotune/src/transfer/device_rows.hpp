// SPDX-License-Identifier: Apache-2.0
// What a DevicePrior is computed from: log(cost / optimum) by device and candidate.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "yolk/internal/autotune/space.hpp"
#include "yolk/result.hpp"

namespace yolk::autotune {

/// log(cost / optimum) beyond which a configuration is just bad, failed ones among them.
inline constexpr double kWorstRegret = 3.0;

/// For every target candidate the same configuration among `given`, by names and values; nothing where there is none.
/// A parameter with one value on either side need not match. Error (BadInput): a varying parameter that one of them
/// lacks; `what` begins the message.
[[nodiscard]] Result<std::vector<std::optional<std::size_t>>> matched_candidates(const CandidateSet& target,
                                                                                 const CandidateSet& given,
                                                                                 const std::string& what);

/// A row of log(cost / optimum), capped; NaN where the configuration was not recorded.
[[nodiscard]] double regret_of(double cost, double optimum);

/// Fills NaN by a regression on the known ones (the covariance that the house strategy begins with); nothing happens
/// where fewer than 2 are known.
void fill_by_regression(const CandidateSet& candidates, std::vector<double>& values);

}  // namespace yolk::autotune
