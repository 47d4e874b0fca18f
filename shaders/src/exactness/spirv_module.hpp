// SPDX-License-Identifier: Apache-2.0
// A module of SPIR-V taken apart: instructions with their place in the source, functions, and blocks. Both checks of
// yolk/internal/shaders/exactness.hpp read it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "yolk/result.hpp"

namespace yolk {

struct SpirvInstruction {
    std::uint32_t op = 0;
    std::uint32_t type = 0, result = 0;    ///< ids; 0 where it has none
    std::span<const std::uint32_t> words;  ///< of the module; the first is the instruction's head
    std::uint32_t function = 0;            ///< id, 0 outside of functions
    std::uint32_t file = 0, line = 0;      ///< id of a string; line 0: unknown

    /// 0 beyond the end, so that a short instruction reads nothing else.
    [[nodiscard]] std::uint32_t word(std::size_t i) const noexcept { return i < words.size() ? words[i] : 0; }
};

struct SpirvBlock {
    std::uint32_t label = 0;
    std::size_t first = 0, end = 0;  ///< instructions behind the label; the last one ends the block
    std::vector<std::size_t> predecessors{};
};

struct SpirvFunction {
    std::uint32_t id = 0;
    std::vector<std::size_t> parameters{};  ///< instructions
    std::vector<SpirvBlock> blocks{};
    std::map<std::uint32_t, std::size_t> block_of_label{};
};

/// Views of the words it was read from.
struct SpirvModule {
    std::vector<SpirvInstruction> instructions;
    std::unordered_map<std::uint32_t, std::size_t> definitions;  ///< id to instruction
    std::map<std::uint32_t, SpirvFunction> functions;            ///< by id
    std::map<std::uint32_t, std::string> strings, names;
    std::set<std::uint32_t> uncontracted;   ///< ids with NoContraction
    std::set<std::uint32_t> glsl_sets;      ///< of GLSL's built-in functions
    std::set<std::uint32_t> harmless_sets;  ///< compute nothing
    std::vector<std::uint32_t> entries;     ///< functions that nothing calls from inside

    /// Error (BadInput): no SPIR-V.
    [[nodiscard]] static Result<SpirvModule> read(std::span<const std::uint32_t> spirv);

    [[nodiscard]] const SpirvInstruction* definition(std::uint32_t id) const {
        const auto found = definitions.find(id);
        return found == definitions.end() ? nullptr : &instructions[found->second];
    }
};

/// Labels that a block's last instruction may go to.
[[nodiscard]] std::vector<std::uint32_t> successors(const SpirvInstruction& terminator);

}  // namespace yolk
