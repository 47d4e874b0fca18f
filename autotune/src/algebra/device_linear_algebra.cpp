// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/autotune/device_linear_algebra.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "device_linear_algebra_impl.hpp"
#include "yolk/internal/autotune/policy_fisher.hpp"
#include "yolk/log.hpp"

namespace yolk::autotune {
namespace {

/// Gains in fp32 are off by this factor or less, besides what mean and variance are (exact_improvement.h).
constexpr double kStretch = 1.0 + 0x1p-10;
constexpr std::size_t kAuditSample = 32;
constexpr std::size_t kGroupsAtOnce = 4;

}  // namespace

/// In double precision on the host.
Posteriors DeviceLinearAlgebra::all() {
    if (host_ != nullptr) return host_->all();
    constexpr std::size_t kAtOnce = 512;
    const std::size_t size = exact_.candidates();
    for (std::vector<double>& one : all_) one.resize(size);
    for (std::size_t first = 0; first < size; first += kAtOnce) {
        looked_at_.resize(std::min(kAtOnce, size - first));
        std::iota(looked_at_.begin(), looked_at_.end(), first);
        posteriors_.resize(looked_at_.size());
        exact_.at(looked_at_, posteriors_);
        for (std::size_t i = 0; i < looked_at_.size(); ++i) {
            all_[0][first + i] = posteriors_[i].value_score;
            all_[1][first + i] = posteriors_[i].unit_score;
            all_[2][first + i] = posteriors_[i].variance;
        }
    }
    return {.value_scores = all_[0], .unit_scores = all_[1], .variances = all_[2]};
}

void DeviceLinearAlgebra::look_at(const Acquisition& acquisition, std::span<const std::size_t> candidates,
                                  Found& found) {
    looked_at_.clear();
    for (const std::size_t c : candidates) {
        if (c < exact_.candidates() && !acquisition.history->known(c)) looked_at_.push_back(c);
    }
    posteriors_.resize(looked_at_.size());
    gains_.resize(looked_at_.size());
    if (looked_at_.empty()) return;
    exact_.at(looked_at_, posteriors_);
    for (std::size_t i = 0; i < looked_at_.size(); ++i) {
        gains_[i] = expected_gain(acquisition, looked_at_[i], posteriors_[i]);
        const bool better =
            !found.candidate || gains_[i] > found.gain || (gains_[i] == found.gain && looked_at_[i] < *found.candidate);
        if (better) found = {looked_at_[i], gains_[i]};
    }
}

/// A sample of all scores against double precision.
Result<void> DeviceLinearAlgebra::audit(const Acquisition& acquisition) {
    YOLK_TRY(const DevicePosterior::All all, posterior_->all());
    const std::size_t size = exact_.candidates();
    std::vector<std::size_t> sample;
    for (std::size_t i = 0; i < std::min(kAuditSample, size); ++i)
        sample.push_back((i * size / kAuditSample + proposals_ * 7919) % size);
    posteriors_.resize(sample.size());
    exact_.at(sample, posteriors_);
    double mean_error = 0.0;
    double variance_error = 0.0;
    for (std::size_t i = 0; i < sample.size(); ++i) {
        const CandidatePosterior& right = posteriors_[i];
        const double mean = right.value_score - acquisition.level * right.unit_score;
        const double got = all.value_scores[sample[i]] - (acquisition.level - all.shift) * all.unit_scores[sample[i]];
        // Value scores of values less the shift are less by the shift times the unit scores.
        mean_error = std::max(mean_error, std::abs(got - mean));
        variance_error = std::max(variance_error, std::abs(all.variances[sample[i]] - right.variance));
    }
    mean_error /= kMeanTolerance * acquisition.deviation;
    variance_error /= kVarianceTolerance;
    shared_.count([&](DeviceAlgebraCounts& counts) {
        ++counts.audits;
        counts.mean_error = std::max(counts.mean_error, mean_error);
        counts.variance_error = std::max(counts.variance_error, variance_error);
    });
    if (mean_error <= 1.0 && variance_error <= 1.0) return {};
    return disagrees(
        fmt::format("a mean was off by {:.2g} of its tolerance, a variance by {:.2g}", mean_error, variance_error));
}

/// What was worked out last against what the screen said of its groups.
Result<void> DeviceLinearAlgebra::check_bounds(const Screen& screen) {
    for (std::size_t i = 0; i < looked_at_.size(); ++i) {
        const double bound = bound_of(screen, looked_at_[i] / kCandidatesPerGroup);
        if (gains_[i] > bound + 0x1p-99)
            return disagrees(fmt::format("a gain of {:.6g} was bounded by {:.6g}", gains_[i], bound));
    }
    return {};
}

/// Works candidates out, by groups with falling bounds, until no bound is left above the best gain.
Result<DeviceLinearAlgebra::Settled> DeviceLinearAlgebra::settle(const Acquisition& acquisition, const Screen& screen) {
    // Groups by their bounds, a few more of them ordered as long as they are needed.
    groups_.resize(screen.bounds.size());
    std::iota(groups_.begin(), groups_.end(), 0U);
    const auto above = [&](std::uint32_t a, std::uint32_t b) {
        return screen.bounds[a] != screen.bounds[b] ? screen.bounds[a] > screen.bounds[b] : a < b;
    };
    Settled settled;
    Found& found = settled.found;
    std::uint64_t& worked_out = settled.worked_out;
    std::array<std::size_t, kGroupsAtOnce * kCandidatesPerGroup> candidates{};
    std::size_t ordered = 0;
    for (std::size_t next = 0; next < groups_.size();) {
        if (next == ordered) {
            ordered = std::min(groups_.size(), std::max<std::size_t>(16, 4 * ordered));
            std::partial_sort(groups_.begin() + static_cast<std::ptrdiff_t>(next),
                              groups_.begin() + static_cast<std::ptrdiff_t>(ordered), groups_.end(), above);
        }
        if (next == 0)
            settled.first_choice = std::size_t{groups_[0]} * kCandidatesPerGroup + screen.leaders[groups_[0]];
        std::size_t taken = 0;
        while (taken < kGroupsAtOnce && next < ordered) {
            const std::uint32_t group = groups_[next];
            if (found.candidate && bound_of(screen, group) < found.gain) break;
            for (std::size_t i = 0; i < kCandidatesPerGroup; ++i)
                candidates[taken * kCandidatesPerGroup + i] = std::size_t{group} * kCandidatesPerGroup + i;
            ++next;
            // The first group alone: its best is usually better than all others' bounds.
            if (++taken == 1 && !found.candidate) break;
        }
        if (taken == 0) break;
        if (worked_out >= kMostWorkedOut) {
            return disagrees(fmt::format("bounds did not settle a proposal within {} candidates (gain {:.3g})",
                                         worked_out, found.gain));
        }
        look_at(acquisition, std::span(candidates).first(taken * kCandidatesPerGroup), found);
        worked_out += looked_at_.size();
        YOLK_TRY_VOID(check_bounds(screen));
    }
    return settled;
}

/// Bounds of all groups, counted.
Result<Screen> DeviceLinearAlgebra::screened(const Acquisition& acquisition) {
    {
        const std::lock_guard lock(shared_.mutex);
        if (shared_.lost) return Error{ErrorKind::DeviceLost, "The device is lost."};
    }
    if (posterior_ == nullptr) {
        YOLK_TRY(posterior_, shared_.take(exact_.candidates()));
    }
    const std::uint64_t plans = posterior_->plans_made();
    const std::uint64_t rebuilds = posterior_->rebuilds();
    const std::uint64_t inversions = posterior_->inversions();
    const Slack slack{.mean = kMeanTolerance * acquisition.deviation,
                      .variance = kVarianceTolerance,
                      .stretch = kStretch * kGainScale};
    YOLK_TRY(const Screen screen, posterior_->screen(exact_, acquisition, slack));
    const double residual = screen.residual / kResidualTolerance;
    if (!(residual <= 1.0)) {
        return disagrees(fmt::format("a solve's residual was {:.2g} of its tolerance", residual));
    }
    ++proposals_;
    DevicePosterior& posterior = *posterior_;
    shared_.count([&](DeviceAlgebraCounts& counts) {
        counts.residual = std::max(counts.residual, residual);
        counts.plans += posterior.plans_made() - plans;
        counts.regressions += posterior.rebuilds() - rebuilds;
        counts.inversions += posterior.inversions() - inversions;
        shared_.plans = DeviceAlgebraPlans{posterior.plans().scores, posterior.plans().inverse};
    });
    return screen;
}

Result<DeviceLinearAlgebra::Found> DeviceLinearAlgebra::propose(const Acquisition& acquisition) {
    YOLK_TRY(const Screen screen, screened(acquisition));
    YOLK_TRY(const Settled settled, settle(acquisition, screen));
    shared_.count([&](DeviceAlgebraCounts& counts) {
        ++counts.proposals;
        counts.worked_out += settled.worked_out;
        if (settled.found.candidate == settled.first_choice) ++counts.agreed;
    });
    if (proposals_ % kAuditEvery == 1) YOLK_TRY_VOID(audit(acquisition));
    return settled.found;
}

/// From here to the next begin() the host does it all.
void DeviceLinearAlgebra::take_over(const Error& error) {
    const bool disagrees = std::exchange(disagrees_, false);
    const bool lost = error.kind == ErrorKind::DeviceLost;
    shared_.count([&](DeviceAlgebraCounts& counts) {
        (disagrees ? counts.disagreements : counts.failures) += 1;
        counts.reason = error.message;
        shared_.lost = shared_.lost || lost;
    });
    if (posterior_ != nullptr) posterior_->forget();
    if (lost) posterior_.reset();
    host_ = host_linear_algebra();
    host_->begin(exact_.kernel());
    for (std::size_t k = 0; k < exact_.count(); ++k) {
        const ExactPosterior::Measurement& measured = exact_.measurement(k);
        host_->append(measured.candidate, measured.noise_variance, measured.value);
    }
}

std::optional<std::size_t> DeviceLinearAlgebra::most_promising(const Acquisition& acquisition,
                                                               std::span<const std::size_t> among) {
    if (host_ != nullptr) return host_->most_promising(acquisition, among);
    if (!among.empty()) {
        Found found;
        look_at(acquisition, among, found);
        shared_.count([](DeviceAlgebraCounts& counts) { ++counts.near; });
        return found.candidate;
    }
    const Result<Found> found = propose(acquisition);
    if (found) return found->candidate;
    take_over(found.error());
    return host_->most_promising(acquisition, among);
}

Result<std::shared_ptr<DeviceAlgebra>> DeviceAlgebra::create(const Device& device) {
    YOLK_TRY(Dispatcher dispatcher, Dispatcher::create(device));
    YOLK_TRY_VOID(check_policy_fisher(dispatcher));
    return std::shared_ptr<DeviceAlgebra>(new DeviceAlgebra(std::make_unique<Impl>(std::move(dispatcher))));
}

std::unique_ptr<LinearAlgebra> DeviceAlgebra::make() { return std::make_unique<DeviceLinearAlgebra>(*impl_); }

DeviceAlgebraCounts DeviceAlgebra::counts() const {
    const std::lock_guard lock(impl_->mutex);
    return impl_->counts;
}

std::optional<DeviceAlgebraPlans> DeviceAlgebra::plans() const {
    const std::lock_guard lock(impl_->mutex);
    return impl_->plans;
}

std::function<std::unique_ptr<LinearAlgebra>()> on_device(std::shared_ptr<DeviceAlgebra> algebra) {
    return [algebra = std::move(algebra)] { return algebra->make(); };
}

}  // namespace yolk::autotune
