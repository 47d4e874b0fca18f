// SPDX-License-Identifier: Apache-2.0
// What train_prior scores: recorded devices grouped by space, parameters as a candidate has them, and replays.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "yolk/autotune/natural_settings.hpp"
#include "yolk/autotune/prior_file.hpp"
#include "yolk/autotune/recorded_surface.hpp"
#include "yolk/core/result.hpp"
#include "yolk/primitives/parameters.hpp"

namespace yolk::autotune {

/// Recordings of one kernel with the same parameters, over the configurations that any of them has.
struct DeviceGroup {
    std::string kernel;
    std::shared_ptr<const CandidateSet> candidates;
    std::vector<std::string> devices;
    Eigen::MatrixXd costs;    ///< [devices, candidates]; kInvalidCost where it failed, NaN where it was not recorded
    std::size_t learned = 0;  ///< so many devices make the prior; the others are only searched on (held out)
};

/// `recordings` first, then `held_out`, of which those that no recording goes with are left out.
[[nodiscard]] Result<std::vector<DeviceGroup>> device_groups(std::span<const RecordedSurface> recordings,
                                                             std::span<const RecordedSurface> held_out);

/// A candidate of the training, decoded.
struct PriorParameters {
    NaturalSettings settings;
    std::vector<Eigen::MatrixXd> shifts;  ///< by group, as device_prior takes them
};

/// A vector of settings, in units of half their logarithmic ranges from their initial values, and a matrix
/// [1 + rank, devices] per group of three devices or more; all zero at first, which is the untrained prior.
[[nodiscard]] Result<ParameterTable> prior_parameters(std::span<const DeviceGroup> groups);
[[nodiscard]] PriorParameters decoded(std::span<const DeviceGroup> groups, const ParameterTable& table,
                                      std::span<const float> values);

/// A search: which surface, and which of its configurations and random numbers.
struct TrainingSearch {
    std::size_t group = 0;
    std::size_t device = 0;
    std::uint64_t seed = 0;
    bool warm = true;  ///< with a prior made of the group's other devices
};
/// Warm searches where another device is learned from, and as many cold ones.
[[nodiscard]] std::vector<TrainingSearch> training_searches(std::span<const DeviceGroup> groups, bool on_held_out,
                                                            std::size_t repeats, std::uint64_t seed);

struct SearchLimits {
    std::size_t budget = 50;
    std::size_t candidates = 1500;
};
/// Mean log fraction of the optimum over the reported budgets.
[[nodiscard]] Result<double> search_score(std::span<const DeviceGroup> groups, const TrainingSearch& search,
                                          const PriorParameters& parameters, const SearchLimits& limits);

/// Of all devices that are learned from.
[[nodiscard]] std::vector<SpacePrior> space_priors(std::span<const DeviceGroup> groups,
                                                   const PriorParameters& parameters);

}  // namespace yolk::autotune
