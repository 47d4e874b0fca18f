// SPDX-License-Identifier: Apache-2.0
// A search's regression with its N x n part on the device: one model in device_linear_algebra.cpp, two in
// device_joint_gain.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "device_posterior.hpp"
#include "exact_posterior.hpp"
#include "yolk/internal/autotune/device_linear_algebra.hpp"

namespace yolk::autotune {

/// Bounds of gains come back times this: `reduce` takes what is below 2^-40 for zero.
inline constexpr double kGainScale = 0x1p60;
inline constexpr std::uint64_t kAuditEvery = 16;
/// When this many candidates have not decided a proposal, all gains are tiny or the bounds too wide: scoring every
/// candidate on the host costs no more.
inline constexpr std::uint64_t kMostWorkedOut = 2048;

/// No candidate of the group gains more, says the screen.
[[nodiscard]] inline double bound_of(const Screen& screen, std::size_t group) noexcept {
    return double{screen.bounds[group]} / kGainScale;
}

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
        std::size_t first_group = 0;   ///< with the largest bound
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
    /// Upper bounds of sums of two regressions' log gains.
    struct JointBounds {
        std::span<const double> bounds;  ///< of groups of `each` candidates
        std::size_t each = 1;
        std::uint64_t most = 0;  ///< candidates that are worked out, about
    };
    Result<Settled> settle_closely(const Acquisition& acquisition, const Other& other);
    Result<Settled> settle_by(const Acquisition& acquisition, const Other& other, const JointBounds& by);
    Result<void> add_bounds_of_all(const Acquisition& acquisition, std::span<double> bounds);
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
    /// Value scores, unit scores, variances: of all() or of add_bounds_of_all(), whichever ran last.
    std::array<std::vector<double>, 3> all_;
    std::vector<double> gains_;
    std::vector<std::uint32_t> groups_;
    std::uint64_t proposals_ = 0;
    bool disagrees_ = false;
};

}  // namespace yolk::autotune
