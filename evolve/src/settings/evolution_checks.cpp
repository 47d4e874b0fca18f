// SPDX-License-Identifier: Apache-2.0
#include "evolution_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "yolk/internal/runtime/probe.hpp"
#include "yolk/log.hpp"

namespace yolk::evolve {

Result<void> check_state(const ParameterTable& table, std::span<const float> initial,
                         std::span<const float> optimizer_state, const EvolutionOptions& options) {
    const std::uint32_t elements = table.element_count();
    if (elements == 0) return bad_input("The parameter table is empty, so there is nothing to train.");
    if (initial.size() != elements) {
        return bad_input("There are {} initial values for {} parameter elements; the two must be equal.",
                         initial.size(), elements);
    }
    const std::size_t state = optimizer_state_arrays(options.optimizer) * std::size_t{elements};
    if (optimizer_state.empty() || optimizer_state.size() == state) return {};
    return bad_input("There are {} values of optimizer state; {} of {} elements has {}.", optimizer_state.size(),
                     to_string(options.optimizer), elements, state);
}

Result<void> check_parts(const EvolutionParts& parts, const EvolutionOptions& options) {
    YOLK_TRY_VOID(check_state(parts.parameters, parts.initial, parts.optimizer_state, options));
    const std::uint32_t elements = parts.parameters.element_count();
    if (parts.evaluator &&
        (parts.evaluator->members() != options.population || parts.evaluator->episodes() != options.episodes)) {
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
    YOLK_TRY_VOID(check_bounds(parts.bounds, elements));
    const auto comes_to_the_host = [&](const ElementBounds& each) {
        return !parts.host_elements || std::ranges::any_of(*parts.host_elements, [&](const ElementRange& range) {
            return each.element >= range.first && each.element - range.first < range.count;
        });
    };
    const auto unseen = std::ranges::find_if_not(parts.bounds, comes_to_the_host);
    if (unseen == parts.bounds.end()) return {};
    return bad_input("Element {} has bounds and does not come to the host; add it to the elements that do.",
                     unseen->element);
}

Result<void> check_shaped(const ShapedGeneration& shaped, std::uint64_t weights, bool integers) {
    const std::size_t given = integers ? shaped.integer_weights.size() : shaped.float_weights.size();
    const std::size_t others = integers ? shaped.float_weights.size() : shaped.integer_weights.size();
    if (given == weights && others == 0) return {};
    return bad_input("There are {} int8 and {} fp32 weights; this run has {} {} and none of the other kind.",
                     shaped.integer_weights.size(), shaped.float_weights.size(), weights, integers ? "int8" : "fp32");
}

Result<ShapedGeneration> kept_weights(const PoolParts& parts, const ShapedGeneration& last) {
    if (!parts.keep_weights)
        return bad_input("This evolution keeps no weights; ask for them in PoolParts::keep_weights.");
    if (last.integer_weights.empty() && last.float_weights.empty())
        return bad_input("There are no weights before the first generation.");
    return last;
}

Result<void> check_finite(std::span<const float> values, std::string_view of) {
    const auto bad = std::ranges::find_if_not(values, [](float value) { return std::isfinite(value); });
    if (bad == values.end()) return {};
    return bad_input("Element {} of {} would be {}; all must be finite.", bad - values.begin(), of, *bad);
}

Result<void> check_tail(const ShapedGeneration& shaped, std::uint32_t elements) {
    if (shaped.tail.size() > elements) {
        return bad_input("A generation sets the last {} parameter elements; there are {}.", shaped.tail.size(),
                         elements);
    }
    return check_finite(shaped.tail, "the elements that a generation sets");
}

Result<void> check_gradient(std::span<const float> gradient, std::uint32_t elements) {
    if (gradient.size() != elements) {
        return bad_input("There are {} values of a gradient for {} parameter elements; the two must be equal.",
                         gradient.size(), elements);
    }
    return check_finite(gradient, "the gradient");
}

Result<void> check_bounds(std::span<const ElementBounds> bounds, std::uint32_t elements) {
    for (const ElementBounds& each : bounds) {
        if (each.element < elements && each.lower <= each.upper) continue;
        return bad_input("Element {} has the bounds {} to {}; there are {} elements, and a lower bound is not above.",
                         each.element, each.lower, each.upper, elements);
    }
    return {};
}

Result<void> check_members(const MemberEvaluator* evaluator, std::string_view name, const EvolutionOptions& options) {
    if (evaluator == nullptr)
        return bad_input("PoolParts::members gave no evaluator for {}; give an error where one cannot be made.", name);
    if (evaluator->episodes() != options.episodes) {
        return bad_input("The evaluator of {} gives {} returns per member; the options ask for {}.", name,
                         evaluator->episodes(), options.episodes);
    }
    const std::uint32_t least = options.antithetic ? 2 : 1;
    if (evaluator->most_members() < least) {
        return bad_input("The evaluator of {} takes at most {} members at once; it must take {}{}.", name,
                         evaluator->most_members(), least, options.antithetic ? ", a pair" : "");
    }
    return {};
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
        const std::uint32_t own = rank_of(p, rank);
        if (p.perturbation != Perturbation::LowRank || own <= std::min(p.rows, p.columns)) continue;
        log_info(fmt::format("Rank {} is above the smaller side of {} [{}, {}]; that is legal, but buys nothing there.",
                             own, p.name, p.rows, p.columns));
        return;
    }
}

}  // namespace yolk::evolve
