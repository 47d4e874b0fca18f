// SPDX-License-Identifier: Apache-2.0
// How likely configurations are to fail, by those that did.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "covariance.hpp"
#include "yolk/internal/autotune/history.hpp"

namespace yolk::autotune {

/// One for each of `among`, in [0, 1]: the regression of 1 where a configuration failed and 0 where it worked on all
/// that is known, with this covariance and a noise of this deviation; what is unlike all of it is expected to work.
[[nodiscard]] std::vector<double> odds_of_failure(const Covariance& covariance, double noise, const History& history,
                                                  std::span<const std::size_t> among);

}  // namespace yolk::autotune
