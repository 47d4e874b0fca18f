// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/autotune/unit_limits.hpp"

#include <fmt/format.h>

#include "yolk/internal/core/printable.hpp"
#include "yolk/limits.hpp"
#include "yolk/log.hpp"

namespace yolk::autotune {

Result<double> UnitLimits::of(ArithmeticUnit unit) {
    std::optional<double>& known = known_.at(static_cast<std::size_t>(unit));
    if (known) return *known;
    const auto begun = std::chrono::steady_clock::now();
    YOLK_TRY(known, measure_multiply_adds_per_second(device_, dispatcher_, unit, begun + time_left_));
    time_left_ -= std::chrono::steady_clock::now() - begun;
    if (*known > 0.0) return *known;
    const bool too_late = unit != ArithmeticUnit::Other;
    log_info(fmt::format(
        "The limit of '{}' for {} is not known{}: no time of a configuration that uses it is refused as too "
        "short.",
        shown(device_.info().name), to_string(unit), too_late ? " in so short a time" : ""));
    return *known;
}

}  // namespace yolk::autotune
