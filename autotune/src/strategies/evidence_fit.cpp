// SPDX-License-Identifier: Apache-2.0
#include "evidence_fit.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

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

/// Where the ascent stands: steps from the defaults.
struct Steps {
    int share = 0;  ///< factors of 2 on the odds of the log-linear share
    int noise = 0;
    int devices = 0;  ///< factors of 2 on the weight of the devices' factors
    std::vector<int> relevance;
};

class Fit {
   public:
    Fit(const CandidateSet& candidates, std::span<const std::size_t> measured, std::span<const double> values,
        const FittedCovariance& start)
        : without_factors_(start),
          factors_(start.covariance.factors),
          size_(static_cast<Eigen::Index>(measured.size())) {
        without_factors_.covariance.factors.clear();
        values_ = Eigen::Map<const Eigen::VectorXd>(values.data(), size_);
        const auto parameters = candidates.space().parameters();
        const Covariance linear(candidates, {.linear_share = 1.0, .residual_share = 0.0});
        linear_.resize(size_, size_);
        for (Eigen::Index a = 0; a < size_; ++a) {
            for (Eigen::Index b = 0; b <= a; ++b) {
                linear_(a, b) = linear_(b, a) =
                    linear.between(measured[static_cast<std::size_t>(a)], measured[static_cast<std::size_t>(b)]);
            }
        }
        devices_ = Eigen::MatrixXd::Zero(size_, size_);
        for (const auto& factor : start.covariance.factors) {
            Eigen::VectorXd at(size_);
            for (Eigen::Index a = 0; a < size_; ++a) at(a) = factor[measured[static_cast<std::size_t>(a)]];
            devices_ += at * at.transpose();
        }
        for (std::size_t p = 0; p < parameters.size(); ++p) {
            Eigen::MatrixXd& distance = distances_.emplace_back(size_, size_);
            for (Eigen::Index a = 0; a < size_; ++a) {
                for (Eigen::Index b = 0; b < size_; ++b) {
                    distance(a, b) =
                        squared_distance(parameters[p], candidates[measured[static_cast<std::size_t>(a)]][p],
                                         candidates[measured[static_cast<std::size_t>(b)]][p]);
                }
            }
            varies_.push_back(distance.maxCoeff() > 0.0);
        }
        const auto varying = static_cast<double>(
            std::ranges::count_if(parameters, [](const Parameter& parameter) { return parameter.values.size() > 1; }));
        length_ = start.covariance.length > 0.0 ? start.covariance.length : 0.5 * std::sqrt(std::max(1.0, varying));
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

    [[nodiscard]] double score(const Steps& steps) const {
        const FittedCovariance fitted = settings(steps, /*with_factors=*/false);
        Eigen::ArrayXXd distance = Eigen::ArrayXXd::Zero(size_, size_);
        for (std::size_t p = 0; p < distances_.size(); ++p) {
            if (varies_[p])
                distance += fitted.covariance.relevance[p] * 5.0 / (length_ * length_) * distances_[p].array();
        }
        const Eigen::ArrayXXd r = distance.sqrt();
        Eigen::MatrixXd a = fitted.covariance.linear_share * linear_ + std::pow(2.0, steps.devices) * devices_;
        a.array() += fitted.covariance.residual_share * (1.0 + r + distance / 3.0) * (-r).exp();
        a.diagonal().array() += fitted.noise * fitted.noise;
        const Eigen::LLT<Eigen::MatrixXd> factor(a);
        if (factor.info() != Eigen::Success) return -std::numeric_limits<double>::infinity();
        const Eigen::VectorXd values = factor.matrixL().solve(values_);
        const Eigen::VectorXd units = factor.matrixL().solve(Eigen::VectorXd::Ones(size_));
        const double across = values.dot(units);
        const double squares = values.squaredNorm() - across * across / units.squaredNorm();
        double penalty = kSharePenalty * (steps.share * steps.share + steps.devices * steps.devices) +
                         kNoisePenalty * steps.noise * steps.noise;
        for (const int step : steps.relevance) penalty += kRelevancePenalty * step * step;
        const auto n = static_cast<double>(size_);
        const Eigen::MatrixXd& lower = factor.matrixLLT();
        const double count = n + fitted.scale_count;
        return -0.5 * count * std::log(std::max(squares + fitted.scale_count, 1e-12) / count) -
               lower.diagonal().array().log().sum() - penalty;
    }

    [[nodiscard]] Steps best() const {
        Steps steps{.share = 0, .noise = 0, .devices = 0, .relevance = std::vector<int>(distances_.size(), 0)};
        double most = score(steps);
        const auto try_step = [&](int& which, int limit) {
            for (const int change : {1, -1}) {
                for (;;) {
                    which += change;
                    const double now =
                        std::abs(which) <= limit ? score(steps) : -std::numeric_limits<double>::infinity();
                    if (now <= most) {
                        which -= change;
                        break;
                    }
                    most = now;
                }
            }
        };
        for (int sweep = 0; sweep < kSweeps; ++sweep) {
            if (without_factors_.covariance.linear_share > 0.0) try_step(steps.share, kShareSteps);
            for (std::size_t p = 0; p < distances_.size(); ++p) {
                if (varies_[p]) try_step(steps.relevance[p], kRelevanceSteps);
            }
            if (!factors_.empty()) try_step(steps.devices, kShareSteps);
            try_step(steps.noise, kNoiseSteps);
        }
        return steps;
    }

   private:
    FittedCovariance without_factors_;
    std::vector<std::vector<double>> factors_;
    Eigen::Index size_;
    Eigen::VectorXd values_;
    Eigen::MatrixXd linear_, devices_;
    std::vector<Eigen::MatrixXd> distances_;
    std::vector<bool> varies_;
    double length_ = 1.0;
};

}  // namespace

FittedCovariance fit_covariance(const CandidateSet& candidates, std::span<const std::size_t> measured,
                                std::span<const double> values, const FittedCovariance& start) {
    const Fit fit(candidates, measured, values, start);
    return fit.settings(fit.best(), /*with_factors=*/true);
}

}  // namespace yolk::autotune
