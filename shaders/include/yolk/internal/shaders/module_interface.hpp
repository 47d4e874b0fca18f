// SPDX-License-Identifier: Apache-2.0
// What a compute module asks of whoever runs it, read from its SPIR-V.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "yolk/internal/shaders/kernel.hpp"
#include "yolk/result.hpp"

namespace yolk {

enum class ScalarType { F32, I32, U32, Bool, Other };
[[nodiscard]] const char* to_string(ScalarType type) noexcept;  ///< "f32", "i32", "u32", "bool", "another type"

struct InterfaceBinding {
    std::string name;
    std::uint32_t set = 0;
    std::uint32_t binding = 0;
    bool is_uniform = false;   ///< a uniform block, else a storage buffer
    bool is_buffer = true;     ///< false for images, samplers and arrays of buffers
    bool is_readonly = false;  ///< the shader cannot write it
    bool asks_length = false;  ///< of its array at the end, which follows from how it is bound
    /// Of a block that is one array: what its elements are made of (vectors and matrices: of their components).
    ScalarType element = ScalarType::Other;
};

struct InterfaceConstant {
    std::uint32_t id = 0;
    std::string name;
    ScalarType type = ScalarType::Other;
};

/// A scalar of the push constants.
struct InterfaceMember {
    std::string name;
    std::uint32_t offset_bytes = 0;
    ScalarType type = ScalarType::Other;
};

/// What a workgroup takes with given constants.
struct WorkgroupUse {
    std::array<std::uint32_t, 3> size{1, 1, 1};
    std::uint64_t shared_bytes = 0;  ///< at least: without the padding of a driver
};

struct ModuleInterface {
    std::vector<InterfaceBinding> bindings;    ///< by binding
    std::vector<InterfaceConstant> constants;  ///< by id
    std::vector<InterfaceMember> push_constants;
    std::uint32_t push_bytes = 0;             ///< to the end of the last member
    std::vector<std::uint32_t> capabilities;  ///< SPIR-V's
    bool asks_group_count = false;            ///< gl_NumWorkGroups

    /// Nothing where the sizes are computed in a way that only a driver knows.
    [[nodiscard]] std::optional<WorkgroupUse> workgroup(std::span<const SpecConstant> constants) const;

    /// Of one invocation's variables, all functions together; what only a driver knows counts as nothing. At most 2^40.
    [[nodiscard]] std::uint64_t local_bytes(std::span<const SpecConstant> constants) const;

    struct Parsed;  // shaders/src/modules/module_interface.cpp
    std::shared_ptr<const Parsed> parsed;
};

/// Error (BadInput): no SPIR-V.
[[nodiscard]] Result<ModuleInterface> read_interface(std::span<const std::uint32_t> spirv);

}  // namespace yolk
