// SPDX-License-Identifier: Apache-2.0
#include "half_values.hpp"

#include <bit>

#include "yolk/internal/oracle/convert.hpp"

namespace yolk::oracle {
namespace {

HalfValues table_of(FloatFormat format) {
    HalfValues values{};
    for (std::uint32_t bits = 0; bits < values.size(); ++bits)
        values[bits] = static_cast<float>(value_of_half(format, static_cast<std::uint16_t>(bits)));
    return values;
}

}  // namespace

const HalfValues& half_values(FloatFormat format) {
    static const HalfValues kF16 = table_of(FloatFormat::F16);
    static const HalfValues kBf16 = table_of(FloatFormat::BF16);
    return format == FloatFormat::F16 ? kF16 : kBf16;
}

double value_of(ElementBits type, std::uint32_t bits) {
    switch (type) {
        case ElementBits::F32: return std::bit_cast<float>(bits);
        case ElementBits::I32: return static_cast<std::int32_t>(bits);
        case ElementBits::F16: return half_values(FloatFormat::F16)[bits & 0xFFFFU];
        case ElementBits::BF16: return half_values(FloatFormat::BF16)[bits & 0xFFFFU];
    }
    return 0.0;
}

}  // namespace yolk::oracle
