// SPDX-License-Identifier: Apache-2.0
#include "abi_families.hpp"

#include <algorithm>

#include "abi_headers.inc"
#include "yolk/internal/shaders/catalogue.hpp"

namespace yolk {

namespace {

template <class T>
BlockMember member(const char* name, std::size_t offset_bytes) {
    using Scalar = std::remove_all_extents_t<T>;
    static_assert(sizeof(Scalar) == 4);
    const ScalarKind kind = std::is_same_v<Scalar, float>
                                ? ScalarKind::Float
                                : (std::is_signed_v<Scalar> ? ScalarKind::Int : ScalarKind::Uint);
    return {name, offset_bytes, sizeof(T), kind};
}

#include "abi_families.inc"

}  // namespace

std::span<const KernelModule* const> reflected_kernels() { return catalogue(); }

const std::vector<AbiModule>& abi_modules() { return k_modules; }

const AbiFamily* abi_family_of(std::string_view module) {
    const auto found = std::ranges::find(k_modules, module, &AbiModule::name);
    return found == k_modules.end() ? nullptr : found->family;
}

}  // namespace yolk
