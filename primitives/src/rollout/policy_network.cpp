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
    return parameters;
}

}  // namespace yolk
