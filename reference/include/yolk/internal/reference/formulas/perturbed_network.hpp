// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "yolk/internal/reference/formulas/perturbed_linear.hpp"
#include "yolk/internal/reference/formulas/perturbed_vector.hpp"
#include "yolk/perturbed_network.hpp"
#include "yolk/twin.hpp"

namespace yolk::reference {

/// One member: the kernels that the network stands for, layer by layer; biases are added as elementwise adds them.
template <class Number>
[[nodiscard]] std::vector<Number> network_outputs(const PerturbedNetworkDesc& desc, const HostViews& views,
                                                  std::span<const Number> input, const NoiseContext& when,
                                                  std::int32_t member) {
    std::vector<Number> values(input.begin(), input.end());
    std::size_t bias = desc.layers();  // among the views
    for (std::size_t l = 0; l < desc.layers(); ++l) {
        const std::uint32_t out = desc.widths[l + 1];
        const PerturbedLinearDesc linear{.members = 1,
                                         .rows = desc.rows,
                                         .in = desc.widths[l],
                                         .out = out,
                                         .rank = desc.rank,
                                         .parameter = desc.weights[l],
                                         .antithetic = desc.antithetic};
        std::vector<Number> made(std::size_t{desc.rows} * out);
        formula<Number>(linear, {views[l], values, made}, when, OrDefault<std::int32_t>{member});
        std::vector<Number> biases(desc.has_bias(l) ? out : 0);
        if (desc.has_bias(l)) {
            formula<Number>(PerturbedVectorDesc{.members = 1,
                                                .element_count = out,
                                                .parameter = desc.bias_vectors[l],
                                                .antithetic = desc.antithetic},
                            {views[bias++], biases}, when, OrDefault<std::int32_t>{member});
        }
        for (std::size_t i = 0; i < made.size(); ++i) {
            if (desc.has_bias(l)) made[i] = element_sum(made[i], biases[i % out]);
            made[i] = activated(desc.activations[l], made[i]);
        }
        values = std::move(made);
    }
    return values;
}

template <class Number>
void formula(const PerturbedNetworkDesc& desc, const HostViews& views, const NoiseContext& when,
             OrDefault<std::int32_t> first_member) {
    std::size_t input = desc.layers();  // among the views, behind weights and biases
    for (std::size_t l = 0; l < desc.layers(); ++l) input += desc.has_bias(l) ? 1U : 0U;
    const std::size_t taken = std::size_t{desc.rows} * desc.widths.front();
    std::span<Number> out = views.out<Number>(input + 1);
    for (std::uint32_t m = 0; m < desc.members; ++m) {
        const auto x = views.in<Number>(input).subspan(desc.shared_input ? 0 : m * taken, taken);
        const auto made =
            network_outputs<Number>(desc, views, x, when, first_member.value + static_cast<std::int32_t>(m));
        std::ranges::copy(made, out.begin());
        out = out.subspan(made.size());
    }
}

}  // namespace yolk::reference
