// SPDX-License-Identifier: Apache-2.0
#include "element_fields.hpp"

#include <algorithm>

#include "program_fields.hpp"

namespace yolk {

std::string word_of_step(const ElementwiseStep& step) {
    const std::string_view word = word_of(step.operation);
    return word == "?" ? "?operation " + std::to_string(static_cast<std::uint32_t>(step.operation)) : std::string(word);
}

bool parse_operation(ElementwiseStep& step, std::string_view word) {
    static constexpr auto kWords = enum_words(ElementwiseOperation{});
    const auto found = std::ranges::find(kWords, word);
    step.operation = static_cast<ElementwiseOperation>(found - kWords.begin());
    return found != kWords.end();
}

std::vector<Field<ElementwiseDesc>> elementwise_fields() {
    using Desc = ElementwiseDesc;
    return {extents_field<Desc>(), inputs_field<Desc>(), numbers_field<Desc, abi::elementwise::kMostNumbers>(),
            steps_field<Desc>("operations and their operands, such as add:0:1,relu:2, where 2 is what add gave")};
}

}  // namespace yolk
