// SPDX-License-Identifier: Apache-2.0
#include "choose_configurations.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ranges>
#include <span>
#include <string_view>

#include "numbers.hpp"
#include "yolk/internal/core/hash.hpp"

namespace yolk::cli {
namespace {

/// What has become of a knob of before; empty of others.
std::string_view news_of(std::string_view family, std::string_view knob) {
    if (family == "perturbed_linear" && (knob == "uniform" || knob == "texel")) {
        return " uniform and texel are one knob now, operand_path: 0 direct, 1 staged, 2 a uniform x, 3 texel, 5 "
               "uniform weights.";
    }
    constexpr std::array<std::string_view, 4> kPathsOfBefore{"staged", "uniform", "texel", "cooperative"};
    if (family != "matmul" || std::ranges::find(kPathsOfBefore, knob) == kPathsOfBefore.end()) return {};
    return " staged, uniform, texel and cooperative are one knob now, operand_path: 0 direct, 1 staged, 2 uniform, 3 "
           "texel, 4 cooperative.";
}

}  // namespace

Result<Conditions> parse_conditions(const TuningSpace& space, const std::vector<std::string>& where) {
    Conditions conditions;
    for (const std::string& text : where) {
        const std::size_t sign = text.find('=');
        const auto knob = std::ranges::find(space.knobs(), text.substr(0, sign), &TuningKnob::name);
        const auto value = sign == std::string::npos ? Result<std::uint32_t>(bad_input(""))
                                                     : parse_number<std::uint32_t>(text.substr(sign + 1));
        if (knob == space.knobs().end() || !value) {
            return bad_input("--where is '{}'; it is knob=value, the knobs of {}: {}.{}", text, space.family(),
                             fmt::join(space.knobs() | std::views::transform(&TuningKnob::name), ", "),
                             news_of(space.family(), text.substr(0, sign)));
        }
        conditions.emplace_back(knob - space.knobs().begin(), *value);
    }
    return conditions;
}

bool is_in_share(std::string_view text, std::uint64_t seed, double share) noexcept {
    const std::array both{seed, hash64(std::as_bytes(std::span(text)))};
    const std::uint64_t drawn = hash64(std::as_bytes(std::span(both)));
    return share >= 1.0 || std::ldexp(static_cast<double>(drawn >> 11U), -53) < share;
}

std::vector<Configuration> choose_configurations(const TuningSpace& space, const Conditions& conditions,
                                                 const ConfigurationChoice& choice) {
    const auto fits = [&](const Configuration& configuration) {
        return std::ranges::all_of(conditions, [&](const auto& c) { return configuration[c.first] == c.second; });
    };
    if (conditions.empty() && !choice.all) return space.draw(choice.count, choice.seed);
    std::vector<Configuration> legal = space.all();
    std::erase_if(legal, [&](const Configuration& c) { return !fits(c); });
    if (choice.all || legal.size() <= choice.count) return legal;
    // The domains' order says nothing about speed, so a stride is a sample; the seed moves it.
    std::vector<Configuration> chosen;
    for (std::size_t i = 0; i < choice.count; ++i)
        chosen.push_back(legal[(i * legal.size() / choice.count + choice.seed) % legal.size()]);
    return chosen;
}

}  // namespace yolk::cli
