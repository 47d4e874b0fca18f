// SPDX-License-Identifier: Apache-2.0
// How alike two candidates are. A sum of
//   log-linear:  one-hot features of every parameter, centred over the candidates. A regression on them is the natural
//                gradient of the policy pi(c) ~ exp(-theta . phi(c)) (docs/tuner.md has the derivation);
//   residual:    Matern 5/2 over the parameters' coordinates, what the features cannot say;
//   devices:     factors of a DevicePrior, and a constant for the device's own level.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "yolk/internal/autotune/linear_algebra.hpp"
#include "yolk/internal/autotune/space.hpp"

namespace yolk::autotune {

/// Of two values on the parameter's scale, in units of its whole range; 1 for different values of a categorical one.
[[nodiscard]] double squared_distance(const Parameter& parameter, std::size_t a, std::size_t b);

struct CovarianceSettings {
    double linear_share = 0.5;           ///< variance of the log-linear part, mean over the candidates
    double residual_share = 0.5;         ///< variance of the residual part
    double length = 0.0;                 ///< of the residual, in units of one parameter's whole range; 0: sqrt(d) / 2
    std::vector<double> relevance = {};  ///< factor on each parameter's distance; empty: 1
    double constant = 0.0;               ///< deviation of a constant
    std::vector<std::vector<double>> factors = {};  ///< of the devices: rank times one per candidate
};

/// What covariances over one candidate set share. Parameters that vary are numbered together where their values have
/// few combinations, so that a candidate's covariance takes two or three look-ups instead of one per parameter.
class CandidateGroups {
   public:
    explicit CandidateGroups(const CandidateSet& candidates);

    struct Group {
        std::vector<std::size_t> parameters;  ///< the last one's value changes fastest
        std::size_t combinations = 1;
        std::vector<std::uint16_t> of_candidate;
    };
    [[nodiscard]] const CandidateSet& candidates() const noexcept { return candidates_; }
    [[nodiscard]] std::span<const Group> groups() const noexcept { return groups_; }
    /// How often a parameter's values occur, in sum 1.
    [[nodiscard]] std::span<const double> frequencies(std::size_t parameter) const noexcept {
        return frequencies_[parameter];
    }
    [[nodiscard]] std::size_t varying() const noexcept { return varying_; }  ///< parameters of more than one value

   private:
    const CandidateSet& candidates_;
    std::vector<Group> groups_;
    std::vector<std::vector<double>> frequencies_;
    std::size_t varying_ = 0;
};

/// Immutable after construction; the candidates must outlive it.
class Covariance final : public Kernel {
   public:
    Covariance(const CandidateSet& candidates, CovarianceSettings settings);
    Covariance(std::shared_ptr<const CandidateGroups> groups, CovarianceSettings settings);

    [[nodiscard]] double between(std::size_t a, std::size_t b) const;
    void column(std::size_t candidate, std::span<double> out) const override;
    [[nodiscard]] std::vector<double> diagonal() const override;

   private:
    /// Products and squared distances of one parameter's values, value by value.
    struct Tables {
        std::size_t values = 0;
        std::vector<double> products, distances;
    };
    /// Of one combination of a group's values with a candidate's.
    struct Alike {
        double product = 0.0;
        double distance = 0.0;
    };
    [[nodiscard]] std::vector<Alike> alike(const CandidateGroups::Group& group, std::size_t candidate) const;

    std::shared_ptr<const CandidateGroups> groups_;
    CovarianceSettings settings_;
    std::vector<Tables> tables_;  ///< one per parameter; empty where it does not vary
};

}  // namespace yolk::autotune
