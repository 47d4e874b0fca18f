// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/autotune/transfer.hpp"
#include "yolk/internal/core/printable.hpp"

#include <fmt/format.h>

#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "device_rows.hpp"

namespace yolk::autotune {
namespace {

constexpr std::size_t kPortfolio = 16;
/// Scales of the residual are fitted to the better candidates by mean, where they matter.
constexpr double kBetterShare = 0.3;
/// A device that recorded less of the candidates than this is filled by itself.
constexpr double kLeastShare = 0.5;
/// The residual, in log cost, that is assumed if there is one device: one recording does not say how devices differ
/// (docs/tuner.md, "One recording").
constexpr double kResidualOfOne = 0.5;

/// Greedy: each next candidate adds most to the devices' mean of the best fraction of their optimum. Only what was
/// measured counts.
std::vector<std::size_t> portfolio_of(const Eigen::MatrixXd& known) {
    Eigen::ArrayXXd fractions = (-known.array()).exp() * (known.array() < kWorstRegret).cast<double>();
    fractions = known.array().isNaN().select(0.0, fractions);
    Eigen::ArrayXd best = Eigen::ArrayXd::Zero(fractions.rows());
    std::vector<std::size_t> portfolio;
    for (std::size_t k = 0; k < kPortfolio; ++k) {
        Eigen::Index found = 0;
        double most = best.mean();
        bool gains = false;
        for (Eigen::Index c = 0; c < fractions.cols(); ++c) {
            const double together = fractions.col(c).max(best).mean();
            if (together > most) {
                most = together;
                found = c;
                gains = true;
            }
        }
        if (!gains) break;
        portfolio.push_back(static_cast<std::size_t>(found));
        best = best.max(fractions.col(found));
    }
    return portfolio;
}

/// What a device did not record is what the others say, or, where it recorded little, what a regression on its own
/// says; what none recorded is bad.
Eigen::MatrixXd filled_of(const CandidateSet& candidates, const Eigen::MatrixXd& known) {
    Eigen::MatrixXd filled = known;
    for (Eigen::Index d = 0; d < known.rows(); ++d) {
        const auto count = static_cast<double>(known.cols() - known.row(d).array().isNaN().count());
        if (count >= kLeastShare * static_cast<double>(known.cols())) continue;
        std::vector<double> row(static_cast<std::size_t>(known.cols()));
        for (Eigen::Index c = 0; c < known.cols(); ++c) row[static_cast<std::size_t>(c)] = known(d, c);
        fill_by_regression(candidates, row);
        for (Eigen::Index c = 0; c < known.cols(); ++c)
            filled(d, c) = std::clamp(row[static_cast<std::size_t>(c)], 0.0, kWorstRegret);
    }
    for (Eigen::Index c = 0; c < known.cols(); ++c) {
        double sum = 0.0;
        double count = 0.0;
        for (Eigen::Index d = 0; d < known.rows(); ++d) {
            if (std::isnan(filled(d, c))) continue;
            sum += filled(d, c);
            count += 1.0;
        }
        for (Eigen::Index d = 0; d < known.rows(); ++d) {
            if (std::isnan(filled(d, c))) filled(d, c) = count > 0.0 ? sum / count : kWorstRegret;
        }
    }
    return filled;
}

double root_mean_square(const Eigen::MatrixXd& values, const std::vector<Eigen::Index>& columns) {
    double sum = 0.0;
    for (const Eigen::Index c : columns) sum += values.col(c).squaredNorm();
    return std::sqrt(sum / static_cast<double>(columns.size()) / static_cast<double>(values.rows()));
}

std::vector<Eigen::Index> better_columns(const Eigen::RowVectorXd& mean) {
    std::vector<double> sorted(mean.begin(), mean.end());
    const auto at = static_cast<std::ptrdiff_t>(kBetterShare * static_cast<double>(sorted.size() - 1));
    std::nth_element(sorted.begin(), sorted.begin() + at, sorted.end());
    std::vector<Eigen::Index> columns;
    for (Eigen::Index c = 0; c < mean.size(); ++c) {
        if (mean(c) <= sorted[static_cast<std::size_t>(at)]) columns.push_back(c);
    }
    return columns;
}

/// Factors are sums over the devices' deviations from their mean; `known` has NaN where nothing was recorded.
DevicePrior device_prior(const CandidateSet& candidates, const Eigen::MatrixXd& known, std::size_t rank) {
    const Eigen::Index devices = known.rows();
    DevicePrior prior;
    prior.portfolio = portfolio_of(known);
    const Eigen::MatrixXd filled = filled_of(candidates, known);
    const Eigen::RowVectorXd mean = filled.colwise().mean();
    prior.mean.assign(mean.begin(), mean.end());
    Eigen::MatrixXd rest = filled.rowwise() - mean;
    const std::vector<Eigen::Index> better = better_columns(mean);
    const double bias = static_cast<double>(devices) / std::max(1.0, static_cast<double>(devices - 1));
    const double spread = root_mean_square(rest, better) * std::sqrt(bias);
    // The devices are few: the singular vectors come from their Gram matrix, and are given times s / sqrt(devices).
    const Eigen::MatrixXd deviations = rest;
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(rest * rest.transpose());
    const auto kept = std::min<Eigen::Index>(
        static_cast<Eigen::Index>(std::min(rank, std::max<std::size_t>(1, static_cast<std::size_t>(devices) / 2))),
        devices - 1);
    for (Eigen::Index k = 0; k < kept; ++k) {
        const Eigen::VectorXd direction = solver.eigenvectors().col(devices - 1 - k);
        const Eigen::RowVectorXd factor = direction.transpose() * deviations / std::sqrt(static_cast<double>(devices));
        prior.factors.emplace_back(factor.begin(), factor.end());
        rest -= direction * (direction.transpose() * rest);
    }
    constexpr double kOptimism = 1.5;  // the residual of devices that the factors were fitted to is too small
    constexpr double kLeast = 0.02;
    prior.residual_deviation =
        devices == 1 ? kResidualOfOne : std::max({kOptimism * root_mean_square(rest, better), 0.5 * spread, kLeast});
    return prior;
}

}  // namespace

Result<DevicePrior> make_prior(const CandidateSet& target, std::span<const RecordedSurface> recordings,
                               std::size_t rank) {
    if (recordings.empty()) return bad_input("A prior over devices needs at least one recording.");
    Eigen::MatrixXd known(static_cast<Eigen::Index>(recordings.size()), static_cast<Eigen::Index>(target.size()));
    for (std::size_t d = 0; d < recordings.size(); ++d) {
        const RecordedSurface& recording = recordings[d];
        const std::string what =
            fmt::format("The recording of '{}' ({})", shown(recording.device()), recording.kernel());
        YOLK_TRY(const auto places, matched_candidates(target, recording.candidates(), what));
        bool any = false;
        for (std::size_t c = 0; c < target.size(); ++c) {
            known(static_cast<Eigen::Index>(d), static_cast<Eigen::Index>(c)) =
                places[c] ? regret_of(recording.costs()[*places[c]], recording.optimum()) : std::nan("");
            any = any || places[c];
        }
        if (!any) return bad_input(what + " shares no configuration with the target. Leave it out.");
    }
    return device_prior(target, known, rank);
}

}  // namespace yolk::autotune
