// SPDX-License-Identifier: Apache-2.0
// A SPIR-V module's interface, read by SPIRV-Cross.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "yolk/result.hpp"

namespace yolk {

enum class ScalarKind { Uint, Int, Float, Other };

struct BlockMember {
    std::string name;
    std::size_t offset_bytes = 0;
    std::size_t size_bytes = 0;
    ScalarKind kind = ScalarKind::Other;
    friend bool operator==(const BlockMember&, const BlockMember&) = default;
};

enum class BindingKind { Storage, Uniform, Texel };

struct ReflectedBinding {
    std::uint32_t set = 0;
    std::uint32_t binding = 0;
    BindingKind kind = BindingKind::Storage;
    friend auto operator<=>(const ReflectedBinding&, const ReflectedBinding&) = default;
};

struct ReflectedSpec {
    std::uint32_t id = 0;
    bool is_4_bytes = false;  ///< a 32-bit uint, int or float, or a boolean
};

struct ReflectedModule {
    std::vector<std::string> entry_points;  ///< "compute main"
    std::vector<ReflectedBinding> bindings;
    std::vector<std::string> other_resources;  ///< images but texel buffers, samplers, ...: Yolk has none
    std::size_t push_constant_blocks = 0;
    std::vector<BlockMember>
        push_constants;  ///< flattened: members of nested structures with their offsets in the block
    std::vector<ReflectedSpec> specs;
    std::vector<std::uint32_t> capabilities;  ///< SpvCapability
    std::vector<std::string> extensions;
};

/// Errors: SPIRV-Cross cannot parse the module.
[[nodiscard]] Result<ReflectedModule> reflect(std::span<const std::uint32_t> spirv);

}  // namespace yolk
