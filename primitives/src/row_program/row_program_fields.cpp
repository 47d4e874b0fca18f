// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "program_fields.hpp"
#include "row_program_plan.hpp"

namespace yolk {

namespace {

template <Worded E>
bool parse_word(RowStep& step, std::string_view word) {
    static constexpr auto kWords = enum_words(E{});
    const auto found = std::ranges::find(kWords, word);
    if (found == kWords.end()) return false;
    step.operation = static_cast<E>(found - kWords.begin());
    return true;
}

}  // namespace

/// "add", "sum"; "?operation 99" for a number that no operation has.
std::string word_of_step(const RowStep& step) {
    const auto text = [](auto operation) {
        const std::string_view word = word_of(operation);
        return word == "?" ? "?operation " + std::to_string(static_cast<std::uint32_t>(operation)) : std::string(word);
    };
    return std::visit(text, step.operation);
}

/// False: no operation has that word.
bool parse_operation(RowStep& step, std::string_view word) {
    return parse_word<ElementwiseOperation>(step, word) || parse_word<RowOperation>(step, word);
}

std::vector<Field<RowProgramDesc>> row_program_fields() {
    using Desc = RowProgramDesc;
    return {extents_field<Desc>(), variant<&Desc::row>("row"), inputs_field<Desc>(),
            numbers_field<Desc, abi::row_program::kMostNumbers>(),
            steps_field<Desc>("operations and their operands, such as sum:0,divide:0:1, where 1 is what sum gave")};
}

}  // namespace yolk
