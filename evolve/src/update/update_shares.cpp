// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/evolve/update_shares.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "yolk/internal/core/shape.hpp"
#include "yolk/result.hpp"

namespace yolk::evolve {
namespace {

/// Multiply-adds in whose time a byte comes to the host and is put where it belongs. A choice between a CPU driver's 3
/// (lavapipe: 6 G multiply-adds/s, 2 GB/s) and a GPU's 200 (4 T/s, 20 GB/s over PCIe 4), which no measurement of one
/// device settles: where the two ways are near, either will do.
constexpr double kCostOfByte = 64.0;
/// A unit of work, per pair (yolk/internal/primitives/es_update_strips.hpp).
constexpr double kProductsOfUnit = 8.0;

/// For each device the share of `total` where its items end, as a number of items that `nearest` finds.
template <class Nearest>
std::vector<std::uint32_t> bounds_of(std::span<const double> rates, const Nearest& nearest) {
    const double sum = std::accumulate(rates.begin(), rates.end(), 0.0);
    std::vector<std::uint32_t> bounds{0};
    double before = 0.0;
    std::uint32_t bound = 0;
    for (const double rate : rates) {
        before += rate;
        // The last device that has a rate gets the rest, whatever the sum's rounding.
        if (rate > 0.0) bound = std::max(bound, nearest(before >= sum ? 1.0 : before / sum));
        bounds.push_back(bound);
    }
    return bounds;
}

std::uint64_t largest_share(const UpdateStrips& strips, std::size_t devices) {
    const std::vector<double> alike(devices, 1.0);
    const std::vector<std::uint32_t> bounds = deal(strips, alike);
    std::uint64_t largest = 0;
    for (std::size_t d = 0; d < devices; ++d)
        largest = std::max(largest, strips.work_before(bounds[d + 1]) - strips.work_before(bounds[d]));
    return largest;
}

}  // namespace

const char* to_string(UpdateSharing sharing) noexcept {
    return sharing == UpdateSharing::Parameters ? "parameters" : "pairs";
}

SharingChoice choose_sharing(const SharingProblem& problem) {
    const UpdateStrips strips(problem.parameters, problem.rank);
    const auto work = static_cast<double>(std::max<std::uint64_t>(strips.work_before(strips.count()), 1));
    const auto largest = static_cast<double>(largest_share(strips, problem.devices));
    const auto devices = static_cast<double>(problem.devices);
    const double elements = problem.parameters.element_count();
    const double most_pairs = std::ceil(problem.pairs / devices);
    const double by_parameters = problem.pairs * kProductsOfUnit * largest + kCostOfByte * 4.0 * elements;
    const double by_pairs = most_pairs * kProductsOfUnit * work + kCostOfByte * 8.0 * elements * devices;
    const std::string figures = fmt::format(
        "of {} shares the largest has {:.1f} % of the sums by parameters and {:.1f} % by pairs, and {:.0f} "
        "bytes come to the host, or {:.0f}",
        problem.devices, 100.0 * largest / work, 100.0 * most_pairs / std::max(problem.pairs, 1U), 4.0 * elements,
        8.0 * elements * devices);
    if (!problem.integer_weights) {
        return {
            .sharing = UpdateSharing::Parameters,
            .reason = fmt::format("The update is shared by parameters, because its weights are floats: {}.", figures)};
    }
    const UpdateSharing sharing = by_pairs < by_parameters ? UpdateSharing::Pairs : UpdateSharing::Parameters;
    return {.sharing = sharing, .reason = fmt::format("The update is shared by {}: {}.", to_string(sharing), figures)};
}

Result<void> check_rates(std::span<const double> rates, std::size_t devices) {
    if (rates.size() != devices)
        return bad_input("There are {} rates for {} devices; the two must be equal.", rates.size(), devices);
    const auto bad = std::ranges::find_if_not(rates, [](double rate) { return std::isfinite(rate) && rate >= 0.0; });
    if (bad != rates.end()) {
        return bad_input("The rate of device {} is {}; it must be finite, and 0 or above.", bad - rates.begin(), *bad);
    }
    if (std::ranges::any_of(rates, [](double rate) { return rate > 0.0; })) return {};
    return bad_input("The rates of all {} devices are 0, so that nothing is left to make the update.", devices);
}

std::vector<std::uint32_t> deal(std::uint32_t count, std::span<const double> rates) {
    return bounds_of(rates, [&](double share) { return static_cast<std::uint32_t>(std::lround(share * count)); });
}

std::vector<std::uint32_t> deal(const UpdateStrips& strips, std::span<const double> rates) {
    const auto work = static_cast<double>(strips.work_before(strips.count()));
    return bounds_of(rates, [&](double share) -> std::uint32_t {
        if (share >= 1.0) return strips.count();
        // The first strip that begins at the share or after it, or the one before, whichever begins nearer.
        std::uint32_t low = 0;
        std::uint32_t high = strips.count();
        while (low < high) {
            const std::uint32_t middle = low + (high - low) / 2;
            if (static_cast<double>(strips.work_before(middle)) < share * work)
                low = middle + 1;
            else
                high = middle;
        }
        if (low == 0) return 0;
        const double over = static_cast<double>(strips.work_before(low)) - share * work;
        const double under = share * work - static_cast<double>(strips.work_before(low - 1));
        return under < over ? low - 1 : low;
    });
}

}  // namespace yolk::evolve
