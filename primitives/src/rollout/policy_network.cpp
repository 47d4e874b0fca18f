// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "yolk/rollout.hpp"

namespace yolk {

namespace {

void add_layer(std::vector<ParameterDesc>& parameters, const std::string& name, std::uint32_t in, std::uint32_t out) {
    parameters.push_back({.name = name + ".weight", .rows = out, .columns = in, .perturbation = Perturbation::LowRank});
    parameters.push_back({.name = name + ".bias", .rows = out, .columns = 1, .perturbation = Perturbation::Vector});
}

}  // namespace

std::vector<ParameterDesc> PolicyNetwork::parameters() const {
    std::vector<ParameterDesc> parameters;
    if (recurrent != 0 && !widths.empty()) {
        for (const char* const name : {"recurrent.gate", "recurrent.candidate"})
            add_layer(parameters, name, widths.front() + recurrent, recurrent);
    }
    for (std::size_t layer = 0; layer + 1 < widths.size(); ++layer) {
        const std::uint32_t in = layer == 0 && recurrent != 0 ? recurrent : widths[layer];
        add_layer(parameters, fmt::format("layer{}", layer), in, widths[layer + 1]);
    }
    if (!normalized || widths.empty()) return parameters;
    const auto frozen = [&](const char* name, std::uint32_t columns) {
        parameters.push_back(
            {.name = name, .rows = widths.front(), .columns = columns, .perturbation = Perturbation::Frozen});
    };
    frozen("observation.shift", 1);
    frozen("observation.scale", 1);
    frozen("observation.sums", kObservationDigits);
    return parameters;
}

std::size_t PolicyNetwork::layer_parameters() const noexcept {
    return widths.empty() ? 0 : 2 * (widths.size() - 1) + (recurrent == 0 ? 0U : 4U);
}

std::uint32_t PolicyNetwork::layer_elements() const noexcept {
    if (widths.empty()) return 0;
    std::uint32_t elements = 2 * (widths.front() + recurrent + 1) * recurrent;
    for (std::size_t layer = 0; layer + 1 < widths.size(); ++layer) {
        const std::uint32_t in = layer == 0 && recurrent != 0 ? recurrent : widths[layer];
        elements += (in + 1) * widths[layer + 1];
    }
    return elements;
}

std::uint32_t PolicyNetwork::normalizer_elements() const noexcept {
    return normalized && !widths.empty() ? (2 + kObservationDigits) * widths.front() : 0;
}

std::uint64_t evaluation_words(const RolloutDesc& desc, std::uint32_t members) noexcept {
    if (!desc.network.normalized || desc.mean_only || desc.network.widths.empty()) return kEvaluationCounters;
    return kEvaluationCounters + std::uint64_t{kObservationCounts} * desc.network.widths.front() * members;
}

}  // namespace yolk
