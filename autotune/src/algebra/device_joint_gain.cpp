// SPDX-License-Identifier: Apache-2.0
// Proposals by two regressions on the device: both screens' bounds of a group, as logarithms, bound the sum of both log
// expected improvements, which the host computes in double by falling bounds.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "device_linear_algebra_impl.hpp"
#include "joint_gain.hpp"

namespace yolk::autotune {
namespace {

constexpr double kRounding = 1e-9;
/// Where this many candidates, taken by groups, do not decide a proposal, each candidate gets a bound of its own.
constexpr std::uint64_t kMostByGroups = 128;

}  // namespace

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
        gains_[i] = acquisition.weight * log_gain(acquisition, c, posteriors_[i]) +
                    other.acquisition.weight * log_gain(other.acquisition, c, others[i]);
        const bool better =
            !found.candidate || gains_[i] > found.gain || (gains_[i] == found.gain && c < *found.candidate);
        if (better) found = {c, gains_[i]};
    }
}

/// As settle(), with the sum of both screens' bounds as logarithms. Gains below 2^-100 come back as 0. Undecided where
/// the bounds of too many groups are above the best sum.
Result<DeviceLinearAlgebra::Settled> DeviceLinearAlgebra::settle_with(const Acquisition& acquisition,
                                                                      const Other& other, const Screen& screen,
                                                                      const Screen& others_screen) {
    constexpr double kLeastGain = 0x1p-100;
    std::vector<double> bounds(screen.bounds.size());
    for (std::size_t g = 0; g < bounds.size(); ++g) {
        bounds[g] = acquisition.weight * std::log(std::max(bound_of(screen, g), kLeastGain)) +
                    other.acquisition.weight * std::log(std::max(bound_of(others_screen, g), kLeastGain)) + kRounding;
    }
    YOLK_TRY(Settled settled,
             settle_by(acquisition, other, {.bounds = bounds, .each = kCandidatesPerGroup, .most = kMostByGroups}));
    if (settled.found.candidate)
        settled.first_choice = settled.first_group * kCandidatesPerGroup + screen.leaders[settled.first_group];
    return settled;
}

/// By bounds of each candidate: groups' are products of the largest gains of both models, which are not the same
/// candidate's, and end at 2^-100. Late in a search that leaves thousands of candidates.
Result<DeviceLinearAlgebra::Settled> DeviceLinearAlgebra::settle_closely(const Acquisition& acquisition,
                                                                         const Other& other) {
    std::vector<double> bounds(exact_.candidates(), kRounding);
    YOLK_TRY_VOID(add_bounds_of_all(acquisition, bounds));
    YOLK_TRY_VOID(other.algebra.add_bounds_of_all(other.acquisition, bounds));
    for (const std::size_t c : acquisition.history->order()) bounds[c] = -std::numeric_limits<double>::infinity();
    YOLK_TRY(Settled settled, settle_by(acquisition, other, {.bounds = bounds, .each = 1, .most = kMostWorkedOut}));
    settled.first_choice = settled.first_group;
    return settled;
}

/// What this regression's scores on the device say of all candidates, with their tolerances.
Result<void> DeviceLinearAlgebra::add_bounds_of_all(const Acquisition& acquisition, std::span<double> bounds) {
    YOLK_TRY(const DevicePosterior::All all, posterior_->all());
    const double off = kMeanTolerance * acquisition.deviation;
    for (std::vector<double>& one : all_) one.resize(bounds.size());
    for (std::size_t c = 0; c < bounds.size(); ++c) {
        const double unit_score = all.unit_scores[c];
        all_[0][c] = all.value_scores[c] + all.shift * unit_score - off;
        all_[1][c] = unit_score;
        all_[2][c] = std::max(double{all.variances[c]}, 0.0) + kVarianceTolerance;
    }
    add_bounds({.acquisition = acquisition,
                .posteriors = {.value_scores = all_[0], .unit_scores = all_[1], .variances = all_[2]}},
               bounds);
    return {};
}

/// Works out groups of `each` candidates by falling bounds, until none is above the best sum.
Result<DeviceLinearAlgebra::Settled> DeviceLinearAlgebra::settle_by(const Acquisition& acquisition, const Other& other,
                                                                    const JointBounds& by) {
    groups_.resize(by.bounds.size());
    std::iota(groups_.begin(), groups_.end(), 0U);
    const auto below = [&](std::uint32_t a, std::uint32_t b) {
        return by.bounds[a] != by.bounds[b] ? by.bounds[a] < by.bounds[b] : a > b;
    };
    std::ranges::make_heap(groups_, below);
    Settled settled;
    settled.first_group = groups_[0];
    Found& found = settled.found;
    std::array<std::size_t, kCandidatesPerGroup> candidates{};
    while (!groups_.empty() && (!found.candidate || by.bounds[groups_.front()] >= found.gain)) {
        if (settled.worked_out >= by.most) {
            found = {};
            return settled;
        }
        std::size_t taken = 0;
        while (taken < kCandidatesPerGroup && !groups_.empty()) {
            std::ranges::pop_heap(groups_, below);
            const std::size_t group = groups_.back();
            groups_.pop_back();
            for (std::size_t i = 0; i < by.each; ++i) candidates[taken++] = group * by.each + i;
        }
        look_at_with(acquisition, other, std::span(candidates).first(taken), found);
        settled.worked_out += looked_at_.size();
        for (std::size_t i = 0; i < looked_at_.size(); ++i) {
            const double bound = by.bounds[looked_at_[i] / by.each];
            if (gains_[i] > bound)
                return disagrees(fmt::format("a sum of log gains of {:.6g} was bounded by {:.6g}", gains_[i], bound));
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
    Result<Settled> settled = settle_with(acquisition, other, *screen, *others_screen);
    std::uint64_t worked_out = settled ? settled->worked_out : 0;
    if (settled && !settled->found.candidate) {
        shared_.count([](DeviceAlgebraCounts& counts) { ++counts.closer; });
        settled = settle_closely(acquisition, other);
        worked_out += settled ? settled->worked_out : 0;
    }
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
        counts.worked_out += worked_out;
        if (settled->found.candidate == settled->first_choice) ++counts.agreed;
    });
    return settled->found.candidate;
}

}  // namespace yolk::autotune
