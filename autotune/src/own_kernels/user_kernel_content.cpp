// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

#include "user_kernel_file.hpp"
#include "yolk/internal/core/philox.hpp"

namespace yolk::autotune {
namespace {

using oracle::ElementType;

/// Two draws in [0, 1) for element `index` of a binding; nothing else draws from this counter.
std::array<double, 2> draws(std::uint64_t seed, std::uint32_t binding, std::uint64_t index) {
    const PhiloxKey key{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32U)};
    const PhiloxCounter words =
        philox4x32({static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32U), binding, 0}, key);
    const auto unit = [](std::uint32_t high, std::uint32_t low) {
        return static_cast<double>((std::uint64_t{high} << 21U) | (low >> 11U)) * 0x1p-53;
    };
    return {unit(words[0], words[1]), unit(words[2], words[3])};
}

double buffer_value(const KernelBuffer& buffer, std::uint64_t index) {
    const KernelContent& content = buffer.content;
    switch (content.kind) {
        case ContentKind::Constant: return content.first;
        case ContentKind::Ramp: return content.first + content.second * static_cast<double>(index);
        case ContentKind::Uniform: {
            // Integers take both bounds.
            const double width = content.second - content.first + (buffer.element == ElementType::F32 ? 0.0 : 1.0);
            const double drawn = content.first + width * draws(content.seed, buffer.binding, index)[0];
            return buffer.element == ElementType::F32 ? drawn : std::floor(drawn);
        }
        case ContentKind::Normal: {
            const std::array<double, 2> unit = draws(content.seed, buffer.binding, index);
            const double radius = std::sqrt(-2.0 * std::log1p(-unit[0]));  // Box and Muller, 1958
            return content.first + content.second * radius * std::cos(2.0 * std::numbers::pi * unit[1]);
        }
        default: return 0.0;
    }
}

/// Rounded to the type; what it cannot hold becomes the nearest that it can.
std::uint32_t element_word(ElementType element, double value) {
    constexpr double kMost = std::numeric_limits<std::uint32_t>::max();
    switch (element) {
        case ElementType::I32:
            return static_cast<std::uint32_t>(
                static_cast<std::int32_t>(std::clamp(std::nearbyint(value), -0x1p31, 0x1p31 - 1.0)));
        case ElementType::U32: return static_cast<std::uint32_t>(std::clamp(std::nearbyint(value), 0.0, kMost));
        case ElementType::F32: break;
    }
    return std::bit_cast<std::uint32_t>(static_cast<float>(value));
}

}  // namespace

std::vector<std::byte> initial_content(const KernelBuffer& buffer) {
    if (buffer.content.kind == ContentKind::None) return {};
    if (buffer.content.kind == ContentKind::File) return buffer.content.bytes;
    std::vector<std::byte> bytes(buffer.size_bytes());
    for (std::uint64_t i = 0; i < buffer.elements; ++i) {
        const std::uint32_t word = element_word(buffer.element, buffer_value(buffer, i));
        std::memcpy(bytes.data() + i * sizeof(word), &word, sizeof(word));
    }
    return bytes;
}

}  // namespace yolk::autotune
