// SPDX-License-Identifier: Apache-2.0
// The optimized groups as one table of search coordinates, and back.
#include <algorithm>

#include "placement.hpp"

namespace yolk::hyper {
namespace {

std::uint32_t coordinates_in(const ParameterGroup& group) {
    return group.spec.fields.empty() ? static_cast<std::uint32_t>(group.values.values().size())
                                     : coordinate_count(group.spec.fields);
}

ParameterDesc desc_of(const ParameterGroup& group) {
    const ParameterSpec& spec = group.spec;
    if (spec.is_matrix()) {
        return {.name = spec.name,
                .rows = static_cast<std::uint32_t>(spec.shape[0]),
                .columns = static_cast<std::uint32_t>(spec.shape[1]),
                .rank = spec.noise_rank};
    }
    return {.name = spec.name, .rows = coordinates_in(group), .perturbation = Perturbation::Vector};
}

/// What an optimizer has nothing to do with: no parameters.
bool is_searched(const ParameterGroup& group) { return group.spec.optimize && !group.values.values().empty(); }

}  // namespace

Result<ParameterTable> search_table(const ParameterSet& parameters) {
    std::vector<ParameterDesc> descs;
    for (const ParameterGroup& group : parameters.groups()) {
        if (is_searched(group)) descs.push_back(desc_of(group));
    }
    return ParameterTable::create(std::move(descs));
}

Result<SearchSpace> search_space(const ParameterSet& parameters) {
    YOLK_TRY(ParameterTable table, search_table(parameters));
    std::vector<float> mean;
    for (const ParameterGroup& group : parameters.groups()) {
        if (!is_searched(group)) continue;
        const std::span<const float> natural = group.values.values();
        const std::vector<float> coordinates = group.spec.fields.empty()
                                                   ? std::vector<float>(natural.begin(), natural.end())
                                                   : to_coordinates(group.spec.fields, natural);
        mean.insert(mean.end(), coordinates.begin(), coordinates.end());
    }
    return SearchSpace{std::move(table), std::move(mean)};
}

Result<void> apply_coordinates(ParameterSet& parameters, std::span<const float> coordinates) {
    YOLK_TRY(const SearchSpace space, search_space(parameters));
    if (coordinates.size() != space.mean.size()) {
        return bad_input("{} coordinates were given; the optimized groups have {}.", coordinates.size(),
                         space.mean.size());
    }
    ParameterSet changed = parameters;
    std::size_t at = 0;
    for (const ParameterGroup& group : parameters.groups()) {
        if (!is_searched(group)) continue;
        const std::span<const float> part = coordinates.subspan(at, coordinates_in(group));
        at += part.size();
        YOLK_TRY(Tensor values, population::natural_tensor(group.spec, part));
        YOLK_TRY_VOID(changed.set(group.spec.name, std::move(values)));
    }
    parameters = std::move(changed);
    return {};
}

}  // namespace yolk::hyper
