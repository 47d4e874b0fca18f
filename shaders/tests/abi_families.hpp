// SPDX-License-Identifier: Apache-2.0
// What the ABI headers promise, as data; written by abi_expectations.cmake from the headers themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "reflected_module.hpp"
#include "yolk/internal/shaders/kernel.hpp"

namespace yolk {

struct AbiConstant {
    std::string name;  ///< "kSpecWorkgroupSize"
    std::uint32_t value = 0;
};

struct AbiFamily {
    std::string name;
    std::size_t params_bytes = 0;
    std::vector<BlockMember> members;
    std::vector<AbiConstant> specs;
    std::vector<AbiConstant> bindings;
};

struct AbiModule {
    std::string name;
    const AbiFamily* family = nullptr;
};

/// What is reflected: the modules of the whole catalogue, or of a part of it (cmake/YolkAbiExpectations.cmake).
[[nodiscard]] std::span<const KernelModule* const> reflected_kernels();
/// One entry per yolk_kernel() of these, as declared for CMake.
[[nodiscard]] const std::vector<AbiModule>& abi_modules();
/// Null where no module of that name was declared.
[[nodiscard]] const AbiFamily* abi_family_of(std::string_view module);

}  // namespace yolk
