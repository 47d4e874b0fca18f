// SPDX-License-Identifier: Apache-2.0
#include "yolk/autotune/natural_settings.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace yolk::autotune {
namespace {

using N = NaturalSettings;
constexpr std::array<NaturalField, 15> kFields{{
    {"first", &N::first, 4.0, 40.0, true},
    {"local_every", &N::local_every, 2.0, 16.0, true},
    {"linear_share", &N::linear_share, 0.05, 0.95, false},
    {"noise", &N::noise, 0.005, 0.3, false},
    {"exploration", &N::exploration, 0.25, 4.0, false},
    {"portfolio", &N::portfolio, 1.0, 16.0, true},
    {"prior_linear_share", &N::prior_linear_share, 0.05, 0.95, false},
    {"prior_noise", &N::prior_noise, 0.005, 0.3, false},
    {"mean_deviation", &N::mean_deviation, 0.03, 1.0, false},
    {"residual_factor", &N::residual_factor, 0.25, 4.0, false},
    {"prior_scale_count", &N::prior_scale_count, 1.0, 64.0, true},
    {"patience", &N::patience, 0.2, 12.0, false},
    {"most_patience", &N::most_patience, 8.0, 64.0, true},
    {"doubted_patience", &N::doubted_patience, 2.0, 24.0, true},
    {"doubt", &N::doubt, 1.0, 8.0, false},
}};

}  // namespace

std::span<const NaturalField> natural_fields() noexcept { return kFields; }

NaturalSettings legal(NaturalSettings settings) noexcept {
    for (const NaturalField& field : kFields) {
        double& value = settings.*field.member;
        if (!std::isfinite(value)) value = NaturalSettings{}.*field.member;
        value = std::clamp(field.whole ? std::round(value) : value, field.lower, field.upper);
    }
    return settings;
}

}  // namespace yolk::autotune
