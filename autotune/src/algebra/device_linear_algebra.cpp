// SPDX-License-Identifier: Apache-2.0
#include "yolk/autotune/device_linear_algebra.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>
#include <numeric>
#include <utility>

#include "device_posterior.hpp"
#include "exact_posterior.hpp"
#include "joint_gain.hpp"
#include "yolk/autotune/policy_fisher.hpp"
#include "yolk/core/log.hpp"

namespace yolk::autotune {
namespace {

/// Gains in fp32 are off by this factor or less, besides what mean and variance are (exact_improvement.h).
constexpr double kStretch = 1.0 + 0x1p-10;
/// Bounds come back times this: `reduce` takes what is below 2^-40 for zero.
constexpr double kGainScale = 0x1p60;
constexpr std::uint64_t kAuditEvery = 16;
constexpr std::size_t kAuditSample = 32;
constexpr std::size_t kGroupsAtOnce = 4;
/// Where so many candidates do not settle it, gains are all next to nothing, or bounds too wide: scoring all of them
/// on the host costs no more.
constexpr std::uint64_t kMostWorkedOut = 2048;

/// No candidate of the group gains more, says the screen.
double bound_of(const Screen& screen, std::size_t group) noexcept { return double{screen.bounds[group]} / kGainScale; }

}  // namespace

struct DeviceAlgebra::Impl {
    explicit Impl(Dispatcher made) : dispatcher(std::move(made)) {}

    Dispatcher dispatcher;
    mutable std::mutex mutex;
    std::vector<std::unique_ptr<DevicePosterior>> free;  ///< kept between searches
    DeviceAlgebraCounts counts;
    std::optional<DeviceAlgebraPlans> plans;
    bool lost = false;

    Result<std::unique_ptr<DevicePosterior>> take(std::size_t candidates) {
        {
            const std::lock_guard lock(mutex);
            for (auto& posterior : free) {
                if (posterior->candidates() != candidates) continue;
                std::swap(posterior, free.back());
                std::unique_ptr<DevicePosterior> taken = std::move(free.back());
                free.pop_back();
                taken->forget();
                return taken;
            }
            free.clear();  // of other searches
        }
        return DevicePosterior::create(dispatcher, candidates);
    }
    void give_back(std::unique_ptr<DevicePosterior> posterior) {
        const std::lock_guard lock(mutex);
        if (!lost) free.push_back(std::move(posterior));
    }
    template <class Change>
    void count(Change&& change) {
        const std::lock_guard lock(mutex);
        change(counts);
    }
};

namespace {

class DeviceLinearAlgebra final : public LinearAlgebra {
   public:
    explicit DeviceLinearAlgebra(DeviceAlgebra::Impl& shared) : shared_(shared) {}
    ~DeviceLinearAlgebra() override {
        if (posterior_ != nullptr) shared_.give_back(std::move(posterior_));
    }
    DeviceLinearAlgebra(const DeviceLinearAlgebra&) = delete;
    DeviceLinearAlgebra& operator=(const DeviceLinearAlgebra&) = delete;
    DeviceLinearAlgebra(DeviceLinearAlgebra&&) = delete;
    DeviceLinearAlgebra& operator=(DeviceLinearAlgebra&&) = delete;

    void begin(const Kernel& kernel) override {
        exact_.begin(kernel);
        host_.reset();
        if (posterior_ != nullptr) posterior_->forget();
    }
    void append(std::size_t candidate, double noise_variance, double value) override {
        if (host_ != nullptr) host_->append(candidate, noise_variance, value);
        exact_.append(candidate, noise_variance, value);
        shared_.count([](DeviceAlgebraCounts& counts) { ++counts.measurements; });
    }
    CandidatePosterior at(std::size_t candidate) override {
        if (host_ != nullptr) return host_->at(candidate);
        CandidatePosterior posterior;
        exact_.at({&candidate, 1}, {&posterior, 1});
        return posterior;
    }
    Posteriors all() override;
    Evidence evidence() override { return exact_.evidence(); }
    std::optional<std::size_t> most_promising(const Acquisition& acquisition,
                                              std::span<const std::size_t> among) override;
    std::optional<std::size_t> most_promising_with(const Acquisition& acquisition, LinearAlgebra& second,
                                                   const Acquisition& second_acquisition,
                                                   std::span<const std::size_t> among) override;

   private:
    /// The best candidate so far by its gain in double precision, the first of equal ones.
    struct Found {
        std::optional<std::size_t> candidate;
        double gain = 0.0;
    };
    void look_at(const Acquisition& acquisition, std::span<const std::size_t> candidates, Found& found);
    struct Settled {
        Found found;
        std::size_t first_choice = 0;  ///< of the device
        std::uint64_t worked_out = 0;
    };
    Result<Settled> settle(const Acquisition& acquisition, const Screen& screen);
    Result<void> check_bounds(const Screen& screen);
    Result<Screen> screened(const Acquisition& acquisition);
    Result<Found> propose(const Acquisition& acquisition);
    /// A regression beside this one, and what it looks for.
    struct Other {
        DeviceLinearAlgebra& algebra;
        const Acquisition& acquisition;
    };
    void look_at_with(const Acquisition& acquisition, const Other& other, std::span<const std::size_t> candidates,
                      Found& found);
    Result<Settled> settle_with(const Acquisition& acquisition, const Other& other, const Screen& screen,
                                const Screen& others_screen);
    Result<void> audit(const Acquisition& acquisition);
    void take_over(const Error& error);
    /// An error of this class's own: a result that is outside its tolerance.
    Error disagrees(std::string message) {
        disagrees_ = true;
        return {ErrorKind::Driver, std::move(message)};
    }

    DeviceAlgebra::Impl& shared_;
    ExactPosterior exact_;
    std::unique_ptr<LinearAlgebra> host_;  ///< since it took over
    std::unique_ptr<DevicePosterior> posterior_;
    std::vector<std::size_t> looked_at_;
    std::vector<CandidatePosterior> posteriors_;
    std::array<std::vector<double>, 3> all_;  ///< value scores, unit scores, variances
    std::vector<double> gains_;
    std::vector<std::uint32_t> groups_;
    std::uint64_t proposals_ = 0;
    bool disagrees_ = false;
};

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

}  // namespace

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
