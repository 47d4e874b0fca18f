// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string>

#include "byte_file.hpp"
#include "yolk/bytes.hpp"
#include "yolk/exact/exact_bytes.h"
#include "yolk/internal/core/noise.hpp"
#include "yolk/internal/reference/byte_model.hpp"
#include "yolk/stop.hpp"

namespace yolk::train {
namespace {

constexpr std::uint32_t kHottest = 256;

/// Logits over the temperature, then powers of two, whose running sum a random word picks from: a byte's chance is its
/// power's share of the sum, but for 1/2^32 of it.
std::uint8_t draw_byte(const std::array<std::int8_t, 256>& logits, std::uint32_t temperature, std::uint32_t word) {
    if (temperature == 0) return static_cast<std::uint8_t>(std::ranges::max_element(logits) - logits.begin());
    std::array<std::uint32_t, 256> powers{};
    std::uint64_t sum = 0;
    const int highest = *std::ranges::max_element(logits);
    for (std::size_t i = 0; i < 256; ++i) {
        const int below = (highest - logits[i]) * 16 / static_cast<int>(temperature);
        powers[i] = below > 255 ? 0 : exact::byte_power(127 - below);
        sum += powers[i];
    }
    std::uint64_t left = (sum * word) >> 32U;
    std::size_t i = 0;
    while (left >= powers[i]) left -= powers[i++];
    return static_cast<std::uint8_t>(i);
}

}  // namespace

Result<std::string> sample_bytes(const std::filesystem::path& file, const SampleOptions& options) {
    if (options.temperature > kHottest) {
        return bad_input("The temperature is {} sixteenths; it may be 0 (the likeliest byte) to {}.",
                         options.temperature, kHottest);
    }
    YOLK_TRY(const LoadedByteModel loaded, load_byte_model(file));
    reference::ByteModel model(byte_members_desc(loaded.setup.settings, 0), loaded.state.weights);
    model.read(0);
    for (const char c : options.prompt) model.read(static_cast<std::uint8_t>(c));
    std::string text;
    for (std::uint32_t i = 0; i < options.length; ++i) {
        const NoiseStream stream{.seed = options.seed, .parameter = 0, .domain = Domain::Data, .pair = 0, .time = i};
        const std::uint8_t byte = draw_byte(model.logits(), options.temperature, philox_block(stream, 0)[0]);
        text.push_back(static_cast<char>(byte));
        model.read(byte);
        if (stop_requested()) return cancelled("The text was not drawn to its end: an end was asked for.");
    }
    return text;
}

}  // namespace yolk::train
