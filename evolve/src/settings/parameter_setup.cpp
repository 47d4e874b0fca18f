// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/evolve/parameter_setup.hpp"
#include "yolk/internal/core/printable.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "yolk/internal/abi/noise.h"
#include "yolk/internal/core/hash.hpp"
#include "yolk/internal/core/noise.hpp"

namespace yolk::evolve {
namespace {

Result<void> freeze_by_name(std::vector<ParameterDesc>& parameters, const std::string& name) {
    const auto found =
        std::find_if(parameters.begin(), parameters.end(), [&](const ParameterDesc& p) { return p.name == name; });
    if (found == parameters.end()) {
        std::string known;
        for (const ParameterDesc& p : parameters) known += (known.empty() ? "" : ", ") + p.name;
        return bad_input("There is no parameter '{}' to freeze; there are {}.", shown(name), known);
    }
    found->perturbation = Perturbation::Frozen;
    return {};
}

}  // namespace

Result<ParameterTable> trained_parameters(const ParameterTable& parameters, const EvolutionOptions& options) {
    std::vector<ParameterDesc> trained(parameters.parameters().begin(), parameters.parameters().end());
    for (const std::string& name : options.freeze) YOLK_TRY_VOID(freeze_by_name(trained, name));
    for (ParameterDesc& p : trained) {
        if (options.freeze_vectors && p.perturbation == Perturbation::Vector) p.perturbation = Perturbation::Frozen;
    }
    if (std::all_of(trained.begin(), trained.end(),
                    [](const ParameterDesc& p) { return p.perturbation == Perturbation::Frozen; })) {
        return bad_input("Every parameter is frozen, so there is nothing to train. Freeze fewer.");
    }
    return ParameterTable::create(std::move(trained));
}

std::vector<float> initial_parameters(const ParameterTable& parameters, std::uint64_t seed) {
    std::vector<float> values(parameters.element_count(), 0.0F);
    const auto noise_scale = std::bit_cast<float>(abi::noise::kNoiseScaleBits);
    for (std::uint32_t id = 0; id < parameters.parameters().size(); ++id) {
        const ParameterDesc& p = parameters.parameters()[id];
        if (p.perturbation != Perturbation::LowRank) continue;
        const float scale = noise_scale * (1.0F / std::sqrt(static_cast<float>(p.columns)));
        const NoiseStream stream{.seed = seed, .parameter = id, .domain = Domain::Initialization, .pair = 0, .time = 0};
        float* const out = values.data() + parameters.offset(ParameterId{id});
        const std::uint32_t count = p.rows * p.columns;
        for (std::uint32_t first = 0; first < count; first += kNoiseElementsPerBlock) {
            const auto block = noise_block(stream, first / kNoiseElementsPerBlock);
            for (std::uint32_t i = 0; i < std::min(kNoiseElementsPerBlock, count - first); ++i) {
                out[first + i] = static_cast<float>(block[i]) * scale;
            }
        }
    }
    return values;
}

Result<std::string> state_hash(std::span<const float> parameters, std::span<const float> optimizer_state,
                               std::uint64_t generations) {
    static_assert(std::endian::native == std::endian::little, "the state hash is over little-endian bytes");
    const auto finite = [](float value) { return std::isfinite(value); };
    for (const std::span<const float> values : {parameters, optimizer_state}) {
        const auto bad = std::find_if_not(values.begin(), values.end(), finite);
        if (bad == values.end()) continue;
        return failed_work(
            "After {} generations element {} of the {} is {}: training has diverged. Lower the learning rate or sigma.",
            generations, bad - values.begin(), values.data() == parameters.data() ? "parameters" : "optimizer's state",
            *bad);
    }
    Hasher hasher;
    hasher.add_values(parameters)
        .add_values(optimizer_state)
        .add_values(std::span<const std::uint64_t>(&generations, 1));
    return hasher.hex();
}

}  // namespace yolk::evolve
