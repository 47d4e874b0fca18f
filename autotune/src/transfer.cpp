// SPDX-License-Identifier: Apache-2.0
#include "yolk/autotune/transfer.hpp"

#include <fmt/format.h>

#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <optional>

namespace yolk::autotune {
namespace {

/// log(cost / optimum) beyond which a configuration is just bad, failed ones among them.
constexpr double kCap = 3.0;
constexpr std::size_t kPortfolio = 16;
/// Scales of the residual are fitted to the better candidates by mean, where they matter.
constexpr double kBetterShare = 0.3;

/// For each parameter of the recording, the target's parameter of that name; none: it does not vary.
Result<std::vector<std::optional<std::size_t>>> match(const Space& target, const RecordedSurface& recording) {
    const auto wanted = target.parameters();
    const auto given = recording.candidates().space().parameters();
    const auto complain = [&](std::string_view who, const std::string& name) {
        return bad_input(
            fmt::format("The recording of '{}' ({}) is of another space: only {} varies parameter '{}'. Leave it out.",
                        recording.device(), recording.kernel(), who, name));
    };
    std::vector<std::optional<std::size_t>> places;
    for (const Parameter& parameter : given) {
        const auto found = std::ranges::find(wanted, parameter.name, &Parameter::name);
        if (found == wanted.end() && parameter.values.size() > 1) return complain("the recording", parameter.name);
        places.emplace_back();
        if (found != wanted.end()) places.back() = static_cast<std::size_t>(found - wanted.begin());
    }
    for (const Parameter& parameter : wanted) {
        const bool known = std::ranges::find(given, parameter.name, &Parameter::name) != given.end();
        if (!known && parameter.values.size() > 1) return complain("the target", parameter.name);
    }
    return places;
}

/// log(cost / optimum) of each target candidate on the recorded device; NaN where it was not recorded.
Result<Eigen::RowVectorXd> regrets(const CandidateSet& target, const RecordedSurface& recording) {
    YOLK_TRY(const auto places, match(target.space(), recording));
    const auto wanted = target.space().parameters();
    const auto given = recording.candidates().space().parameters();
    // Value by value: which index of the recording's domain is an index of the target's.
    std::vector<std::vector<std::optional<std::uint16_t>>> values(given.size());
    for (std::size_t p = 0; p < given.size(); ++p) {
        if (!places[p]) continue;
        for (const Value& value : wanted[*places[p]].values) {
            const auto found = std::ranges::find(given[p].values, value);
            values[p].emplace_back();
            if (found != given[p].values.end()) {
                values[p].back() = static_cast<std::uint16_t>(found - given[p].values.begin());
            }
        }
    }
    Eigen::RowVectorXd row = Eigen::RowVectorXd::Constant(static_cast<Eigen::Index>(target.size()), std::nan(""));
    bool any = false;
    for (std::size_t c = 0; c < target.size(); ++c) {
        Choice choice;
        for (std::size_t p = 0; p < given.size(); ++p) {
            // A parameter that neither varies has one value there; a problem's size may differ between devices.
            if (!places[p] || (given[p].values.size() == 1 && wanted[*places[p]].values.size() == 1)) {
                choice.push_back(0);
            } else if (const auto value = values[p][target[c][*places[p]]]) {
                choice.push_back(*value);
            }
        }
        if (choice.size() != given.size()) continue;
        const auto found = recording.candidates().find(choice);
        if (!found) continue;
        any = true;
        const double regret = std::log(recording.costs()[*found] / recording.optimum());
        row(static_cast<Eigen::Index>(c)) = std::min(regret, kCap);
    }
    if (any) return row;
    return bad_input(fmt::format("The recording of '{}' ({}) shares no configuration with the target. Leave it out.",
                                 recording.device(), recording.kernel()));
}

/// Greedy: each next candidate adds most to the devices' mean of the best fraction of their optimum.
std::vector<std::size_t> portfolio_of(const Eigen::MatrixXd& regrets) {
    const Eigen::ArrayXXd fractions = (-regrets.array()).exp() * (regrets.array() < kCap).cast<double>();
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

}  // namespace

Result<DevicePrior> make_prior(const CandidateSet& target, std::span<const RecordedSurface> recordings,
                               std::size_t rank) {
    if (recordings.empty()) return bad_input("A prior over devices needs at least one recording.");
    const auto devices = static_cast<Eigen::Index>(recordings.size());
    Eigen::MatrixXd known(devices, static_cast<Eigen::Index>(target.size()));
    for (std::size_t d = 0; d < recordings.size(); ++d) {
        YOLK_TRY(known.row(static_cast<Eigen::Index>(d)), regrets(target, recordings[d]));
    }
    DevicePrior prior;
    // What a device did not record is what the others say; what none recorded is bad.
    Eigen::MatrixXd filled = known;
    for (Eigen::Index c = 0; c < known.cols(); ++c) {
        double sum = 0.0;
        double count = 0.0;
        for (Eigen::Index d = 0; d < devices; ++d) {
            if (std::isnan(known(d, c))) continue;
            sum += known(d, c);
            count += 1.0;
        }
        for (Eigen::Index d = 0; d < devices; ++d) {
            if (std::isnan(known(d, c))) filled(d, c) = count > 0.0 ? sum / count : kCap;
        }
    }
    prior.portfolio = portfolio_of(filled);
    const Eigen::RowVectorXd mean = filled.colwise().mean();
    prior.mean.assign(mean.begin(), mean.end());
    Eigen::MatrixXd rest = filled.rowwise() - mean;
    const std::vector<Eigen::Index> better = better_columns(mean);
    const double bias = static_cast<double>(devices) / std::max(1.0, static_cast<double>(devices - 1));
    const double spread = root_mean_square(rest, better) * std::sqrt(bias);
    // The devices are few: the singular vectors come from their Gram matrix, and are given times s / sqrt(devices).
    const Eigen::MatrixXd gram = rest * rest.transpose();
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(gram);
    const auto kept = static_cast<Eigen::Index>(std::min(rank, std::max<std::size_t>(1, recordings.size() / 2)));
    for (Eigen::Index k = 0; k < std::min(kept, devices - 1); ++k) {
        const Eigen::VectorXd direction = solver.eigenvectors().col(devices - 1 - k);
        const Eigen::RowVectorXd factor = direction.transpose() * rest / std::sqrt(static_cast<double>(devices));
        prior.factors.emplace_back(factor.begin(), factor.end());
        rest -= direction * (direction.transpose() * rest);
    }
    constexpr double kOptimism = 1.5;  // the residual of devices that the factors were fitted to is too small
    constexpr double kLeast = 0.02;
    prior.residual_deviation = std::max({kOptimism * root_mean_square(rest, better), 0.5 * spread, kLeast});
    return prior;
}

}  // namespace yolk::autotune
