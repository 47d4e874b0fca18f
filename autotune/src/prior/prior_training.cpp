// SPDX-License-Identifier: Apache-2.0
#include "prior_training.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "device_rows.hpp"
#include "yolk/autotune/replay.hpp"
#include "yolk/autotune/surface.hpp"

namespace yolk::autotune {
namespace {

/// Fewer devices have nothing to weigh: with one left out, there is one.
constexpr std::size_t kFewestWeighed = 3;
/// A search that never met a working configuration is as bad as this.
constexpr double kLeastFraction = 0.01;
constexpr std::uint64_t kSubsetStream = 11;

std::vector<std::string> varying(const Space& space) {
    std::vector<std::string> names;
    for (const Parameter& parameter : space.parameters()) {
        if (parameter.values.size() > 1) names.push_back(parameter.name);
    }
    std::ranges::sort(names);
    return names;
}

/// One space over all parameters, with every value that occurs, and every configuration once. A parameter that never
/// changes within a recording but differs between them (a problem's size) says nothing and is left out.
Result<CandidateSet> united(std::span<const RecordedSurface* const> surfaces) {
    std::vector<Parameter> parameters;
    for (const Parameter& first : surfaces.front()->candidates().space().parameters()) {
        std::vector<Value> values;
        bool varies = false;
        bool everywhere = true;
        for (const RecordedSurface* surface : surfaces) {
            const auto theirs = surface->candidates().space().parameters();
            const auto found = std::ranges::find(theirs, first.name, &Parameter::name);
            everywhere = everywhere && found != theirs.end();
            if (found == theirs.end()) continue;
            varies = varies || found->values.size() > 1;
            values.insert(values.end(), found->values.begin(), found->values.end());
        }
        Parameter parameter = Parameter::of(first.name, std::move(values));
        if (everywhere && (varies || parameter.values.size() == 1)) parameters.push_back(std::move(parameter));
    }
    if (parameters.empty()) return bad_input("A recording has no parameter that varies; leave it out.");
    YOLK_TRY(Space space, Space::create(std::move(parameters)));
    std::vector<std::vector<std::uint16_t>> choices;
    for (const RecordedSurface* surface : surfaces) {
        const CandidateSet& set = surface->candidates();
        const auto theirs = set.space().parameters();
        for (std::size_t c = 0; c < set.size(); ++c) {
            Choice choice;
            for (const Parameter& parameter : space.parameters()) {
                const auto at = std::ranges::find(theirs, parameter.name, &Parameter::name) - theirs.begin();
                const Value& value = theirs[static_cast<std::size_t>(at)].values[set[c][static_cast<std::size_t>(at)]];
                choice.push_back(
                    static_cast<std::uint16_t>(std::ranges::find(parameter.values, value) - parameter.values.begin()));
            }
            choices.push_back(std::move(choice));
        }
    }
    std::ranges::sort(choices);
    choices.erase(std::unique(choices.begin(), choices.end()), choices.end());
    std::vector<std::uint16_t> flat;
    for (const auto& choice : choices) flat.insert(flat.end(), choice.begin(), choice.end());
    return CandidateSet::of(std::move(space), std::move(flat));
}

Result<DeviceGroup> group_of(std::span<const RecordedSurface* const> surfaces, std::size_t learned) {
    YOLK_TRY(CandidateSet candidates, united(surfaces));
    DeviceGroup group{.kernel = surfaces.front()->kernel(), .candidates = {}, .devices = {}, .costs = {}};
    group.learned = learned;
    group.costs.resize(static_cast<Eigen::Index>(surfaces.size()), static_cast<Eigen::Index>(candidates.size()));
    for (std::size_t d = 0; d < surfaces.size(); ++d) {
        const std::string& name = surfaces[d]->device();
        group.devices.push_back(name.empty() ? fmt::format("recording {}", d + 1) : name);
        YOLK_TRY(const auto places, matched_candidates(candidates, surfaces[d]->candidates(), "A recording"));
        for (std::size_t c = 0; c < candidates.size(); ++c) {
            group.costs(static_cast<Eigen::Index>(d), static_cast<Eigen::Index>(c)) =
                places[c] ? surfaces[d]->costs()[*places[c]] : std::nan("");
        }
    }
    group.candidates = std::make_shared<const CandidateSet>(std::move(candidates));
    return group;
}

double least_of(const Eigen::MatrixXd& costs, Eigen::Index device, const std::vector<std::size_t>& chosen) {
    double least = kInvalidCost;
    for (const std::size_t c : chosen) {
        const double cost = costs(device, static_cast<Eigen::Index>(c));
        if (cost < least) least = cost;
    }
    return least;
}

/// Which of a device's configurations a search is on; at least one of them works.
std::vector<std::size_t> subset(const DeviceGroup& group, const TrainingSearch& search, std::size_t limit) {
    const auto device = static_cast<Eigen::Index>(search.device);
    std::vector<std::size_t> recorded;
    std::size_t best = 0;
    double least = kInvalidCost;
    for (std::size_t c = 0; c < group.candidates->size(); ++c) {
        const double cost = group.costs(device, static_cast<Eigen::Index>(c));
        if (std::isnan(cost)) continue;
        recorded.push_back(c);
        if (cost >= least) continue;
        least = cost;
        best = c;
    }
    if (recorded.size() <= limit) return recorded;
    Random random(search.seed, kSubsetStream);
    random.shuffle(std::span(recorded));
    recorded.resize(limit);
    if (!std::isfinite(least_of(group.costs, device, recorded))) recorded.front() = best;
    std::ranges::sort(recorded);
    return recorded;
}

/// The rows of the devices that are learned from and are not called what `search` is on.
std::vector<std::size_t> others_of(const DeviceGroup& group, const TrainingSearch& search) {
    std::vector<std::size_t> others;
    for (std::size_t d = 0; d < group.learned; ++d) {
        if (group.devices[d] != group.devices[search.device]) others.push_back(d);
    }
    return others;
}

Eigen::MatrixXd regrets_of(const DeviceGroup& group, const std::vector<std::size_t>& devices,
                           const std::vector<std::size_t>& chosen) {
    Eigen::MatrixXd known(static_cast<Eigen::Index>(devices.size()), static_cast<Eigen::Index>(chosen.size()));
    for (std::size_t d = 0; d < devices.size(); ++d) {
        const auto row = static_cast<Eigen::Index>(devices[d]);
        const double optimum = least_of(group.costs, row, chosen);
        for (std::size_t c = 0; c < chosen.size(); ++c) {
            const double cost = group.costs(row, static_cast<Eigen::Index>(chosen[c]));
            known(static_cast<Eigen::Index>(d), static_cast<Eigen::Index>(c)) =
                std::isnan(cost) || !std::isfinite(optimum) ? std::nan("") : regret_of(cost, optimum);
        }
    }
    return known;
}

Eigen::MatrixXd device_columns(const Eigen::MatrixXd& shift, const std::vector<std::size_t>& devices) {
    if (shift.size() == 0) return {};
    Eigen::MatrixXd chosen(shift.rows(), static_cast<Eigen::Index>(devices.size()));
    for (std::size_t d = 0; d < devices.size(); ++d)
        chosen.col(static_cast<Eigen::Index>(d)) = shift.col(static_cast<Eigen::Index>(devices[d]));
    return chosen;
}

Result<CandidateSet> chosen_of(const CandidateSet& candidates, const std::vector<std::size_t>& chosen) {
    std::vector<std::uint16_t> choices;
    for (const std::size_t c : chosen) choices.insert(choices.end(), candidates[c].begin(), candidates[c].end());
    return CandidateSet::of(candidates.space(), std::move(choices));
}

double half_range(const NaturalField& field) { return 0.5 * std::log(field.upper / field.lower); }

}  // namespace

Result<std::vector<DeviceGroup>> device_groups(std::span<const RecordedSurface> recordings,
                                               std::span<const RecordedSurface> held_out) {
    struct Members {
        std::string kernel;
        std::vector<std::string> names;
        std::vector<const RecordedSurface*> surfaces;
        std::size_t learned = 0;
    };
    std::vector<Members> all;
    const auto place = [&](const RecordedSurface& surface) {
        const std::vector<std::string> names = varying(surface.candidates().space());
        return std::ranges::find_if(all,
                                    [&](const Members& m) { return m.kernel == surface.kernel() && m.names == names; });
    };
    for (const RecordedSurface& surface : recordings) {
        auto found = place(surface);
        if (found == all.end()) {
            all.push_back({surface.kernel(), varying(surface.candidates().space()), {}, 0});
            found = all.end() - 1;
        }
        found->surfaces.push_back(&surface);
        ++found->learned;
    }
    for (const RecordedSurface& surface : held_out) {
        if (const auto found = place(surface); found != all.end()) found->surfaces.push_back(&surface);
    }
    std::vector<DeviceGroup> groups;
    for (const Members& members : all) {
        YOLK_TRY(DeviceGroup group, group_of(members.surfaces, members.learned));
        groups.push_back(std::move(group));
    }
    return groups;
}

Result<ParameterTable> prior_parameters(std::span<const DeviceGroup> groups) {
    std::vector<ParameterDesc> parameters{{.name = "settings",
                                           .rows = static_cast<std::uint32_t>(natural_fields().size()),
                                           .perturbation = Perturbation::Vector}};
    for (std::size_t g = 0; g < groups.size(); ++g) {
        if (groups[g].learned < kFewestWeighed) continue;
        parameters.push_back({.name = fmt::format("devices.{}", g),
                              .rows = 1 + kPriorRank,
                              .columns = static_cast<std::uint32_t>(groups[g].learned)});
    }
    return ParameterTable::create(std::move(parameters));
}

PriorParameters decoded(std::span<const DeviceGroup> groups, const ParameterTable& table,
                        std::span<const float> values) {
    PriorParameters parameters;
    for (std::size_t f = 0; f < natural_fields().size(); ++f) {
        const NaturalField& field = natural_fields()[f];
        parameters.settings.*field.member *= std::exp(half_range(field) * double{values[f]});
    }
    parameters.settings = legal(parameters.settings);
    parameters.shifts.resize(groups.size());
    std::uint32_t id = 1;
    for (std::size_t g = 0; g < groups.size(); ++g) {
        if (groups[g].learned < kFewestWeighed) continue;
        const std::uint32_t offset = table.offset(ParameterId{id});
        const ParameterDesc& desc = table.parameters()[id++];
        Eigen::MatrixXd& shift = parameters.shifts[g];
        shift.resize(desc.rows, desc.columns);
        for (std::uint32_t r = 0; r < desc.rows; ++r) {
            for (std::uint32_t c = 0; c < desc.columns; ++c)
                shift(r, c) = double{values[offset + r * desc.columns + c]};
        }
    }
    return parameters;
}

std::vector<TrainingSearch> training_searches(std::span<const DeviceGroup> groups, bool on_held_out,
                                              std::size_t repeats, std::uint64_t seed) {
    std::vector<TrainingSearch> searches;
    for (std::size_t g = 0; g < groups.size(); ++g) {
        const std::size_t first = on_held_out ? groups[g].learned : 0;
        const std::size_t last = on_held_out ? groups[g].devices.size() : groups[g].learned;
        for (std::size_t d = first; d < last; ++d) {
            for (std::size_t r = 0; r < repeats; ++r) {
                TrainingSearch search{.group = g, .device = d, .seed = seed + 7919 * searches.size(), .warm = true};
                if (!others_of(groups[g], search).empty()) searches.push_back(search);
                search.warm = false;
                searches.push_back(search);
            }
        }
    }
    return searches;
}

Result<double> search_score(std::span<const DeviceGroup> groups, const TrainingSearch& search,
                            const PriorParameters& parameters, const SearchLimits& limits) {
    const DeviceGroup& group = groups[search.group];
    const std::vector<std::size_t> chosen = subset(group, search, limits.candidates);
    YOLK_TRY(CandidateSet candidates, chosen_of(*group.candidates, chosen));
    const auto device = static_cast<Eigen::Index>(search.device);
    TunerOptions options{.budget = limits.budget, .seed = search.seed};
    options.settings.natural = parameters.settings;
    if (search.warm) {
        const std::vector<std::size_t> others = others_of(group, search);
        options.prior =
            std::make_shared<const DevicePrior>(device_prior(candidates, regrets_of(group, others, chosen), kPriorRank,
                                                             device_columns(parameters.shifts[search.group], others)));
    }
    const double optimum = least_of(group.costs, device, chosen);
    YOLK_TRY(Tuner tuner,
             Tuner::create(std::make_shared<const CandidateSet>(std::move(candidates)), std::move(options)));
    std::vector<double> curve;
    double best = kInvalidCost;
    while (const std::optional<std::size_t> candidate = tuner.ask()) {
        const double cost = group.costs(device, static_cast<Eigen::Index>(chosen[*candidate]));
        YOLK_TRY_VOID(tuner.tell(*candidate, cost));
        best = std::min(best, cost);
        curve.push_back(std::log(std::max(optimum / best, kLeastFraction)));
    }
    const std::vector<std::size_t> budgets = reported_budgets(limits.budget);
    double sum = 0.0;
    for (const std::size_t budget : budgets) sum += curve[std::min(budget, curve.size()) - 1];
    return sum / static_cast<double>(budgets.size());
}

std::vector<SpacePrior> space_priors(std::span<const DeviceGroup> groups, const PriorParameters& parameters) {
    std::vector<SpacePrior> spaces;
    for (std::size_t g = 0; g < groups.size(); ++g) {
        const DeviceGroup& group = groups[g];
        std::vector<std::size_t> devices(group.learned);
        std::iota(devices.begin(), devices.end(), std::size_t{0});
        std::vector<std::size_t> all(group.candidates->size());
        std::iota(all.begin(), all.end(), std::size_t{0});
        SpacePrior space{
            .kernel = group.kernel,
            .devices = {group.devices.begin(), group.devices.begin() + static_cast<std::ptrdiff_t>(group.learned)},
            .candidates = *group.candidates,
            .prior =
                device_prior(*group.candidates, regrets_of(group, devices, all), kPriorRank, parameters.shifts[g])};
        spaces.push_back(std::move(space));
    }
    return spaces;
}

}  // namespace yolk::autotune
