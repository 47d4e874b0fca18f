// SPDX-License-Identifier: Apache-2.0
// Modules with cooperative matrices, from the NV form into the KHR form (ADR 16): what Debian 12's glslc compiles into
// what drivers other than NVIDIA's take. A part of the build; nothing that is shipped translates.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace yolk {

struct KhrForm {
    std::vector<std::uint32_t> spirv;
    std::string problem;  ///< a sentence; empty: spirv is the module
};

/// `nv`: words of a module whose matrices are all of the NV form (SPV_NV_cooperative_matrix). The KHR form differs in
/// three things: a type says which operand of a multiplication its matrices are, which is found from the
/// multiplications; a layout is an integer, where NV has a boolean "by columns"; and it comes before the stride.
/// Problems: words that are no SPIR-V, no matrices, a type that no multiplication uses, or more than one operand of
/// them (give the sides constants of their own), a layout that is not a constant.
[[nodiscard]] KhrForm to_khr_form(std::span<const std::uint32_t> nv);

}  // namespace yolk
