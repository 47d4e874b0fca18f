// SPDX-License-Identifier: Apache-2.0
#include "value_types.hpp"

#include <algorithm>
#include <spirv/unified1/spirv.hpp>

namespace yolk {
namespace {

constexpr std::uint64_t kMostLeaves = 4096;

}  // namespace

bool ValueType::is_composite() const noexcept { return op == spv::OpTypeStruct || is_indexed(); }

bool ValueType::is_indexed() const noexcept {
    return op == spv::OpTypeVector || op == spv::OpTypeMatrix || op == spv::OpTypeArray ||
           op == spv::OpTypeRuntimeArray;
}

void ValueTypes::declare(const SpirvInstruction& one, std::uint32_t length) {
    ValueType type{.op = one.op};
    switch (one.op) {
        case spv::OpTypeBool: type.scalar = Scalar::Bool; break;
        case spv::OpTypeInt:
            type.width = one.word(2);
            if (type.width == 32) type.scalar = one.word(3) == 0 ? Scalar::Uint : Scalar::Int;
            break;
        case spv::OpTypeFloat: type.width = one.word(2); break;
        case spv::OpTypeVector:
        case spv::OpTypeMatrix:
            type.parts = {one.word(2)};
            type.length = one.word(3);
            break;
        case spv::OpTypeArray:
        case spv::OpTypeRuntimeArray:
            type.parts = {one.word(2)};
            type.length = one.op == spv::OpTypeArray ? length : 0;
            break;
        case spv::OpTypeStruct: type.parts.assign(one.words.begin() + 2, one.words.end()); break;
        case spv::OpTypePointer:
            type.storage = one.word(2);
            type.parts = {one.word(3)};
            break;
        default: break;
    }
    if (type.is_composite()) {
        std::uint64_t leaves = 0;
        for (const std::uint32_t part : type.parts) {
            leaves += this->type(part).leaves;
            type.whole = type.whole || this->type(part).whole;
        }
        if (type.is_indexed()) leaves *= type.length;
        type.whole = type.whole || leaves == 0 || leaves > kMostLeaves;
        type.leaves = type.whole ? 1 : static_cast<std::uint32_t>(leaves);
    }
    types_[one.word(1)] = std::move(type);
}

const ValueType& ValueTypes::type(std::uint32_t id) const {
    static const ValueType unknown;
    const auto found = types_.find(id);
    return found == types_.end() ? unknown : found->second;
}

std::uint32_t ValueTypes::part_id(std::uint32_t id, std::uint32_t index) const {
    const ValueType& of = type(id);
    const std::size_t i = of.is_indexed() ? 0 : index;
    return i < of.parts.size() ? of.parts[i] : 0;
}

std::uint32_t ValueTypes::first_leaf(std::uint32_t id, std::uint32_t index) const {
    const ValueType& of = type(id);
    if (of.whole) return 0;
    if (of.is_indexed()) return index * part(id, 0).leaves;
    std::uint32_t first = 0;
    for (std::uint32_t i = 0; i < std::min<std::size_t>(index, of.parts.size()); ++i) first += part(id, i).leaves;
    return first;
}

Value ValueTypes::any(std::uint32_t id) const {
    const ValueType& of = type(id);
    if (of.whole || !of.is_composite()) return {any_of(of.whole ? Scalar::Other : of.scalar)};
    Value all;
    all.reserve(of.leaves);
    const std::uint32_t count = of.is_indexed() ? of.length : static_cast<std::uint32_t>(of.parts.size());
    for (std::uint32_t i = 0; i < count; ++i) {
        const Value one = any(part_id(id, i));
        all.insert(all.end(), one.begin(), one.end());
    }
    return all;
}

Value ValueTypes::constant(std::uint32_t id, std::uint32_t bits) const {
    const Scalar kind = type(id).scalar;
    const std::int64_t value = kind == Scalar::Int ? static_cast<std::int32_t>(bits) : std::int64_t{bits};
    Leaf leaf = any_of(kind);
    leaf.given = true;
    if (kind != Scalar::Other) leaf.low = leaf.high = value;
    return {leaf};
}

}  // namespace yolk
