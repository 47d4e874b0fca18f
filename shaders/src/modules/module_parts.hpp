// SPDX-License-Identifier: Apache-2.0
// A module taken apart, so that another one can be made of its pieces.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "yolk/result.hpp"

namespace yolk {

struct ModuleFunction {
    std::vector<std::uint32_t> words;    ///< OpFunction to OpFunctionEnd
    std::vector<std::uint32_t> callees;  ///< ids
    std::vector<std::uint32_t> made;     ///< ids of its results, its own and its labels' among them
    std::vector<std::uint32_t> parameters;
};

/// Instructions are whole, the opcode with its word count first. Ids are SPIR-V's.
struct ModuleParts {
    std::vector<std::uint32_t> header;                 ///< five words
    std::vector<std::vector<std::uint32_t>> preamble;  ///< capabilities to annotations
    std::vector<std::vector<std::uint32_t>> globals;   ///< types, constants, variables
    std::vector<std::pair<std::uint32_t, ModuleFunction>> functions;
    std::map<std::string, std::uint32_t, std::less<>> names;  ///< of functions up to their parenthesis
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> pointers;  ///< storage class, type: the pointer
    std::uint32_t unsigned_type = 0, bool_type = 0;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> vectors;  ///< component type, count: the vector

    /// 0: there is none.
    [[nodiscard]] std::uint32_t named(std::string_view name) const;
    /// The function and all that it calls, directly or not.
    [[nodiscard]] std::set<std::uint32_t> called_from(std::uint32_t function) const;
    [[nodiscard]] const ModuleFunction* function(std::uint32_t id) const;
    /// Of the member of that name of the structure of that name.
    [[nodiscard]] Result<std::uint32_t> member(std::string_view structure, std::string_view name) const;
};

/// Error (BadInput): no SPIR-V.
[[nodiscard]] Result<ModuleParts> take_apart(std::span<const std::uint32_t> spirv);

}  // namespace yolk
