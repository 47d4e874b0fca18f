// SPDX-License-Identifier: Apache-2.0
// The N x n part of a regression on a device: scores and variances of all candidates, and bounds from above on what
// measuring each is expected to gain, by Yolk's own primitives.
//
// Kept on the device: P = K(S,:), a row per measurement; X = A^-1; the variances. A new measurement i takes
//   u = X k_S / l                  natural_gradient (l, the pivot of i in the factor of A, comes from the host)
//   w = (u, -1 / l)                the next row of L^-1, up to its sign
//   X + w w^T                      matmul: the inverse bordered by one row and column
// and a proposal
//   X y, X 1                       natural_gradient
//   (X y, X 1, w ...) P            matmul: value scores, unit scores, and what w takes off the variances
//   variances, gains               expected_improvement
//   largest of every 8, and its place   reduce
// A regression that begins anew, and every 64 measurements, takes X by block_inverse; the former the variances as
// diag K - diag(P^T X P), too, by matmul.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "exact_posterior.hpp"
#include "yolk/block_inverse.hpp"
#include "yolk/dispatcher.hpp"
#include "yolk/expected_improvement.hpp"
#include "yolk/matmul.hpp"
#include "yolk/natural_gradient.hpp"
#include "yolk/reduce.hpp"

namespace yolk::autotune {

/// How many candidates share a bound.
inline constexpr std::uint32_t kCandidatesPerGroup = 8;
/// Counts of measurements are padded to a multiple of this: plans stay for so many.
inline constexpr std::uint32_t kMeasurementBucket = 64;
inline constexpr std::uint32_t kMostMeasurements = 1024;  ///< block_inverse's largest block
/// New measurements that one pass over P takes.
inline constexpr std::uint32_t kStepsAtOnce = 2;
/// Rows of what P is multiplied by: X y, X 1, and one per step.
inline constexpr std::uint32_t kScoreRows = 2 + kStepsAtOnce;
[[nodiscard]] constexpr std::uint32_t padded_candidates(std::size_t candidates) noexcept {
    return static_cast<std::uint32_t>((candidates + 255) / 256 * 256);
}
[[nodiscard]] constexpr std::uint32_t padded_measurements(std::size_t count) noexcept {
    return static_cast<std::uint32_t>((count + kMeasurementBucket - 1) / kMeasurementBucket * kMeasurementBucket);
}

/// By how much bounds are above, so that they are bounds although the device computes in fp32.
struct Slack {
    double mean = 0.0;      ///< in units of the values
    double variance = 0.0;  ///< in units of K
    double stretch = 1.0;
};

/// What a proposal's work comes to.
struct Screen {
    std::span<const float> bounds;           ///< largest gain of each group of kCandidatesPerGroup
    std::span<const std::uint32_t> leaders;  ///< its candidate, counted within the group
    double residual = 0.0;                   ///< of the solves, in units of their right-hand sides' largest element
};

/// What a primitive's plan on this device takes, for reports and tests.
struct DevicePosteriorPlans {
    MatmulConfig scores, border, quadratic;
    BlockInverseConfig inverse;
    ExpectedImprovementConfig improvement;
};

/// One thread at a time. The device must outlive it.
class DevicePosterior {
   public:
    [[nodiscard]] static Result<std::unique_ptr<DevicePosterior>> create(Dispatcher& dispatcher,
                                                                         std::size_t candidates);
    /// What is there belongs to another regression.
    void forget() noexcept { done_ = 0; }
    /// Takes what `exact` has that the device does not, and bounds all gains. Errors: more measurements than
    /// kMostMeasurements, an inverse that is none, those of plans, out of memory, device lost, driver.
    [[nodiscard]] Result<Screen> screen(ExactPosterior& exact, const Acquisition& acquisition, const Slack& slack);
    /// Scores and variances of all, as of the last screen().
    struct All {
        std::span<const float> value_scores, unit_scores, variances;
        double shift = 0.0;  ///< the values were taken less this
    };
    [[nodiscard]] Result<All> all();

    [[nodiscard]] std::size_t candidates() const noexcept { return candidates_; }
    [[nodiscard]] std::uint64_t rebuilds() const noexcept { return rebuilds_; }
    [[nodiscard]] std::uint64_t inversions() const noexcept { return inversions_; }
    [[nodiscard]] std::uint64_t plans_made() const noexcept { return plans_made_; }
    /// Of the bucket of the last screen().
    [[nodiscard]] const DevicePosteriorPlans& plans() const noexcept { return bucket_->plans; }

   private:
    struct Bucket {
        std::uint32_t n = 0;
        DevicePosteriorPlans plans;
        NaturalGradientPlan solve;
        MatmulPlan border, scores, quadratic;
        BlockInversePlan inverse;
        ExpectedImprovementPlan step, whole;
        // [which of the two X is current]
        std::array<std::array<BoundNaturalGradient, kScoreRows>, 2> bound_solve;
        std::array<std::array<BoundMatmul, kStepsAtOnce>, 2> bound_border;
        BoundMatmul bound_scores, bound_quadratic;
        BoundBlockInverse bound_inverse;
        BoundExpectedImprovement bound_step, bound_whole;
    };
    DevicePosterior(Dispatcher& dispatcher, std::size_t candidates);
    Result<void> reserve(std::uint32_t measurements);
    Result<void> make_bucket(std::uint32_t n);
    Result<void> plan_bucket(Bucket& bucket);
    Result<void> bind_bucket(Bucket& bucket);
    Result<void> rebuild(ExactPosterior& exact);
    Result<void> invert(const ExactPosterior& exact, std::size_t count);
    Result<void> record_steps(const ExactPosterior& exact, std::size_t first, std::size_t count);
    void update_prior(const Acquisition& acquisition);
    void record_proposal(const Acquisition& acquisition, const Slack& slack, std::uint32_t steps);
    Result<double> checked_residual(ExactPosterior& exact, std::size_t first, std::size_t steps);
    Result<void> run();

    void begin_recording() noexcept;
    [[nodiscard]] std::span<float> staged(std::uint64_t offset, std::uint64_t count) const noexcept;
    [[nodiscard]] std::span<const float> returned(std::uint64_t offset, std::uint64_t count) const noexcept;
    [[nodiscard]] std::uint64_t wide() const noexcept { return padded_; }

    Dispatcher& dispatcher_;
    std::size_t candidates_;
    std::uint32_t padded_;  ///< candidates
    std::uint32_t capacity_ = 0;
    std::size_t done_ = 0;  ///< measurements of the regression that the device has
    std::size_t x_ = 0;     ///< which of the two X is current
    double shift_ = 0.0;
    Bucket* bucket_ = nullptr;
    std::map<std::uint32_t, std::unique_ptr<Bucket>> buckets_;
    Buffer columns_, products_, inverses_, weights_, rows_, vectors_, candidates_data_, groups_, inverse_data_,
        scratch_;
    Buffer upload_, readback_, audit_;
    std::optional<Recorder> recorder_;
    ReducePlan largest_, place_;
    BoundReduce bound_largest_, bound_place_;
    std::vector<float> prior_;  ///< as the device has it
    std::vector<double> right_;
    std::uint64_t rebuilds_ = 0, inversions_ = 0, plans_made_ = 0;
};

}  // namespace yolk::autotune
