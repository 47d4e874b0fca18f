// SPDX-License-Identifier: Apache-2.0
// The types of a module, and where the parts of a value lie among its scalars.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "spirv_module.hpp"
#include "value_range.hpp"

namespace yolk {

struct ValueType {
    std::uint32_t op = 0;                ///< OpType...
    std::uint32_t width = 0;             ///< bits of a number
    Scalar scalar = Scalar::Other;       ///< of a scalar type
    std::vector<std::uint32_t> parts{};  ///< types of a struct's members, of elements, of what a pointer leads to
    std::uint32_t length = 0;            ///< elements; 0: not known before the module runs
    std::uint32_t leaves = 1;            ///< scalars in it
    bool whole = false;                  ///< too large, or opaque: one leaf stands for all
    std::uint32_t storage = 0;           ///< storage class of a pointer

    [[nodiscard]] bool is_composite() const noexcept;
    /// Elements are of one type, and an index may be computed.
    [[nodiscard]] bool is_indexed() const noexcept;
};

class ValueTypes {
   public:
    /// `length`: of an array, as far as it is known.
    void declare(const SpirvInstruction& one, std::uint32_t length);
    /// Of ids that are no type: a type of one scalar of kind Other.
    [[nodiscard]] const ValueType& type(std::uint32_t id) const;
    [[nodiscard]] const ValueType& part(std::uint32_t id, std::uint32_t index) const {
        return type(part_id(id, index));
    }
    [[nodiscard]] std::uint32_t part_id(std::uint32_t id, std::uint32_t index) const;
    /// Scalars before the part.
    [[nodiscard]] std::uint32_t first_leaf(std::uint32_t id, std::uint32_t index) const;
    /// Anything of the type.
    [[nodiscard]] Value any(std::uint32_t id) const;
    [[nodiscard]] Value constant(std::uint32_t id, std::uint32_t bits) const;

   private:
    std::map<std::uint32_t, ValueType> types_;
};

}  // namespace yolk
