// SPDX-License-Identifier: Apache-2.0
#include "yolk/perturbed_network.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "twin_source.hpp"
#include "yolk/exact/exact_elementwise.h"
#include "yolk/perturbed_linear.hpp"
#include "yolk/perturbed_vector.hpp"

namespace yolk::reference {
namespace {

/// [members, rows, out] and [members, out]: activation(values + bias), as elementwise has them.
void add_biases(const PerturbedNetworkDesc& desc, std::size_t layer, std::span<const float> biases,
                std::vector<float>& values) {
    const std::size_t out = desc.widths[layer + 1];
    for (std::size_t i = 0; i < values.size(); ++i) {
        const float bias = biases[i / (desc.rows * out) * out + i % out];
        const std::uint32_t sum =
            exact::exact_sum_word(std::bit_cast<std::uint32_t>(values[i]), std::bit_cast<std::uint32_t>(bias));
        values[i] =
            exact::exact_activate(static_cast<std::uint32_t>(desc.activations[layer]), std::bit_cast<float>(sum));
    }
}

}  // namespace

// The twins of the kernels that it stands for, layer by layer.
void run_twin(const PerturbedNetworkDesc& desc, const HostViews& views, const NoiseContext& when,
              OrDefault<std::int32_t> first_member) {
    std::size_t bias = desc.layers();  // among the views
    std::size_t input = bias;
    for (std::size_t l = 0; l < desc.layers(); ++l) input += desc.has_bias(l) ? 1U : 0U;
    const auto x = views.in<float>(input);
    std::vector<float> values(x.begin(), x.end());
    for (std::size_t l = 0; l < desc.layers(); ++l) {
        const std::uint32_t out = desc.widths[l + 1];
        const PerturbedLinearDesc linear{.members = desc.members,
                                         .rows = desc.rows,
                                         .in = desc.widths[l],
                                         .out = out,
                                         .rank = desc.rank,
                                         .parameter = desc.weights[l],
                                         .shared_input = l == 0 && desc.shared_input,
                                         .antithetic = desc.antithetic,
                                         .activation = desc.has_bias(l) ? Activation::Identity : desc.activations[l]};
        std::vector<float> made(std::size_t{desc.members} * desc.rows * out);
        run_twin(linear, {views[l], values, made}, when, first_member);
        if (desc.has_bias(l)) {
            std::vector<float> biases(std::size_t{desc.members} * out);
            run_twin(PerturbedVectorDesc{.members = desc.members,
                                         .element_count = out,
                                         .parameter = desc.bias_vectors[l],
                                         .antithetic = desc.antithetic},
                     {views[bias++], biases}, when, first_member);
            add_biases(desc, l, biases, made);
        }
        values = std::move(made);
    }
    copy_wanted(std::span<const float>(values), views.out<float>(input + 1));
}
template struct Twin<PerturbedNetworkDesc>;

}  // namespace yolk::reference
