// SPDX-License-Identifier: Apache-2.0
// A kernel as data: its SPIR-V and its interface. The catalogue (yolk/internal/shaders/catalogue.hpp, generated) lists
// them all.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string_view>

namespace yolk {

/// What a module needs above the portable floor (KernelModule::needs); runtime refuses it where the device lacks it.
enum KernelNeeds : std::uint32_t {
    kNeedsNothing = 0,
    kNeedsStorage16 = 1,       ///< SPIR-V StorageBuffer16BitAccess
    kNeedsIntegerDot = 2,      ///< DotProduct, DotProductInput4x8BitPacked
    kNeedsCooperativeNv = 4,   ///< CooperativeMatrixNV, and with it Float16, VulkanMemoryModel
    kNeedsCooperativeKhr = 8,  ///< CooperativeMatrixKHR, likewise
    kNeedsCooperativeBf16 =
        16,  ///< CooperativeMatrixKHR, BFloat16TypeKHR, BFloat16CooperativeMatrixKHR, VulkanMemoryModel
    kNeedsCooperativeI8 = 32,  ///< CooperativeMatrixKHR, Int8, VulkanMemoryModel
};

struct KernelModule {
    std::string_view name;                 ///< "noise", "es_update_int8": the file's name and the variant's
    std::span<const std::uint32_t> spirv;  ///< embedded, lives as long as the program
    std::uint32_t binding_count = 0;       ///< bindings 0 ... binding_count - 1 of set 0
    std::uint32_t uniform_mask = 0;        ///< bit b set: binding b is a uniform buffer, else a storage buffer ...
    std::uint32_t texel_mask = 0;          ///< ... or a uniform texel buffer of fp32 ...
    std::uint32_t texel4_mask = 0;         ///< ... or of vectors of four. At most one of the three has a bit.
    std::uint32_t params_bytes = 0;        ///< size of the push constants, at most 128
    bool unrolled =
        false;  ///< specialized and unrolled before the driver sees it (yolk/internal/shaders/specialize.hpp)
    std::uint32_t needs = kNeedsNothing;
    /// Class T, never for exact mode. Else of class E or P: the same bits on every device, and a test reads whether its
    /// instructions are (yolk/internal/shaders/exactness.hpp).
    bool tolerant = false;
};

/// A module together with the type of its parameters (push constants), so that wrong ones do not compile.
template <class ParamsType>
struct Kernel : KernelModule {
    using Params = ParamsType;
};

/// Value of one specialization constant (booleans as 0 or 1, floats by bit pattern).
struct SpecConstant {
    std::uint32_t id = 0;
    std::uint32_t value = 0;
    auto operator<=>(const SpecConstant&) const = default;
};

}  // namespace yolk
