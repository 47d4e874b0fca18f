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

/// The kernels that it stands for, layer by layer; biases are added as elementwise adds them.
template <class Number>
void formula(const PerturbedNetworkDesc& desc, const HostViews& views, const NoiseContext& when,
             OrDefault<std::int32_t> first_member) {
    std::size_t bias = desc.layers();  // among the views
    std::size_t input = bias;
    for (std::size_t l = 0; l < desc.layers(); ++l) input += desc.has_bias(l) ? 1U : 0U;
    const auto x = views.in<Number>(input);
    std::vector<Number> values(x.begin(), x.end());
    for (std::size_t l = 0; l < desc.layers(); ++l) {
        const std::uint32_t out = desc.widths[l + 1];
        const PerturbedLinearDesc linear{.members = desc.members,
                                         .rows = desc.rows,
                                         .in = desc.widths[l],
                                         .out = out,
                                         .rank = desc.rank,
                                         .parameter = desc.weights[l],
                                         .shared_input = l == 0 && desc.shared_input,
                                         .antithetic = desc.antithetic};
        std::vector<Number> made(std::size_t{desc.members} * desc.rows * out);
        formula<Number>(linear, {views[l], values, made}, when, first_member);
        std::vector<Number> biases(desc.has_bias(l) ? std::size_t{desc.members} * out : 0);
        if (desc.has_bias(l)) {
            formula<Number>(PerturbedVectorDesc{.members = desc.members,
                                                .element_count = out,
                                                .parameter = desc.bias_vectors[l],
                                                .antithetic = desc.antithetic},
                            {views[bias++], biases}, when, first_member);
        }
        for (std::size_t i = 0; i < made.size(); ++i) {
            if (desc.has_bias(l))
                made[i] = element_sum(made[i], biases[i / (std::size_t{desc.rows} * out) * out + i % out]);
            made[i] = activated(desc.activations[l], made[i]);
        }
        values = std::move(made);
    }
    std::ranges::copy(values, views.out<Number>(input + 1).begin());
}

}  // namespace yolk::reference
