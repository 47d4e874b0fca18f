// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/reference/convert.hpp"

#include <bit>

#include "format_floats.hpp"
#include "twin_source.hpp"
#include "yolk/convert.hpp"
#include "yolk/exact/exact_half.h"

namespace yolk::reference {

std::vector<std::uint32_t> narrow_twin(FloatFormat to, std::span<const float> values) {
    std::vector<std::uint32_t> words((values.size() + 1) / 2, 0);
    for (std::size_t i = 0; i < values.size(); ++i) {
        const auto bits = std::bit_cast<std::uint32_t>(values[i]);
        const std::uint32_t half =
            to == FloatFormat::F16 ? exact::exact_f32_to_f16(bits) : exact::exact_f32_to_bf16(bits);
        words[i / 2] |= half << (16 * (i % 2));
    }
    return words;
}

std::vector<float> widen_twin(FloatFormat from, std::span<const std::uint32_t> words, std::size_t count) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t half = (words[i / 2] >> (16 * (i % 2))) & 0xFFFFU;
        values[i] = std::bit_cast<float>(from == FloatFormat::F16 ? exact::exact_f16_to_f32(half)
                                                                  : exact::exact_bf16_to_f32(half));
    }
    return values;
}

void run_twin(const ConvertDesc& desc, const HostViews& views) {
    const FormatFloats in(views[0], desc.from);
    const std::span<const float> values = in.values().first(desc.count);
    if (desc.to == FloatFormat::F32) return copy_wanted<float>(values, views.out<float>(1));
    copy_wanted<std::uint32_t>(narrow_twin(desc.to, values), views.out<std::uint32_t>(1));
}
template struct Twin<ConvertDesc>;

}  // namespace yolk::reference
