// SPDX-License-Identifier: Apache-2.0
// Antithetic low-rank evolution strategies on the logits of a factorised softmax policy. Logits are a matrix with a row
// per parameter and a column per value. A pair of members perturbs it by +-sigma A B^T / sqrt(r); each member draws one
// unknown candidate from its policy over the candidate set (both with the same Gumbel noise) and measures it. With d
// the difference of the two log costs, scaled by the generation's largest, G = mean of -d A B^T / sqrt(r), and the
// logits move by lr times G, preconditioned parameter by parameter.
#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <array>
#include <cmath>

#include "posterior_search.hpp"
#include "preconditioner.hpp"
#include "strategies.hpp"
#include "walk.hpp"

namespace yolk::autotune {
namespace {

constexpr std::size_t kPairs = 4;
constexpr Eigen::Index kRank = 1;
constexpr double kEggrollSigma = 1.0;
constexpr double kEggrollDamping = 0.02;
constexpr double kLargestLogit = 6.0;
constexpr std::size_t kEggrollWindow = 32;

double eggroll_learning_rate(Step step) {
    switch (step) {
        case Step::Plain:
        case Step::Identity: return 1.0;
        case Step::InverseSqrt: return 0.5;
        case Step::Natural: return 0.25;
    }
    return 1.0;
}

class Eggroll final : public WalkStrategy {
   public:
    explicit Eggroll(StrategyContext context) : WalkStrategy(std::move(context)) {
        Eigen::Index columns = 1;
        for (const Parameter& parameter : candidates().space().parameters()) {
            columns = std::max(columns, static_cast<Eigen::Index>(parameter.values.size()));
            windows_.emplace_back(kEggrollWindow);
        }
        logits_ = Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(candidates().dimensions()), columns);
        noise_.resize(candidates().size());
    }

   private:
    Walk run() override {
        const double rate = context().settings.learning_rate.value_or(eggroll_learning_rate(context().settings.step));
        LogCosts costs;
        for (;;) {
            std::array<Eigen::MatrixXd, kPairs> perturbations;
            Eigen::ArrayXd differences(kPairs);
            for (std::size_t pair = 0; pair < kPairs; ++pair) {
                perturbations.at(pair) = perturbation();
                for (double& g : noise_) g = random().gumbel();
                std::array<double, 2> values{};
                for (std::size_t side = 0; side < 2; ++side) {
                    const double sign = side == 0 ? kEggrollSigma : -kEggrollSigma;
                    const std::size_t drawn = draw(logits_ + sign * perturbations.at(pair));
                    values.at(side) = costs.add(co_await measure(drawn));
                }
                differences(static_cast<Eigen::Index>(pair)) = values[0] - values[1];
            }
            const double largest = differences.abs().maxCoeff();
            if (largest <= 0.0) continue;
            differences /= largest;
            follow(perturbations, differences, rate);
        }
    }

    void follow(const std::array<Eigen::MatrixXd, kPairs>& perturbations, const Eigen::ArrayXd& differences,
                double rate) {
        Eigen::MatrixXd gradient = Eigen::MatrixXd::Zero(logits_.rows(), logits_.cols());
        for (std::size_t pair = 0; pair < kPairs; ++pair) {
            const Eigen::MatrixXd sample = -differences(static_cast<Eigen::Index>(pair)) * perturbations.at(pair);
            for (Eigen::Index p = 0; p < logits_.rows(); ++p) {
                windows_[static_cast<std::size_t>(p)].add(sample.row(p).head(values_of(p)).transpose());
            }
            gradient += sample / static_cast<double>(kPairs);
        }
        for (Eigen::Index p = 0; p < logits_.rows(); ++p) {
            const Eigen::Index n = values_of(p);
            if (n < 2) continue;
            Eigen::VectorXd row = logits_.row(p).head(n).transpose();
            row += rate * stepped(p, gradient.row(p).head(n).transpose());
            row.array() -= row.mean();
            logits_.row(p).head(n) = row.cwiseMax(-kLargestLogit).cwiseMin(kLargestLogit).transpose();
        }
    }

    [[nodiscard]] Eigen::VectorXd stepped(Eigen::Index p, const Eigen::VectorXd& gradient) const {
        switch (context().settings.step) {
            case Step::Plain: return gradient;
            case Step::Identity: return gradient / (1.0 + kEggrollDamping);
            case Step::InverseSqrt:
                return damped_power(windows_[static_cast<std::size_t>(p)].covariance(), -0.5, kEggrollDamping) *
                       gradient;
            case Step::Natural: break;
        }
        const Eigen::VectorXd policy = log_policy(logits_, p).array().exp();
        Eigen::MatrixXd fisher = policy.asDiagonal();
        fisher -= policy * policy.transpose();
        fisher.diagonal().array() += kEggrollDamping;
        return fisher.llt().solve(gradient);
    }

    Eigen::MatrixXd perturbation() {
        const auto normal = [this](double) { return random().normal(); };
        const Eigen::MatrixXd a = Eigen::MatrixXd::Zero(logits_.rows(), kRank).unaryExpr(normal);
        const Eigen::MatrixXd b = Eigen::MatrixXd::Zero(logits_.cols(), kRank).unaryExpr(normal);
        return a * b.transpose() / std::sqrt(static_cast<double>(kRank));
    }

    [[nodiscard]] Eigen::Index values_of(Eigen::Index p) const {
        return static_cast<Eigen::Index>(candidates().space().parameters()[static_cast<std::size_t>(p)].values.size());
    }
    [[nodiscard]] Eigen::VectorXd log_policy(const Eigen::MatrixXd& logits, Eigen::Index p) const {
        const Eigen::VectorXd row = logits.row(p).head(values_of(p)).transpose();
        const double top = row.maxCoeff();
        return row.array() - (top + std::log((row.array() - top).exp().sum()));
    }

    /// From the policy over unknown candidates, exactly: the largest of log probability plus Gumbel noise.
    std::size_t draw(const Eigen::MatrixXd& logits) {
        std::vector<Eigen::VectorXd> tables;
        for (Eigen::Index p = 0; p < logits.rows(); ++p) tables.push_back(log_policy(logits, p));
        std::size_t found = 0;
        double most = -std::numeric_limits<double>::infinity();
        for (std::size_t c = 0; c < candidates().size(); ++c) {
            if (history().known(c)) continue;
            double score = noise_[c];
            for (std::size_t p = 0; p < tables.size(); ++p) score += tables[p](candidates()[c][p]);
            if (score <= most) continue;
            most = score;
            found = c;
        }
        return found;
    }

    Eigen::MatrixXd logits_;
    std::vector<GradientWindow> windows_;
    std::vector<double> noise_;
};

}  // namespace

std::unique_ptr<Strategy> make_eggroll(StrategyContext context) {
    return std::make_unique<Eggroll>(std::move(context));
}

}  // namespace yolk::autotune
