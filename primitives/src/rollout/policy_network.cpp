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
    return parameters;
}

}  // namespace yolk
