// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "yolk/rollout.hpp"

namespace yolk {

std::vector<ParameterDesc> PolicyNetwork::parameters() const {
    std::vector<ParameterDesc> parameters;
    for (std::size_t layer = 0; layer + 1 < widths.size(); ++layer) {
        parameters.push_back({.name = fmt::format("layer{}.weight", layer),
                              .rows = widths[layer + 1],
                              .columns = widths[layer],
                              .perturbation = Perturbation::LowRank});
        parameters.push_back({.name = fmt::format("layer{}.bias", layer),
                              .rows = widths[layer + 1],
                              .columns = 1,
                              .perturbation = Perturbation::Vector});
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

std::uint32_t PolicyNetwork::layer_elements() const noexcept {
    std::uint32_t elements = 0;
    for (std::size_t layer = 0; layer + 1 < widths.size(); ++layer) elements += (widths[layer] + 1) * widths[layer + 1];
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
