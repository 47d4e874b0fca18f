// SPDX-License-Identifier: Apache-2.0
#include "evolution_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "yolk/core/log.hpp"
#include "yolk/runtime/probe.hpp"

namespace yolk::evolve {

Result<void> check_parts(const EvolutionParts& parts, const EvolutionOptions& options) {
    const std::uint32_t elements = parts.parameters.element_count();
    if (elements == 0) return bad_input("The parameter table is empty, so there is nothing to train.");
    if (parts.initial.size() != elements) {
        return bad_input("There are {} initial values for {} parameter elements; the two must be equal.",
                         parts.initial.size(), elements);
    }
    const std::size_t state = optimizer_state_arrays(options.optimizer) * std::size_t{elements};
    if (!parts.optimizer_state.empty() && parts.optimizer_state.size() != state) {
        return bad_input("There are {} values of optimizer state; {} of {} elements has {}.",
                         parts.optimizer_state.size(), to_string(options.optimizer), elements, state);
    }
    if (!parts.evaluator) return bad_input("Evolution needs an evaluator.");
    if (parts.evaluator->members() != options.population || parts.evaluator->episodes() != options.episodes) {
        return bad_input("The evaluator scores {} members with {} episodes each, but the options ask for {} with {}.",
                         parts.evaluator->members(), parts.evaluator->episodes(), options.population, options.episodes);
    }
    if (parts.policy_evaluator && parts.policy_evaluator->members() != 1) {
        return bad_input("The policy evaluator scores {} members; it must score the unperturbed policy alone.",
                         parts.policy_evaluator->members());
    }
    for (const ElementRange& range : parts.host_elements.value_or(std::vector<ElementRange>())) {
        if (range.first <= elements && range.count <= elements - range.first) continue;
        return bad_input("Elements {} to {} were asked for on the host; there are {} parameter elements.", range.first,
                         std::uint64_t{range.first} + range.count, elements);
    }
    return {};
}

Result<void> check_finite(std::span<const float> values) {
    const auto bad = std::ranges::find_if_not(values, [](float value) { return std::isfinite(value); });
    if (bad == values.end()) return {};
    return bad_input("Element {} of the parameters would be {}; all must be finite.", bad - values.begin(), *bad);
}

Result<void> probe_device(const Device& device, Determinism determinism) {
    YOLK_TRY(const DeviceFindings findings, probe(device));
    if (determinism == Determinism::Exact && !findings.inexact_reason.empty()) {
        return unsupported("{} cannot run in exact mode: {} Choose another device, or fast determinism.",
                           device.info().name, findings.inexact_reason);
    }
    return {};
}

void note_useless_rank(const ParameterTable& table, std::uint32_t rank) {
    for (const ParameterDesc& p : table.parameters()) {
        if (p.perturbation != Perturbation::LowRank || rank <= std::min(p.rows, p.columns)) continue;
        log_info(fmt::format("Rank {} is above the smaller side of {} [{}, {}]; that is legal, but buys nothing there.",
                             rank, p.name, p.rows, p.columns));
        return;
    }
}

}  // namespace yolk::evolve
