// SPDX-License-Identifier: Apache-2.0
#include "yolk/noise.hpp"

#include <bit>

#include "twin_source.hpp"
#include "yolk/internal/abi/noise.h"
#include "yolk/internal/reference/member_streams.hpp"

namespace yolk::reference {

/// Pair by pair from stream.pair on.
void run_twin(const NoiseDesc& desc, const HostViews& views, const NoiseStream& stream) {
    const auto scale = std::bit_cast<float>(abi::noise::kNoiseScaleBits);
    NoiseStream of_pair = stream;
    for (std::size_t p = 0; p < desc.pair_count; ++p, ++of_pair.pair) {
        const std::vector<std::int32_t> noise = noise_elements<std::int32_t>(of_pair, desc.element_count);
        for (std::size_t i = 0; i < noise.size(); ++i) {
            const std::size_t flat = p * noise.size() + i;
            if (desc.format == NoiseFormat::I32) {
                views.out<std::int32_t>(0)[flat] = noise[i];
            } else {
                views.out<float>(0)[flat] = static_cast<float>(noise[i]) * scale;
            }
        }
    }
}
template struct Twin<NoiseDesc>;

}  // namespace yolk::reference
