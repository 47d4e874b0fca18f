// SPDX-License-Identifier: Apache-2.0
#include "output_space.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "mean_rewards.hpp"
#include "yolk/internal/core/memory.hpp"

namespace yolk::hyper::population {
namespace {

constexpr std::uint64_t kManyValues = std::uint64_t{1}
                                      << 16U;  ///< fewer take less than is worth a look at what is left

}  // namespace

Result<PopulationOutputs> outputs_for(std::uint32_t examples, std::uint32_t candidates) {
    // A value holds a tensor of its own at least where a host function made it.
    constexpr std::uint64_t kValueBytes = sizeof(Value) + 128;
    PopulationOutputs outputs{.examples = examples, .candidates = candidates};
    const std::uint64_t values = std::uint64_t{examples} * candidates;
    const std::string what = fmt::format("the outputs of {} candidates for {} examples", candidates, examples);
    if (values >= kManyValues) YOLK_TRY_VOID(check_host_memory(kValueBytes * values, what));
    YOLK_TRY(outputs.values, allocate<Value>(values, what));
    YOLK_TRY(outputs.errors, allocate<std::optional<Error>>(candidates, what));
    return outputs;
}

Result<PopulationOutputs> means_for(std::uint32_t examples, std::uint32_t candidates) {
    PopulationOutputs outputs{.examples = examples, .candidates = candidates};
    const std::string what = fmt::format("the means of {} candidates", candidates);
    YOLK_TRY(outputs.means, allocate<float>(candidates, what));
    YOLK_TRY(outputs.errors, allocate<std::optional<Error>>(candidates, what));
    return outputs;
}

Result<PopulationOutputs> outputs_of(const Program& program, std::uint32_t examples, std::uint32_t candidates) {
    if (program.makes_means()) return means_for(examples, candidates);
    if (!program.outputs_are_plain()) return outputs_for(examples, candidates);
    PopulationOutputs outputs{.examples = examples, .candidates = candidates};
    const std::string what = fmt::format("the outputs of {} candidates for {} examples", candidates, examples);
    YOLK_TRY(outputs.errors, allocate<std::optional<Error>>(candidates, what));
    PlainOutputs& plain = outputs.plain;
    plain.shapes.resize(examples);
    for (const ExampleGroup& group : program.groups()) {
        const auto output = std::get<VariableId>(group.graph().outputs.front());
        for (const std::uint32_t e : group.indices) plain.shapes[e] = group.graph().variables[output.value].type.shape;
    }
    for (const Shape& shape : plain.shapes) {
        plain.first.push_back(plain.each);
        YOLK_TRY(const std::uint64_t count, shape.element_count());
        plain.each += count;
    }
    YOLK_TRY(plain.elements, allocate<float>(plain.each * candidates, what));
    return outputs;
}

Result<void> average(PopulationOutputs& outputs) {
    YOLK_TRY(std::vector<float> rewards,
             allocate<float>(std::size_t{outputs.candidates} * outputs.examples, "the rewards of a population"));
    for (std::uint32_t c = 0; c < outputs.candidates; ++c) {
        for (std::uint32_t e = 0; e < outputs.examples && !outputs.errors[c]; ++e) {
            float& reward = rewards[std::size_t{c} * outputs.examples + e];
            if (!outputs.plain.empty()) {
                reward = outputs.plain.of(c)[e];
                continue;
            }
            const Result<double> given = outputs.values[std::size_t{e} * outputs.candidates + c].as_number();
            if (given) {
                reward = static_cast<float>(*given);
            } else {
                outputs.errors[c] =
                    Error(given.error()).while_doing(fmt::format("scoring example {}, candidate {}", e, c));
            }
        }
    }
    outputs.means = outputs.candidates > 0 ? mean_rewards(rewards, outputs.candidates) : std::vector<float>();
    mark_failed(outputs);
    return {};
}

Result<void> average_values(PopulationOutputs& outputs) {
    YOLK_TRY_VOID(average(outputs));
    outputs.values.clear();
    return {};
}

void mark_failed(PopulationOutputs& outputs) noexcept {
    for (std::size_t c = 0; c < outputs.means.size(); ++c) {
        const bool is_fine = std::isfinite(outputs.means[c]) && (outputs.errors.empty() || !outputs.errors[c]);
        if (!is_fine) outputs.means[c] = std::numeric_limits<float>::quiet_NaN();
    }
}

}  // namespace yolk::hyper::population
