// SPDX-License-Identifier: Apache-2.0
// Whether a search is made by several processes.
#pragma once

#include "yolk/hyper/optimize.hpp"

namespace yolk::hyper {

[[nodiscard]] inline bool has_other_ranks(const OptimizeOptions& options) noexcept {
    return options.exchange != nullptr && options.exchange->ranks() > 1;
}

}  // namespace yolk::hyper
