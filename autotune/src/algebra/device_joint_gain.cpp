// SPDX-License-Identifier: Apache-2.0
// Proposals by two regressions on the device: both screens' bounds of a group, as logarithms, bound the sum of both log
// expected improvements, which the host computes in double by falling bounds.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "device_linear_algebra_impl.hpp"
#include "joint_gain.hpp"

namespace yolk::autotune {

void DeviceLinearAlgebra::look_at_with(const Acquisition& acquisition, const Other& other,
                                       std::span<const std::size_t> candidates, Found& found) {
    Found alone;
    look_at(acquisition, candidates, alone);  // leaves in posteriors_ what this one says of those that are unknown
    std::vector<CandidatePosterior>& others = other.algebra.posteriors_;
    others.resize(looked_at_.size());
    if (looked_at_.empty()) return;
    other.algebra.exact_.at(looked_at_, others);
    for (std::size_t i = 0; i < looked_at_.size(); ++i) {
        const std::size_t c = looked_at_[i];
        gains_[i] = log_gain(acquisition, c, posteriors_[i]) + log_gain(other.acquisition, c, others[i]);
        const bool better =
            !found.candidate || gains_[i] > found.gain || (gains_[i] == found.gain && c < *found.candidate);
        if (better) found = {c, gains_[i]};
    }
}

/// As settle(), with the sum of both screens' bounds as logarithms. Gains below 2^-100 come back as 0.
Result<DeviceLinearAlgebra::Settled> DeviceLinearAlgebra::settle_with(const Acquisition& acquisition,
                                                                      const Other& other, const Screen& screen,
                                                                      const Screen& others_screen) {
    constexpr double kLeastGain = 0x1p-100;
    constexpr double kRounding = 1e-9;
    std::vector<double> bounds(screen.bounds.size());
    for (std::size_t g = 0; g < bounds.size(); ++g) {
        bounds[g] = std::log(std::max(bound_of(screen, g), kLeastGain)) +
                    std::log(std::max(bound_of(others_screen, g), kLeastGain)) + kRounding;
    }
    groups_.resize(bounds.size());
    std::iota(groups_.begin(), groups_.end(), 0U);
    const auto below = [&](std::uint32_t a, std::uint32_t b) {
        return bounds[a] != bounds[b] ? bounds[a] < bounds[b] : a > b;
    };
    std::ranges::make_heap(groups_, below);
    Settled settled;
    Found& found = settled.found;
    settled.first_choice = std::size_t{groups_[0]} * kCandidatesPerGroup + screen.leaders[groups_[0]];
    std::array<std::size_t, kCandidatesPerGroup> candidates{};
    while (!groups_.empty() && (!found.candidate || bounds[groups_.front()] >= found.gain)) {
        if (settled.worked_out >= kMostWorkedOut) return Settled{};
        std::ranges::pop_heap(groups_, below);
        const std::size_t group = groups_.back();
        groups_.pop_back();
        std::iota(candidates.begin(), candidates.end(), group * kCandidatesPerGroup);
        look_at_with(acquisition, other, candidates, found);
        settled.worked_out += looked_at_.size();
        for (std::size_t i = 0; i < looked_at_.size(); ++i) {
            if (gains_[i] > bounds[group])
                return disagrees(
                    fmt::format("a sum of log gains of {:.6g} was bounded by {:.6g}", gains_[i], bounds[group]));
        }
    }
    return settled;
}

std::optional<std::size_t> DeviceLinearAlgebra::most_promising_with(const Acquisition& acquisition,
                                                                    LinearAlgebra& second,
                                                                    const Acquisition& second_acquisition,
                                                                    std::span<const std::size_t> among) {
    auto* const on_device = dynamic_cast<DeviceLinearAlgebra*>(&second);
    const auto by_host = [&] {
        return LinearAlgebra::most_promising_with(acquisition, second, second_acquisition, among);
    };
    if (host_ != nullptr || on_device == nullptr || on_device->host_ != nullptr) return by_host();
    const Other other{*on_device, second_acquisition};
    if (!among.empty()) {
        Found found;
        look_at_with(acquisition, other, among, found);
        shared_.count([](DeviceAlgebraCounts& counts) { ++counts.near; });
        return found.candidate;
    }
    const Result<Screen> screen = screened(acquisition);
    if (!screen) take_over(screen.error());
    const Result<Screen> others_screen = on_device->screened(second_acquisition);
    if (!others_screen) on_device->take_over(others_screen.error());
    if (!screen || !others_screen) return by_host();
    const Result<Settled> settled = settle_with(acquisition, other, *screen, *others_screen);
    Result<void> audited;
    if (settled && proposals_ % kAuditEvery == 1) audited = audit(acquisition);
    if (!settled || !audited) {
        take_over(settled ? audited.error() : settled.error());
        return by_host();
    }
    if (on_device->proposals_ % kAuditEvery == 1) audited = on_device->audit(second_acquisition);
    if (!audited) {
        on_device->take_over(audited.error());
        return by_host();
    }
    if (!settled->found.candidate) return by_host();  // too many are alike
    shared_.count([&](DeviceAlgebraCounts& counts) {
        ++counts.proposals;
        counts.worked_out += settled->worked_out;
        if (settled->found.candidate == settled->first_choice) ++counts.agreed;
    });
    return settled->found.candidate;
}

}  // namespace yolk::autotune
