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

/// What the 16-bit floats of the module become.
enum class HalfForm { F16, BF16 };

/// `nv`: words of a module whose matrices are all of the NV form (SPV_NV_cooperative_matrix). The KHR form differs in
/// four things: a type says which operand of a multiplication its matrices are, which is found from the
/// multiplications; a layout is an integer, where NV has a boolean "by columns"; it comes before the stride; and a
/// multiplication of signed integers says that they are signed, where NV has it in the type.
/// BF16: the type of 16-bit floats becomes that of SPV_KHR_bfloat16, which no other version of the text could name
/// with Debian 12's glslc. Only matrices may be made of it.
/// Problems: words that are no SPIR-V, no matrices, a type that no multiplication uses, or more than one operand of
/// them (give the sides constants of their own), a layout that is not a constant, unsigned integers, a module for BF16
/// that has no 16-bit floats or computes with them.
[[nodiscard]] KhrForm to_khr_form(std::span<const std::uint32_t> nv, HalfForm halves = HalfForm::F16);

}  // namespace yolk
