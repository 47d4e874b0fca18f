// SPDX-License-Identifier: Apache-2.0
#include "output_space.hpp"

#include <fmt/format.h>

#include "yolk/core/memory.hpp"

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

Result<PopulationOutputs> plain_outputs_for(const Program& program, std::uint32_t examples, std::uint32_t candidates) {
    PopulationOutputs outputs{.examples = examples, .candidates = candidates};
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
    const std::string what = fmt::format("the outputs of {} candidates for {} examples", candidates, examples);
    YOLK_TRY(plain.elements, allocate<float>(plain.each * candidates, what));
    YOLK_TRY(outputs.errors, allocate<std::optional<Error>>(candidates, what));
    return outputs;
}

}  // namespace yolk::hyper::population
