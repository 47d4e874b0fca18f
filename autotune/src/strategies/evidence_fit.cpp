// SPDX-License-Identifier: Apache-2.0
#include "evidence_fit.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "factor_kernels.hpp"
#include "vector_lanes.hpp"

namespace yolk::autotune {
namespace {

// Penalties per step squared, in units of log evidence.
constexpr double kSharePenalty = 0.2;
constexpr double kNoisePenalty = 0.5;
constexpr double kRelevancePenalty = 0.2;
constexpr int kShareSteps = 4;
constexpr int kNoiseSteps = 2;
constexpr int kRelevanceSteps = 5;
constexpr int kSweeps = 2;
constexpr std::size_t kNever = static_cast<std::size_t>(-1);

/// Where the ascent stands: steps from the defaults.
struct Steps {
    int share = 0;  ///< factors of 2 on the odds of the log-linear share
    int noise = 0;
    int devices = 0;  ///< factors of 2 on the weight of the devices' factors
    std::vector<int> relevance;
};

/// The trials of one fit. What is a number per pair of measurements is packed: the upper triangle row by row, without
/// the diagonal.
class Fit {
   public:
    Fit(const std::shared_ptr<const CandidateGroups>& groups, std::span<const std::size_t> measured,
        std::span<const double> values, const FittedCovariance& start)
        : without_factors_(start), factors_(start.covariance.factors), values_(values), size_(measured.size()) {
        without_factors_.covariance.factors.clear();
        const CandidateSet& candidates = groups->candidates();
        const Covariance linear(groups, {.linear_share = 1.0, .residual_share = 0.0});
        const auto device_products = [&](std::size_t a, std::size_t b) {
            double sum = 0.0;
            for (const auto& factor : factors_) sum += factor[measured[a]] * factor[measured[b]];
            return sum;
        };
        linear_ = packed([&](std::size_t a, std::size_t b) { return linear.between(measured[a], measured[b]); });
        if (!factors_.empty()) devices_ = packed(device_products);
        for (std::size_t a = 0; a < size_; ++a) {
            linear_diagonal_.push_back(linear.between(measured[a], measured[a]));
            device_diagonal_.push_back(device_products(a, a));
        }
        const auto parameters = candidates.space().parameters();
        const auto varying = static_cast<double>(std::max<std::size_t>(1, groups->varying()));
        const double length = start.covariance.length > 0.0 ? start.covariance.length : 0.5 * std::sqrt(varying);
        for (std::size_t p = 0; p < parameters.size(); ++p) {
            distances_.push_back(packed([&](std::size_t a, std::size_t b) {
                return 5.0 / (length * length) *
                       squared_distance(parameters[p], candidates[measured[a]][p], candidates[measured[b]][p]);
            }));
            varies_.push_back(distances_.back().size() > 0 && distances_.back().maxCoeff() > 0.0);
        }
        width_ = (size_ + 2 + kLane - 1) / kLane * kLane;
        matrix_.assign(size_ * width_, 0.0);
    }

    [[nodiscard]] FittedCovariance settings(const Steps& steps, bool with_factors) const {
        FittedCovariance fitted = without_factors_;
        if (with_factors) fitted.covariance.factors = factors_;
        const double odds = without_factors_.covariance.linear_share / without_factors_.covariance.residual_share *
                            std::pow(2.0, steps.share);
        const double total = without_factors_.covariance.linear_share + without_factors_.covariance.residual_share;
        fitted.covariance.linear_share = total * odds / (1.0 + odds);
        fitted.covariance.residual_share = total / (1.0 + odds);
        fitted.noise = without_factors_.noise * std::pow(2.0, steps.noise);
        for (auto& factor : fitted.covariance.factors) {
            for (double& value : factor) value *= std::pow(2.0, 0.5 * steps.devices);
        }
        fitted.covariance.relevance.clear();
        for (const int step : steps.relevance) fitted.covariance.relevance.push_back(std::pow(2.0, step));
        return fitted;
    }

