// SPDX-License-Identifier: Apache-2.0
// What is known at a point of a function: the contents of its variables, and what conditions on the way say of values.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "value_range.hpp"

namespace yolk {

/// Where a value was loaded from. Current while the object's version is the same.
struct Origin {
    std::uint32_t object = 0;  ///< 0: nowhere
    std::uint32_t leaf = 0;
    std::uint64_t version = 0;
};

/// A variable of a function, or a part of it.
struct Pointer {
    std::uint32_t object = 0;             ///< 0: memory that is not followed
    std::uint32_t first = 0, leaves = 0;  ///< that it may lead to
    bool exact = true;                    ///< to all of them, no index is unknown
    std::uint32_t type = 0;               ///< of what it leads to
    std::uint32_t storage = 0;            ///< storage class
    std::uint32_t variable = 0;           ///< id, outside of functions
};

struct Known {
    Value value{};
    std::optional<Pointer> pointer{};
    Origin origin{};
};

struct Object {
    std::shared_ptr<const Value> leaves;
    std::uint64_t version = 0;
};

struct KnownState {
    std::map<std::uint32_t, Object> objects{};
    std::map<std::uint32_t, Leaf> facts{};  ///< of scalars, by id: narrower than where they were computed

    [[nodiscard]] const Leaf* leaf_of(const Origin& origin) const;
    /// The version stays: the content is the same, more is known of it.
    void narrow(const Origin& origin, const Leaf& leaf);

    /// What holds on both ways. `versions` counts contents.
    [[nodiscard]] static KnownState either_of(const KnownState& a, const KnownState& b, bool widen,
                                              std::uint64_t& versions);
    /// Same contents and facts, whatever the versions.
    [[nodiscard]] bool is_same(const KnownState& other) const;
};

[[nodiscard]] Value either_value(const Value& a, const Value& b, bool widen = false);

}  // namespace yolk
