// SPDX-License-Identifier: Apache-2.0
// Descent in the knobs' own coordinates, each in [0, 1]. Around a centre x, K unknown candidates nearest to x + sigma
// e_k are measured. With l_k their log costs and w = softmax(-l / tau), the softmin of the cost smoothed over the
// samples, S(x) = -tau log E exp(-l(x + sigma e) / tau), has the gradient
//   g = tau (x - sum_k w_k x_k) / sigma^2.
// The published recipe on top: M = covariance over the last W samples of d log cost / d knob, estimated by
// (l_k - mean l)(x_k - x) / sigma^2; the centre moves by -lr M^-1/2 g.
#include <Eigen/Core>
#include <cmath>
#include <limits>

#include "posterior_search.hpp"
#include "preconditioner.hpp"
#include "strategies.hpp"
#include "walk.hpp"

namespace yolk::autotune {
namespace {

constexpr std::size_t kSamples = 8;
constexpr double kSmoothedSigma = 0.25;
constexpr double kSmoothedDamping = 0.1;
constexpr std::size_t kSmoothedWindow = 32;

/// The best single rates of a grid over seven surfaces (docs/tuner.md).
double smoothed_learning_rate(Step step) {
    switch (step) {
        case Step::Plain:
        case Step::Identity:
        case Step::InverseSqrt: return 1.0;
        case Step::Natural: return 10.0;
    }
    return 1.0;
}

class Smoothed final : public WalkStrategy {
   public:
    explicit Smoothed(StrategyContext context) : WalkStrategy(std::move(context)), window_(kSmoothedWindow) {
        const auto parameters = candidates().space().parameters();
        coordinates_.resize(static_cast<Eigen::Index>(parameters.size()),
                            static_cast<Eigen::Index>(candidates().size()));
        for (std::size_t c = 0; c < candidates().size(); ++c) {
            for (std::size_t p = 0; p < parameters.size(); ++p) {
                coordinates_(static_cast<Eigen::Index>(p), static_cast<Eigen::Index>(c)) =
                    parameters[p].coordinate(candidates()[c][p]);
            }
        }
    }

   private:
    Walk run() override {
        const double rate = context().settings.learning_rate.value_or(smoothed_learning_rate(context().settings.step));
        LogCosts costs;
        Eigen::VectorXd centre = coordinates_.col(static_cast<Eigen::Index>(any()));
        for (;;) {
            Eigen::MatrixXd points(centre.size(), kSamples);
            Eigen::ArrayXd values(kSamples);
            for (std::size_t k = 0; k < kSamples; ++k) {
                const auto column = static_cast<Eigen::Index>(k);
                const auto normal = [this](double) { return random().normal(); };
                const std::size_t candidate =
                    nearest_unknown(centre + kSmoothedSigma * Eigen::VectorXd::Zero(centre.size()).unaryExpr(normal));
                points.col(column) = coordinates_.col(static_cast<Eigen::Index>(candidate));
                values(column) = costs.add(co_await measure(candidate));
            }
            const double mean = values.mean();
            const double temperature = std::sqrt((values - mean).square().mean());
            if (temperature <= 0.0) continue;
            const Eigen::ArrayXd weights = (-(values - values.minCoeff()) / temperature).exp();
            const Eigen::VectorXd gradient = (centre - points * (weights / weights.sum()).matrix()) * temperature /
                                             (kSmoothedSigma * kSmoothedSigma);
            for (Eigen::Index k = 0; k < points.cols(); ++k) {
                window_.add((values(k) - mean) * (points.col(k) - centre) / (kSmoothedSigma * kSmoothedSigma));
            }
            centre = (centre - rate * stepped(gradient)).cwiseMax(0.0).cwiseMin(1.0);
        }
    }

    [[nodiscard]] Eigen::VectorXd stepped(const Eigen::VectorXd& gradient) const {
        switch (context().settings.step) {
            case Step::Plain: return gradient;
            case Step::Identity: return gradient / (1.0 + kSmoothedDamping);
            case Step::InverseSqrt: return damped_power(window_.covariance(), -0.5, kSmoothedDamping) * gradient;
            case Step::Natural: return damped_power(window_.covariance(), -1.0, kSmoothedDamping) * gradient;
        }
        return gradient;
    }

    /// The first of the nearest; where all are known, any (the walk then goes on over known ones until it is stopped).
    std::size_t nearest_unknown(const Eigen::VectorXd& point) const {
        std::size_t found = 0;
        double least = std::numeric_limits<double>::infinity();
        for (std::size_t c = 0; c < candidates().size(); ++c) {
            if (history().known(c)) continue;
            const double distance = (coordinates_.col(static_cast<Eigen::Index>(c)) - point).squaredNorm();
            if (distance >= least) continue;
            least = distance;
            found = c;
        }
        return found;
    }

    Eigen::MatrixXd coordinates_;
    GradientWindow window_;
};

}  // namespace

std::unique_ptr<Strategy> make_smoothed(StrategyContext context) {
    return std::make_unique<Smoothed>(std::move(context));
}

}  // namespace yolk::autotune