    /// Of the covariance at `steps`, whose distances are `distance`.
    [[nodiscard]] double score(const Steps& steps, const Eigen::ArrayXd& distance) {
        const FittedCovariance fitted = settings(steps, /*with_factors=*/false);
        const double device_weight = std::pow(2.0, steps.devices);
        covariances_ = fitted.covariance.linear_share * linear_;
        if (devices_.size() > 0) covariances_ += device_weight * devices_;
        const std::span<double> all(covariances_.data(), static_cast<std::size_t>(covariances_.size()));
        add_matern({distance.data(), all.size()}, all, fitted.covariance.residual_share, all);
        const double* from = all.data();
        for (std::size_t a = 0; a < size_; ++a) {
            double* const row = &matrix_[a * width_];
            row[a] = fitted.covariance.linear_share * linear_diagonal_[a] + device_weight * device_diagonal_[a] +
                     fitted.covariance.residual_share + fitted.noise * fitted.noise;
            std::fill(row + a / kLane * kLane, row + a, 0.0);
            std::copy_n(from, size_ - a - 1, row + a + 1);
            from += size_ - a - 1;
            row[size_] = values_[a];
            row[size_ + 1] = 1.0;
        }
        if (!factor_in_place(matrix_.data(), size_, width_)) return -std::numeric_limits<double>::infinity();
        double values_values = 0.0;
        double values_units = 0.0;
        double units_units = 0.0;
        double log_pivots = 0.0;
        for (std::size_t a = 0; a < size_; ++a) {
            const double* const row = &matrix_[a * width_];
            values_values += row[size_] * row[size_];
            values_units += row[size_] * row[size_ + 1];
            units_units += row[size_ + 1] * row[size_ + 1];
            log_pivots += std::log(row[a]);
        }
        const double squares = values_values - values_units * values_units / units_units;
        double penalty = kSharePenalty * (steps.share * steps.share + steps.devices * steps.devices) +
                         kNoisePenalty * steps.noise * steps.noise;
        for (const int step : steps.relevance) penalty += kRelevancePenalty * step * step;
        const double count = static_cast<double>(size_) + fitted.scale_count;
        return -0.5 * count * std::log(std::max(squares + fitted.scale_count, 1e-12) / count) - log_pivots - penalty;
    }

    [[nodiscard]] Steps best() {
        Steps steps{.share = 0, .noise = 0, .devices = 0, .relevance = std::vector<int>(distances_.size(), 0)};
        Eigen::ArrayXd distance = Eigen::ArrayXd::Zero(linear_.size());
        for (std::size_t p = 0; p < distances_.size(); ++p) {
            if (varies_[p]) distance += distances_[p];
        }
        double most = score(steps, distance);
        Eigen::ArrayXd trial;
        std::size_t accepted = 0;
        // One coordinate's steps up, or else down: below where a step up began the score is smaller. `settled` is the
        // count of accepted steps at which this coordinate's own were last tried; until there are more, they are vain.
        const auto climb = [&](int& which, int limit, const Eigen::ArrayXd* own_distance, std::size_t& settled) {
            if (settled == accepted) return;
            const std::size_t before_any = accepted;
            for (const int change : {1, -1}) {
                while (std::abs(which + change) <= limit) {
                    const double before = std::pow(2.0, which);
                    which += change;
                    if (own_distance != nullptr) trial = distance + (std::pow(2.0, which) - before) * *own_distance;
                    const double now = score(steps, own_distance != nullptr ? trial : distance);
                    if (now <= most) {
                        which -= change;
                        break;
                    }
                    if (own_distance != nullptr) distance.swap(trial);
                    most = now;
                    ++accepted;
                }
                if (accepted > before_any) break;
            }
            settled = accepted;
        };
        std::vector<std::size_t> settled(distances_.size() + 3, kNever);
        for (int sweep = 0; sweep < kSweeps; ++sweep) {
            const std::size_t d = distances_.size();
            if (without_factors_.covariance.linear_share > 0.0) climb(steps.share, kShareSteps, nullptr, settled[d]);
            for (std::size_t p = 0; p < d; ++p) {
                if (varies_[p]) climb(steps.relevance[p], kRelevanceSteps, &distances_[p], settled[p]);
            }
            if (!factors_.empty()) climb(steps.devices, kShareSteps, nullptr, settled[d + 1]);
            climb(steps.noise, kNoiseSteps, nullptr, settled[d + 2]);
        }
        return steps;
    }

   private:
    template <class Entry>
    [[nodiscard]] Eigen::ArrayXd packed(Entry&& entry) const {
        Eigen::ArrayXd all(static_cast<Eigen::Index>(size_ * (size_ - 1) / 2));
        Eigen::Index at = 0;
        for (std::size_t a = 0; a < size_; ++a) {
            for (std::size_t b = a + 1; b < size_; ++b) all(at++) = entry(a, b);
        }
        return all;
    }

    FittedCovariance without_factors_;
    std::vector<std::vector<double>> factors_;
    std::span<const double> values_;
    std::size_t size_;
    Eigen::ArrayXd linear_, devices_;
    std::vector<double> linear_diagonal_, device_diagonal_;
    std::vector<Eigen::ArrayXd> distances_;
    std::vector<bool> varies_;
    Eigen::ArrayXd covariances_;
    std::vector<double> matrix_;  ///< of a trial: upper triangle, then the values and the units
    std::size_t width_ = 0;
};

}  // namespace

FittedCovariance fit_covariance(const std::shared_ptr<const CandidateGroups>& groups,
                                std::span<const std::size_t> measured, std::span<const double> values,
                                const FittedCovariance& start) {
    Fit fit(groups, measured, values, start);
    return fit.settings(fit.best(), /*with_factors=*/true);
}

FittedCovariance fit_covariance(const CandidateSet& candidates, std::span<const std::size_t> measured,
                                std::span<const double> values, const FittedCovariance& start) {
    return fit_covariance(std::make_shared<const CandidateGroups>(candidates), measured, values, start);
}

}  // namespace yolk::autotune
