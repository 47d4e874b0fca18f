// SPDX-License-Identifier: Apache-2.0
#include "sampling.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "yolk/internal/core/philox.hpp"

namespace yolk::transformer {
namespace {

/// Of draws of this kind: the counter's third word, where noise has its domain.
constexpr std::uint32_t kDomain = 0x746F6B65;

/// Uniform in [0, 1).
double draw(std::uint64_t seed, std::uint32_t stream, std::uint32_t place) {
    const PhiloxCounter words = philox4x32({place, stream, kDomain, 0},
                                           {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32U)});
    return static_cast<double>(words[0]) * 0x1p-32;
}

}  // namespace

Result<void> check_sampling(const GenerateOptions& options) {
    if (options.tokens < 1) return bad_input("0 tokens are to be generated; give at least 1.");
    if (!(options.temperature >= 0.0 && options.temperature <= 100.0))
        return bad_input("The temperature is {}; it must be from 0 to 100.", options.temperature);
    if (!(options.top_p > 0.0 && options.top_p <= 1.0))
        return bad_input("top-p is {}; it must be above 0 and at most 1.", options.top_p);
    return {};
}

Result<std::uint32_t> next_token(std::span<const float> logits, const GenerateOptions& options, std::uint32_t stream,
                                 std::uint32_t place) {
    const auto bad = std::ranges::find_if(logits, [](float value) { return !std::isfinite(value); });
    if (bad != logits.end())
        return failed_work(
            "The logit of token {} at place {} is {}; no token can be chosen. Weights or perturbations "
            "are too large.",
            bad - logits.begin(), place, *bad);
    if (options.temperature == 0.0) {
        return static_cast<std::uint32_t>(std::ranges::max_element(logits) - logits.begin());
    }
    std::vector<std::uint32_t> order(logits.size());
    std::iota(order.begin(), order.end(), 0U);
    const auto is_before = [&](std::uint32_t a, std::uint32_t b) {
        return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
    };
    const std::size_t kept = options.top_k == 0 ? order.size() : std::min<std::size_t>(options.top_k, order.size());
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(kept), order.end(), is_before);
    order.resize(kept);
    std::vector<double> shares;
    double sum = 0.0;
    for (const std::uint32_t token : order) {
        shares.push_back(std::exp((double{logits[token]} - double{logits[order[0]]}) / options.temperature));
        sum += shares.back();
    }
    double nucleus = 0.0;  // the fewest of the likeliest that have top_p together
    std::size_t count = 0;
    while (count < shares.size() && nucleus < options.top_p * sum) nucleus += shares[count++];
    const double wanted = draw(options.seed, stream, place) * nucleus;
    double passed = 0.0;
    for (std::size_t i = 0; i < count; ++i) {
        passed += shares[i];
        if (wanted < passed) return order[i];
    }
    return order[count - 1];
}

}  // namespace yolk::transformer
