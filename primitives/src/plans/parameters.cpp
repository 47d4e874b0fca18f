// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/primitives/parameters.hpp"

#include <unordered_set>

#include "yolk/internal/core/noise.hpp"

namespace yolk {

namespace {

constexpr std::uint64_t kMaxElements = (std::uint64_t{1} << 31U) - 1;

Result<std::uint64_t> element_count_of(const ParameterDesc& parameter) {
    if (parameter.name.empty()) return bad_input("A parameter has an empty name; give every parameter a unique name.");
    const std::uint64_t elements = std::uint64_t{parameter.rows} * parameter.columns;
    if (elements == 0) {
        return bad_input("Parameter \"{}\" is {} by {}; both extents must be at least 1.", parameter.name,
                         parameter.rows, parameter.columns);
    }
    return elements;
}

Result<void> check_rank(const ParameterDesc& parameter) {
    if (parameter.rank > kMaxRank) {
        return bad_input(
            "Parameter \"{}\" has noise of rank {}; it must be from 1 to {}, or 0 for the rank of the run.",
            parameter.name, parameter.rank, kMaxRank);
    }
    if (parameter.rank == 0 || parameter.perturbation != Perturbation::Vector) return {};
    return bad_input("Parameter \"{}\" is a vector, whose noise has no rank, and was given rank {}. Leave it at 0.",
                     parameter.name, parameter.rank);
}

}  // namespace

Result<ParameterTable> ParameterTable::create(std::vector<ParameterDesc> parameters) {
    constexpr std::size_t kMaxParameters = std::size_t{kMaxParameterId} + 1;
    if (parameters.size() > kMaxParameters) {
        return bad_input("{} parameters were given; at most {} are allowed (ids have 24 bits).", parameters.size(),
                         kMaxParameters);
    }
    ParameterTable table;
    table.offsets_.reserve(parameters.size());
    std::unordered_set<std::string_view> names;
    std::uint64_t total = 0;
    for (const ParameterDesc& parameter : parameters) {
        YOLK_TRY(const std::uint64_t elements, element_count_of(parameter));
        YOLK_TRY_VOID(check_rank(parameter));
        if (!names.insert(parameter.name).second) {
            return bad_input("Two parameters are named \"{}\"; names must differ.", parameter.name);
        }
        table.offsets_.push_back(static_cast<std::uint32_t>(total));
        total += elements;
        if (total > kMaxElements) {
            return bad_input("The parameters up to \"{}\" have {} elements; at most {} are allowed in all.",
                             parameter.name, total, kMaxElements);
        }
    }
    table.element_count_ = static_cast<std::uint32_t>(total);
    table.parameters_ = std::move(parameters);
    return table;
}

}  // namespace yolk
