// SPDX-License-Identifier: Apache-2.0
#include "byte_step.hpp"

#include <algorithm>
#include <array>

#include "yolk/exact/exact_bytes.h"

namespace yolk::train {
namespace {

/// The smallest t with 16 z(1 - alpha/2) >= k for alpha = 1/(t/1000 + 1): ceil(1000 (1/erfc(k/16/sqrt 2) - 1)). A
/// table, because no two libraries promise one quantile.
constexpr auto kSignificant = std::to_array<std::uint64_t>(
    {0,         53,        111,       175,       246,       326,       414,       512,        621,
     743,       880,       1034,      1207,      1401,      1621,      1870,      2152,       2473,
     2838,      3255,      3733,      4282,      4913,      5642,      6485,      7463,       8601,
     9929,      11482,     13305,     15450,     17982,     20978,     24537,     28774,      33836,
     39902,     47193,     55984,     66617,     79520,     95227,     114409,    137910,     166799,
     202426,    246508,    301234,    369399,    454589,    561414,    695824,    865514,     1080478,
     1353726,   1702257,   2148345,   2721275,   3459670,   4414634,   5654003,   7268121,    9377690,
     12144514,  15786193,  20596345,  26972463,  35454459,  46778136,  61949621,  82349292,   109877372,
     147158536, 197830398, 266951555, 361580658, 491600847, 670897369, 919045226, 1263735715, 1744276894});

std::uint32_t root_below(std::uint32_t n) noexcept {
    std::uint32_t root = 0;
    while (std::uint64_t{root + 1} * (root + 1) <= n) ++root;
    return root;
}

/// 16 |sum| in units of one sixteenth of a deviation, and the deviation: z = 16 numerator / denominator.
struct Deviation {
    std::int64_t unit;
    std::int64_t denominator;
};

Deviation deviation_of(const ByteSettings& settings, Perturbation kind) noexcept {
    const std::int64_t pairs = std::max(root_below(settings.population / 2), 1U);
    if (kind == Perturbation::Vector) return {std::int64_t{16} * exact::kByteVectorUnit, 256 * pairs};
    return {std::int64_t{16} * exact::kByteMatrixUnit, 256 * pairs * root_below(settings.rank)};
}

void move_weight(float& weight, float direction) noexcept { weight = std::clamp(weight + direction, -127.0F, 127.0F); }

}  // namespace

std::uint32_t byte_significance(std::uint32_t rate, std::uint32_t generation) noexcept {
    const std::uint64_t time = std::uint64_t{rate} * generation;
    return static_cast<std::uint32_t>(std::ranges::upper_bound(kSignificant, time) - kSignificant.begin() - 1);
}

void step_bytes(const ByteSettings& settings, const ParameterTable& table, std::span<const float> sums,
                std::uint32_t generation, std::span<float> weights, std::span<float> residual) {
    const std::int64_t level = byte_significance(settings.alpha_rate, generation);
    const auto limit = static_cast<std::int64_t>(settings.feedback);
    std::size_t i = 0;
    for (const ParameterDesc& parameter : table.parameters()) {
        const Deviation deviation = deviation_of(settings, parameter.perturbation);
        const std::size_t end = i + std::size_t{parameter.rows} * parameter.columns;
        for (; i < end; ++i) {
            const auto sum = static_cast<std::int64_t>(sums[i]);
            const std::int64_t scaled = deviation.unit * (sum < 0 ? -sum : sum);
            const float sign = sum < 0 ? -1.0F : 1.0F;
            if (limit == 0) {
                if (sum != 0 && scaled >= level * deviation.denominator) move_weight(weights[i], sign);
                continue;
            }
            const std::int64_t sixteenths = (scaled + deviation.denominator / 2) / deviation.denominator;
            std::int64_t rest = static_cast<std::int64_t>(residual[i]) + (sum < 0 ? -sixteenths : sixteenths);
            if (rest >= limit || rest <= -limit) {
                move_weight(weights[i], rest < 0 ? -1.0F : 1.0F);
                rest += rest < 0 ? limit : -limit;
            }
            residual[i] = static_cast<float>(std::clamp<std::int64_t>(rest, INT16_MIN, INT16_MAX));
        }
    }
}

}  // namespace yolk::train
