// SPDX-License-Identifier: Apache-2.0
// Integers that cannot be mixed up: a ParameterId is not a SubmitSerial. No arithmetic beyond comparison.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace yolk {

template <class Tag, class Integer = std::uint32_t>
struct TypedId {
    Integer value = 0;
    constexpr TypedId() = default;
    constexpr explicit TypedId(Integer v) noexcept : value(v) {}
    friend constexpr auto operator<=>(TypedId, TypedId) = default;
};

/// A parameter (matrix or vector) of a parameter set; part of its noise streams' counters.
using ParameterId = TypedId<struct ParameterIdTag>;
/// A submission on a dispatcher's timeline; later ones are larger.
using SubmitSerial = TypedId<struct SubmitSerialTag, std::uint64_t>;

}  // namespace yolk

template <class Tag, class Integer>
struct std::hash<yolk::TypedId<Tag, Integer>> {
    std::size_t operator()(yolk::TypedId<Tag, Integer> id) const noexcept { return std::hash<Integer>{}(id.value); }
};
