// SPDX-License-Identifier: Apache-2.0
#include "program_costs.hpp"

#include <algorithm>
#include <cstdint>

namespace yolk::hyper::population {
namespace {

/// The highest cost_of() a program of elements: drivers compile all of its operations as one kernel.
constexpr std::uint64_t kMostElementCost = 1024;

/// How often drivers compile what a reduction takes, and what is stored (shaders/lib/rows.glsl writes its chains out).
constexpr std::uint64_t kCopiesOfTerm = 32, kCopiesOfResult = 8;
/// The highest cost_of() a program of rows, times these. Softmax with a factor and a choice before it has 3,900, its
/// logarithm that is weighted and summed 3,300, a layer norm's derivative 1,700; three functions that are summed have
/// more.
constexpr std::uint64_t kMostRowCost = 6144;
/// A step of such a cost_of(), an exponential or a quotient, takes longer than to store its result and load it again.
constexpr std::uint64_t kDearStep = 64;

/// By step: what is computed for each element of a pass that ends in a value.
std::vector<bool> steps_of_pass(const RowProgramDesc& desc, const std::vector<bool>& varies, std::size_t value) {
    const std::size_t first = desc.inputs.size() + desc.numbers.size();
    std::vector<bool> needed(first + desc.steps.size(), false), steps(desc.steps.size(), false);
    needed[value] = true;
    for (std::size_t s = desc.steps.size(); s-- > 0;) {
        if (!needed[first + s] || !varies[first + s]) continue;
        steps[s] = true;
        for (const std::uint32_t operand : desc.steps[s].operands) needed[operand] = true;
    }
    return steps;
}

}  // namespace

bool is_worth_joining(const ElementwiseDesc& desc) {
    std::uint64_t cost = 0;
    for (const ElementwiseStep& step : desc.steps) cost += cost_of(step.operation);
    return desc.steps.size() == 1 || cost <= kMostElementCost;
}

bool is_worth_joining(const RowProgramDesc& desc, const std::vector<bool>& free) {
    const std::vector<bool> varies = varies_along_row(desc);
    const std::size_t first = desc.inputs.size() + desc.numbers.size();
    std::vector<std::uint32_t> passes(desc.steps.size(), 0);
    std::uint64_t cost = 0;
    const auto add_pass = [&](std::size_t value, std::uint64_t copies) {
        const std::vector<bool> steps = steps_of_pass(desc, varies, value);
        for (std::size_t s = 0; s < steps.size(); ++s) {
            if (!steps[s]) continue;
            cost += copies * cost_of(desc.steps[s]);
            if (!free[s]) ++passes[s];
        }
    };
    for (std::size_t s = 0; s < desc.steps.size(); ++s) {
        if (is_reduction(desc.steps[s])) {
            add_pass(desc.steps[s].operands.front(), kCopiesOfTerm);
        } else if (!varies[first + s]) {
            cost += cost_of(desc.steps[s]);  // once for the row
        }
    }
    if (varies.back()) add_pass(varies.size() - 1, kCopiesOfResult);
    for (std::size_t s = 0; s < passes.size(); ++s) {
        if (passes[s] > 1 && cost_of(desc.steps[s]) >= kDearStep) return false;
    }
    return cost <= kMostRowCost;
}

}  // namespace yolk::hyper::population
